"""A plan without jumps back as a file of blocks: refs become edges, branches become `when`.

Blocks keep the order of the steps, so that effects happen one after the other as in the plan. A variable that several
steps set has its last value by that order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import plan_expression, refs
from openskelo.workflows import approvals, source
from openskelo.workflows.plan import conditions, convert, flow

#: The one output of a block that was a step.
VALUE = "value"
_START = "the_start"
_END = "the_end"
#: So many answers of one question may be left out: what is said about each doubles the expression.
_MOST_OPTIONAL = 4


def convert_plan(workflow: definition.Workflow, text: source.Source) -> convert.Converted:
    """The blocks of a plan that was read from `text`; a Problem for each step that they cannot express."""
    found: list[convert.Stuck] = []
    blocks: list[Json] = []
    try:
        writer = _Writer(workflow)
    except convert.Stuck as stuck:
        return convert.refused(text, "steps", [stuck])
    for key in writer.order:
        try:
            blocks += writer.blocks(key)
        except convert.Stuck as stuck:
            found.append(stuck)
    if found:
        return convert.refused(text, "steps", found)
    return convert.Converted(document=writer.document(blocks))


@dataclass(slots=True)
class _Ports:
    """The inputs of one block, and the blocks that it needs beside it."""

    inputs: dict[str, Json] = field(default_factory=dict[str, Json])
    beside: list[Json] = field(default_factory=list[Json])


class _Writer:
    """Writes the steps of one plan as blocks."""

    def __init__(self, workflow: definition.Workflow) -> None:
        self._workflow = workflow
        self._plan = cast("definition.Plan", workflow.plan)
        self._ways = flow.of(workflow)
        entered = self._ways.reachable()
        self.order = [key for key in workflow.nodes if key in entered]
        self._place = {key: index for index, key in enumerate(workflow.nodes)}
        self._conditions = conditions.of(self._ways, self.order)
        self._previous: str | None = None
        # What runs in any case, so that a block does not count as left out when all that stands before it is.
        self._first = _START if self._ways.steps[self._ways.entry].op == "branch" else None
        self._made: set[str] = set()

    def document(self, blocks: list[Json]) -> JsonObject:
        """The whole file."""
        emits = [key for key in self.order if self._ways.steps[key].op == "emit"]
        ports: dict[str, Json] = {key: {"from": f"{key}.{VALUE}", "required": False} for key in emits}
        chosen = {part: self._last(emits, part) for part in ("result", "audit")}
        outputs: JsonObject = dict.fromkeys(chosen, "json")
        config: JsonObject = {"map": chosen}
        end = _deterministic(_END, ports, outputs, "builtin:transform", config)
        inputs: dict[str, Json] = {f"input_{_word(port.name)}": _input(port) for port in self._workflow.inputs}
        inputs |= {_port(name): {} for name in self._plan.contexts}
        used = json.dumps(blocks)
        start = [_deterministic(_START, {}, {}, "builtin:pass", {})] if self._first == _START else []
        found: dict[str, Json] = {
            "name": self._workflow.name,
            "description": self._workflow.description,
            "inputs": {name: rules for name, rules in inputs.items() if f'"inputs.{name}"' in used},
            "blocks": [*start, *blocks, end],
            "outputs": {part: f"{_END}.{part}" for part in chosen},
        }
        budget = _budget(self._workflow.limits)
        return {**found, "budgets": budget} if budget else found

    def _last(self, emits: list[str], part: str) -> str:
        text = "null"
        for key in emits:
            text = f"has(inputs.{key}) ? inputs.{key}.{part} : ({text})"
        return text

    def blocks(self, key: str) -> list[Json]:
        """The blocks that a step becomes; convert.Stuck when it cannot."""
        step, node = self._ways.steps[key], self._workflow.nodes[key]
        self._check(key, step)
        if step.op == "branch":
            return []
        ports = _Ports()
        done = self._block(key, node, step, ports)
        when = self._when(key, ports)
        after = [one for one in dict.fromkeys((self._first, self._previous)) if one is not None]
        block: dict[str, Json] = {**done, "inputs": ports.inputs, **_ordered(when, after)}
        self._previous = key
        self._first = self._first or key
        return [*ports.beside, block]

    def _check(self, key: str, step: definition.Step) -> None:
        back = [target for target in self._ways.exits(key) if self._place[target] <= self._place[key]]
        if back:
            raise convert.Stuck(key, f"it jumps back to {back[0]!r}, and blocks do not")
        if step.on_denied is not None:
            raise convert.Stuck(key, "blocks have no way for what is denied")
        for name in conditions.reads(step) if step.op == "branch" else ():
            writers = [one for one in self.order if name in self._written(one)]
            later = [one for one in writers if self._place[one] > self._place[key]]
            if later and (len(writers) > 1 or name in self._plan.variables):
                raise convert.Stuck(key, f"var:{name} may change after this branch has looked at it")

    def _block(self, key: str, node: definition.Node, step: definition.Step, ports: _Ports) -> JsonObject:
        match step.op:
            case "route_expert":
                return self._expert(key, node, step, ports)
            case "ask_human":
                return self._question(key, node, step, ports)
            case "emit":
                return self._emit(key, step, ports)
            case "retry":
                return self._retry(key, node, step, ports)
            case "transform" if isinstance(text := step.args.get("expr"), str):
                config: JsonObject = {"map": {VALUE: self._rewritten(key, text, ports)}}
                return _deterministic(key, {}, {VALUE: "json"}, "builtin:transform", config)
            case _:
                return self._step(key, node, step, ports)

    def _question(self, key: str, node: definition.Node, step: definition.Step, ports: _Ports) -> JsonObject:
        """An approval, and the block of the step itself, which makes one value of what it gives."""
        asked = cast("definition.Approval", node.approval)
        if step.next is None:
            raise convert.Stuck(key, "blocks cannot end a run as escalated")
        roots = [ref.root for _, ref in refs.find(step.op, step.args)]
        shown: dict[str, Json] = {self._read(key, root, ports): ports.inputs[_port(root)] for root in roots}
        fields = list(cast("JsonObject", asked.form.get("properties") or {}))
        rules: dict[str, Json] = {"prompt": asked.prompt, "form": asked.form, "on_deny": "end"}
        if asked.approvers:
            rules["approvers"] = list[Json](asked.approvers)
        rules["timeout_ms"] = asked.timeout_ms  # none waits for ever, which is not what an approval does by itself
        approval: dict[str, Json] = {"id": f"{key}_asked", "mode": "approval", "inputs": shown, "approval": rules}
        when = self._when(key, question := _Ports())
        approval["inputs"] = given = {**question.inputs, **shown}
        if own := sorted(approvals.VERDICT.keys() & set(fields)):
            raise convert.Stuck(key, f"{own[0]!r} is what an approval itself says")
        if twice := sorted(given.keys() & set(fields)):
            raise convert.Stuck(key, f"an approval would suggest its input {twice[0]!r} as an answer")
        after = [one for one in dict.fromkeys((self._first, self._previous)) if one is not None]
        ports.beside += [*question.beside, approval | _ordered(when, after)]
        ports.inputs.clear()
        needed = asked.form.get("required")
        optional = [name for name in fields if name not in (needed if isinstance(needed, list) else ())]
        if len(optional) > _MOST_OPTIONAL:
            raise convert.Stuck(key, "too many of its answers may be left out")
        for name in fields:
            ports.inputs[name] = {"from": f"{key}_asked.{name}", **({"required": False} if name in optional else {})}
        config: JsonObject = {"map": {VALUE: _answer(fields, optional)}}
        return _deterministic(key, {}, {VALUE: "object"}, "builtin:transform", config)

    def _step(self, key: str, node: definition.Node, step: definition.Step, ports: _Ports) -> JsonObject:
        named = {ref.root: self._read(key, ref.root, ports) for _, ref in refs.find(step.op, step.args)}
        config: JsonObject = {"op": step.op, "args": step.args, "refs": named}
        found = _deterministic(key, {}, {VALUE: "json"}, "builtin:step", config)
        timeout: JsonObject = {} if node.timeout_ms is None else {"timeout_ms": node.timeout_ms}
        return {**found, "effect": node.effect, **timeout}

    def _expert(self, key: str, node: definition.Node, step: definition.Step, ports: _Ports) -> JsonObject:
        args = step.args
        found: dict[str, Json] = {"id": key, "mode": "ai", "outputs": {VALUE: args.get("output_schema", "string")}}
        names = ("expert", "max_tokens", "temperature", "top_p", "seed", "stop", "system")
        found |= {name: node.config[name] for name in names if name in node.config}
        prompt, given = args.get("prompt_ref"), args.get("input")
        if isinstance(prompt, str):
            ref = cast("refs.Ref", refs.parse(prompt))
            found["prompt"] = f"{{{{ {self._path(key, ref, ports)} }}}}"
        elif "prompt" in args:
            found["prompt"] = str(_literal(args["prompt"])).replace("{{", "\\{{")
        else:
            for _, ref in refs.find(step.op, {"input": given}):
                self._read(key, ref.root, ports)
            if not ports.inputs:
                raise convert.Stuck(key, "its input names nothing that an edge could bring")
            found["prompt"] = "Do what the inputs ask for."
        if "output_schema" in args:
            found["contract_repair_attempts"] = node.repairs
        return {**found, **({} if node.timeout_ms is None else {"timeout_ms": node.timeout_ms})}

    def _retry(self, key: str, node: definition.Node, step: definition.Step, ports: _Ports) -> JsonObject:
        target = step.target or ""
        tried, inner = self._workflow.nodes[target], self._ways.steps[target]
        block = {**self._block(target, tried, inner, ports), "id": key}
        retry = node.retry
        block["retry"] = {
            "max_attempts": retry.max_attempts,
            "backoff": retry.backoff,
            "delay_ms": retry.delay_ms,
            "max_delay_ms": retry.max_delay_ms,
            "stall_after": 0,
        }
        if inner.op == "verify":
            block["post_gates"] = [{"type": "expr", "name": "holds", "expression": f"outputs.{VALUE}.ok"}]
        return block

    def _emit(self, key: str, step: definition.Step, ports: _Ports) -> JsonObject:
        if step.ending != "ok":
            raise convert.Stuck(key, f"blocks cannot end a run as {step.ending}")
        audit = step.args.get("audit_refs")
        listed = [self._maybe(key, ref, ports) for ref in (audit if isinstance(audit, list) else [])]
        result = self._maybe(key, step.args.get("result_ref"), ports)
        config: JsonObject = {"map": {VALUE: f'{{"result": {result}, "audit": [{", ".join(listed)}]}}'}}
        return _deterministic(key, {}, {VALUE: "object"}, "builtin:transform", config)

    def _maybe(self, key: str, text: Json, ports: _Ports) -> str:
        """A value in CEL, null where it is not set."""
        ref = refs.parse(text) if isinstance(text, str) else None
        if ref is None:
            return "null"
        if any(isinstance(part, int) for part in ref.path):
            raise convert.Stuck(key, f"{ref} may be unset, and an element of a list cannot be asked for")
        at = f"inputs.{self._read(key, ref.root, ports, required=False)}"
        asked = [f"has({at})"]
        for part in ref.path:
            at = f"{at}.{part}"
            asked.append(f"has({at})")
        return f"({' && '.join(asked)} ? {at} : null)"

    def _when(self, key: str, ports: _Ports) -> str | None:
        """The condition under which the plan would come here."""
        terms = self._conditions[key]
        if frozenset[conditions.Literal]() in terms:
            return None
        texts = [" && ".join(self._holds(key, literal, ports) for literal in sorted(term)) for term in terms]
        return " || ".join(f"({text})" for text in sorted(texts)) or "false"

    def _holds(self, key: str, literal: conditions.Literal, ports: _Ports) -> str:
        text, wanted = literal
        kind, _, rest = text.partition(" ")
        sign = "" if wanted else "!"
        if kind == "expr":
            names = plan_expression.compile(rest).names
            asked = [f"has(inputs.{self._read(key, root, ports, required=False)})" for root in _roots(key, names)]
            return " && ".join([*asked, f"{sign}({self._rewritten(key, rest, ports, required=False)})"])
        ref = cast("refs.Ref", refs.parse(rest))
        port = self._read(key, ref.root, ports, required=False)
        return f"has(inputs.{port}) && {sign}{self._path(key, ref, ports)}"

    def _rewritten(self, key: str, text: str, ports: _Ports, *, required: bool = True) -> str:
        """A CEL text over what a plan knows as one over the inputs of a block."""
        names = plan_expression.compile(text).names
        for root in _roots(key, names):
            self._read(key, root, ports, required=required)

        def name_of(root: str, name: str) -> str | None:
            return f"inputs.{_port(f'{root}:{name}')}" if root in names else None

        return convert.renamed(text, name_of)

    def _path(self, key: str, ref: refs.Ref, ports: _Ports) -> str:
        port = self._read(key, ref.root, ports)
        return f"inputs.{port}" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in ref.path)

    def _read(self, key: str, root: str, ports: _Ports, *, required: bool = True) -> str:
        """The input port of the block `key` that has the value of `root`."""
        port = _port(root)
        if port in ports.inputs:
            return port
        source = f"inputs.{port}"
        if root.startswith("var:"):
            source = self._variable(key, root.removeprefix("var:"), ports)
        ports.inputs[port] = {"from": source} if required else {"from": source, "required": False}
        return port

    def _variable(self, key: str, name: str, ports: _Ports) -> str:
        """Where the value of a variable comes from at a step: its only writer, or a block that takes the last one."""
        before = [one for one in self.order if self._place[one] < self._place[self._standing(key)]]
        writers = [one for one in before if name in self._written(one)]
        if len(writers) == 1 and name not in self._plan.variables:
            return f"{writers[0]}.{VALUE}"
        if not writers and name not in self._plan.variables:
            raise convert.Stuck(key, f"nothing sets var:{name} before it")
        text = json.dumps(self._plan.variables.get(name))
        for one in writers:
            text = f"has(inputs.{one}) ? inputs.{one} : ({text})"
        inputs: JsonObject = {one: {"from": f"{one}.{VALUE}", "required": False} for one in writers}
        block = _deterministic(
            f"{self._standing(key)}_{_word(name)}", inputs, {VALUE: "json"}, "builtin:transform", {"map": {VALUE: text}}
        )
        if self._first is not None:
            block = {**block, "after": [self._first]}
        if block["id"] not in self._made:
            self._made.add(str(block["id"]))
            ports.beside.append(block)
        return f"{block['id']}.{VALUE}"

    def _standing(self, key: str) -> str:
        """The step at which a retry's target is tried is the retry."""
        if key in self._conditions:
            return key
        return next(one for one in self.order if self._ways.steps[one].target == key)

    def _written(self, key: str) -> frozenset[str]:
        step = self._ways.steps[key]
        target = None if step.target is None else self._ways.steps[step.target].save_as
        return frozenset(name for name in (step.save_as, target) if name is not None)


def _roots(key: str, names: Mapping[str, Iterable[str] | None]) -> list[str]:
    found: list[str] = []
    for root, known in names.items():
        if known is None:
            raise convert.Stuck(key, f"its expression may read anything of {root!r}")
        found += [f"{root}:{name}" for name in sorted(known)]
    return found


def _answer(fields: list[str], optional: list[str]) -> str:
    """An object of the inputs `fields` in CEL, without those of `optional` that are not there."""
    if not optional:
        return f"{{{', '.join(f'{json.dumps(name)}: inputs.{name}' for name in fields)}}}"
    name, *others = optional
    without = [one for one in fields if one != name]
    return f"has(inputs.{name}) ? {_answer(fields, others)} : {_answer(without, others)}"


def _ordered(when: str | None, after: list[str]) -> dict[str, Json]:
    """When a block runs, and after which others."""
    found: dict[str, Json] = {} if when is None else {"when": when}
    return {**found, "after": list[Json](after)} if after else found


def _deterministic(
    key: str, inputs: JsonObject, outputs: JsonObject, handler: str, config: JsonObject
) -> dict[str, Json]:
    return {
        "id": key,
        "mode": "deterministic",
        "inputs": inputs,
        "outputs": outputs,
        "deterministic": {"handler": handler, "config": config},
    }


def _input(port: definition.Port) -> JsonObject:
    return {**port.schema, "default": port.default} if port.has_default else port.schema


def _budget(limits: definition.Limits) -> JsonObject:
    """What of a budget means the same: steps do not, as blocks have others."""
    money = {"max_cost_usd": limits.max_cost_nanousd, "max_tool_spend_usd": limits.max_tool_nanousd}
    found: dict[str, Json] = {"max_tokens": limits.max_tokens, "max_wall_ms": limits.max_wall_ms}
    found |= {name: None if nano is None else nano / 1_000_000_000 for name, nano in money.items()}
    return {name: value for name, value in found.items() if value is not None}


def _literal(value: Json) -> Json:
    return value[refs.LITERAL] if isinstance(value, Mapping) and refs.LITERAL in value else value


def _port(root: str) -> str:
    kind, _, name = root.partition(":")
    return _word(name) if kind == "var" else f"{kind}_{_word(name)}"


def _word(name: str) -> str:
    return name.replace("-", "_")
