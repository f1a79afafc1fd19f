"""A plan without jumps back as a file of blocks: refs become edges, branches become `when`.

Blocks keep the order of the steps, so that effects happen one after the other as in the plan. A variable that several
steps set has its last value by that order. What the run gives is put together last, of what an emit says, or of the
plan's `outputs` where a question ends it; any other ending than ok is a block after that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import cast

from openskelo.frozen import field, mutable
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import ordering, plan_expression, refs
from openskelo.workflows import approvals, source
from openskelo.workflows.convert import block_ends, block_text, conditions, result
from openskelo.workflows.plan import flow

#: The one output of a block that was a step.
VALUE = "value"
_STEP = "builtin:step"
_TRANSFORM = "builtin:transform"
#: So many answers of one question may be left out: what is said about each doubles the expression.
_MOST_OPTIONAL = 4


def convert_plan(workflow: definition.Workflow, text: source.Source) -> result.Converted:
    """The blocks of a plan that was read from `text`; a Problem for each step that they cannot express."""
    found: list[result.Stuck] = []
    blocks: list[Json] = []
    try:
        writer = _Writer(workflow)
    except result.Stuck as stuck:
        return result.refused(text, "steps", [stuck])
    for key in writer.order:
        try:
            blocks += writer.blocks(key)
        except result.Stuck as stuck:
            found.append(stuck)
    if found:
        return result.refused(text, "steps", found)
    return result.Converted(document=writer.document(blocks))


@mutable
class _Ports:
    """The inputs of one block, those of them that stand for nothing else, and the blocks that it needs beside it."""

    inputs: dict[str, Json] = field(default_factory=dict[str, Json])
    own: set[str] = field(default_factory=set[str])
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
        self._kept = frozenset(key for key in self.order if self._changes(key))
        self._conditions = conditions.of(self._ways, self.order, self._kept)
        self._previous: str | None = None
        self._names: dict[str, str] = {}
        self._roots: dict[str, str] = {}
        self._made: set[str] = set()
        # What runs in any case, so that a block does not count as left out when all that stands before it is.
        self._start = self._name("the_start") if self._ways.steps[self._ways.entry].op == "branch" else None
        self._first = self._start

    def document(self, blocks: list[Json]) -> JsonObject:
        """The whole file."""
        emits = [key for key in self.order if self._ways.steps[key].op == "emit"]
        last = [key for key in self.order if self._ways.steps[key].op == "ask_human" and not self._ways.exits(key)]
        given = [block for key in last for block in self._given(key)]
        sides = [(key, block_ends.EMITTED) for key in emits]
        sides += [(self._name(key, "given"), block_ends.picks(self._plan.outputs)) for key in last]
        ends, outputs = block_ends.blocks(
            sides, lambda number: self._name(f"the_end{number if number > 1 else ''}"), self._after()
        )
        after = [str(block["id"]) for block in ends]
        inputs: dict[str, Json] = {
            self._entrance(f"input:{port.name}"): block_text.declared(port) for port in self._workflow.inputs
        }
        inputs |= {self._entrance(name): {} for name in self._plan.contexts}
        used = json.dumps([*blocks, *given])
        start = [] if self._start is None else [block_text.deterministic(self._start, {}, {}, "builtin:pass", {})]
        ending = [self._ending(key, after) for key in (*emits, *last) if self._ways.steps[key].ending != "ok"]
        found: dict[str, Json] = {
            "name": self._workflow.name,
            "description": self._workflow.description,
            "inputs": {name: rules for name, rules in inputs.items() if f'"inputs.{name}"' in used},
            "blocks": [*start, *blocks, *given, *ends, *ending],
            "outputs": outputs,
        }
        budget = block_text.budget(self._workflow.limits)
        return {**found, "budgets": budget} if budget else found

    def _given(self, key: str) -> list[Json]:
        """The block that reads the plan's `outputs` where the question `key` ends it, as the evidence of an emit."""
        ports = _Ports(inputs={"reached": {"from": f"{key}.{VALUE}"}}, own={"reached"})
        args: JsonObject = {"audit_refs": block_ends.refs(self._plan.outputs)}
        found = [ref for _, ref in refs.find("emit", args) if self._may_be_set(key, ref, after=True)]
        roots = {ref.root: self._read(key, ref.root, ports, required=False, after=True) for ref in found}
        config: JsonObject = {"op": "emit", "args": args, "refs": roots}
        block = block_text.deterministic(self._name(key, "given"), ports.inputs, {VALUE: "object"}, _STEP, config)
        return [*ports.beside, {**block, "effect": "pure"}]

    def _ending(self, key: str, after: list[str]) -> JsonObject:
        """The block that ends the run as the step `key` does, once there are its outputs."""
        inputs: JsonObject = {"ended": {"from": f"{key}.{VALUE}"}}
        config: JsonObject = {"op": "emit", "args": {"status": self._ways.steps[key].ending or "escalated"}}
        block = block_text.deterministic(self._name(key, "ends"), inputs, {VALUE: "object"}, _STEP, config)
        return {**block, "effect": "pure", **block_text.ordered(None, after)}

    def _name(self, key: str, suffix: str = "") -> str:
        """The id of a block that no step has: the same for the same words."""
        asked = f"{key} {suffix}"
        if asked not in self._names:
            found = f"{key[:40]}_{suffix[:20]}" if suffix else key
            while found in self._workflow.nodes or found in self._names.values():
                found += "_"
            self._names[asked] = found
        return self._names[asked]

    def blocks(self, key: str) -> list[Json]:
        """The blocks that a step becomes; result.Stuck when it cannot."""
        step, node = self._ways.steps[key], self._workflow.nodes[key]
        self._check(key, step)
        if step.op == "branch" and key not in self._kept:
            return []
        ports = _Ports()
        done = self._block(key, node, step, ports)
        when = None if step.op == "ask_human" else self._when(key, ports)  # it needs what the approval gives
        block: dict[str, Json] = {**done, "inputs": ports.inputs, **block_text.ordered(when, self._after())}
        self._previous = key
        self._first = self._first or key
        return [*ports.beside, block]

    def _check(self, key: str, step: definition.Step) -> None:
        back = [target for target in self._ways.exits(key) if self._place[target] <= self._place[key]]
        if back:
            raise result.Stuck(key, f"it jumps back to {back[0]!r}, and blocks do not")
        if step.on_denied is not None:
            raise result.Stuck(key, "blocks have no way for what is denied")

    def _changes(self, key: str) -> bool:
        """Whether what a branch looks at may change later: its own finding is kept then."""
        step = self._ways.steps[key]
        for name in conditions.reads(step) if step.op == "branch" else ():
            writers = [one for one in self.order if name in self._written(one)]
            later = [one for one in writers if self._place[one] > self._place[key]]
            if later and (len(writers) > 1 or name in self._plan.variables):
                return True
        return False

    def _block(self, key: str, node: definition.Node, step: definition.Step, ports: _Ports) -> JsonObject:
        match step.op:
            case "route_expert":
                return self._expert(key, node, step, ports)
            case "ask_human":
                return self._question(key, node, step, ports)
            case "emit":
                return self._emit(key, step, ports)
            case "branch":
                text = self._holds(key, (conditions.condition(key, step)[0], True), ports)
                return block_text.deterministic(key, {}, {VALUE: "boolean"}, _TRANSFORM, {"map": {VALUE: text}})
            case "retry":
                return self._retry(key, node, step, ports)
            case "transform" if isinstance(text := step.args.get("expr"), str):
                config: JsonObject = {"map": {VALUE: self._rewritten(key, text, ports)}}
                return block_text.deterministic(key, {}, {VALUE: "json"}, _TRANSFORM, config)
            case _:
                return self._step(key, node, step, ports)

    def _question(self, key: str, node: definition.Node, step: definition.Step, ports: _Ports) -> JsonObject:
        """An approval, and the block of the step itself, which makes one value of what it gives."""
        asked = cast("definition.Approval", node.approval)
        fields = list(cast("JsonObject", asked.form.get("properties") or {}))
        given, beside = self._shown(key, cast("JsonObject", step.args["request"]))
        if own := sorted(approvals.VERDICT.keys() & set(fields)):
            raise result.Stuck(key, f"{own[0]!r} is what an approval itself says")
        when = None if beside else self._when(key, given)
        if twice := sorted(given.inputs.keys() & set(fields)):
            raise result.Stuck(key, f"an approval would suggest its input {twice[0]!r} as an answer")
        rules: dict[str, Json] = {"prompt": asked.prompt, "form": ordering.unmarked(asked.form), "on_deny": "end"}
        if asked.approvers:
            rules["approvers"] = list[Json](asked.approvers)
        rules["timeout_ms"] = asked.timeout_ms  # none waits for ever, which is not what an approval does by itself
        name = self._name(key, "asked")
        approval: dict[str, Json] = {"id": name, "mode": "approval", "inputs": given.inputs, "approval": rules}
        ports.beside += [*given.beside, *beside, approval | block_text.ordered(when, self._after())]
        needed = asked.form.get("required")
        optional = [one for one in fields if one not in (needed if isinstance(needed, list) else ())]
        if len(optional) > _MOST_OPTIONAL:
            raise result.Stuck(key, "too many of its answers may be left out")
        ports.inputs["approved"] = {"from": f"{name}.approved"}
        for one in fields:
            ports.inputs[one] = {"from": f"{name}.{one}", **({"required": False} if one in optional else {})}
        config: JsonObject = {"map": {VALUE: block_text.answer(fields, optional)}}
        return block_text.deterministic(key, {}, {VALUE: "object"}, _TRANSFORM, config)

    def _shown(self, key: str, request: JsonObject) -> tuple[_Ports, list[Json]]:
        """What a person is shown beside the message, and the block that makes it, if one has to."""
        given = _Ports()
        given.own |= {"kind", "details"} & request.keys()
        if "kind" in request:
            given.inputs["kind"] = {"type": "string", "default": request["kind"]}
        if "details" not in request:
            return given, []
        block, given.inputs["details"] = self._made_of(key, "details", request["details"])
        return given, block

    def _made_of(self, key: str, what: str, value: Json) -> tuple[list[Json], JsonObject]:
        """Blocks that make a value with refs in it when the run comes to `key`, and the port that gets it."""
        ports = _Ports()
        text = block_text.value(value, lambda ref: self._path(key, ref, ports))
        name = self._name(key, what)
        when = self._when(self._standing(key), ports)
        block = block_text.deterministic(name, ports.inputs, {VALUE: "json"}, _TRANSFORM, {"map": {VALUE: text}})
        return [*ports.beside, {**block, **block_text.ordered(when, self._after())}], {"from": f"{name}.{VALUE}"}

    def _after(self) -> list[str]:
        return [one for one in dict.fromkeys((self._first, self._previous)) if one is not None]

    def _step(self, key: str, node: definition.Node, step: definition.Step, ports: _Ports) -> JsonObject:
        named = {ref.root: self._read(key, ref.root, ports) for _, ref in refs.find(step.op, step.args)}
        config: JsonObject = {"op": step.op, "args": step.args, "refs": named}
        if step.op == "tool_call" and self._plan.mode != "normal":
            config = {**config, "mode": self._plan.mode}
        found = block_text.deterministic(key, {}, {VALUE: "json"}, _STEP, config)
        timeout: JsonObject = {} if node.timeout_ms is None else {"timeout_ms": node.timeout_ms}
        return {**found, "effect": node.effect, **timeout}

    def _expert(self, key: str, node: definition.Node, step: definition.Step, ports: _Ports) -> JsonObject:
        args = step.args
        found: dict[str, Json] = {"id": key, "mode": "ai", "outputs": {VALUE: args.get("output_schema", "string")}}
        names = ("expert", "max_tokens", "temperature", "top_p", "seed", "stop", "system")
        found |= {name: node.config[name] for name in names if name in node.config}
        if isinstance(prompt := args.get("prompt_ref"), str):
            path = self._path(key, cast("refs.Ref", refs.parse(prompt)), ports)
            found["prompt"] = f"Do what this asks for: {{{{ {path} }}}}"
        elif "prompt" in args:
            found["prompt"] = str(block_text.literal(args["prompt"])).replace("{{", "\\{{")
        else:
            ports.own.add("input")
            beside, ports.inputs["input"] = self._made_of(key, "input", args.get("input"))
            ports.beside += beside
            found["prompt"] = "Do what this asks for: {{ inputs.input }}"
        if self._workflow.limits.max_tokens is not None:
            # What a plan sets aside; by themselves blocks also set aside what they do not know of a prompt.
            found["estimate"] = {"tokens": node.reserve.tokens}
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
        args = {name: value for name, value in step.args.items() if name != "status"}
        found = [ref for _, ref in refs.find("emit", args) if self._may_be_set(key, ref)]
        named = {ref.root: self._read(key, ref.root, ports, required=False) for ref in found}
        config: JsonObject = {"op": "emit", "args": args, "refs": named}
        return {**block_text.deterministic(key, {}, {VALUE: "object"}, _STEP, config), "effect": "pure"}

    def _may_be_set(self, key: str, ref: refs.Ref, *, after: bool = False) -> bool:
        """Whether a step before `key` may have set what a ref reads; what none has is null in an emit."""
        earlier = (one for one in self.order if self._place[one] < self._place[key] + after)
        return (
            ref.kind != "var"
            or ref.name in self._plan.variables
            or any(ref.name in self._written(one) for one in earlier)
        )

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
        if kind == "kept":
            port = f"{block_text.word(rest)}_held"
            self._claim(key, port, f"the branch {rest}", ports)
            ports.inputs[port] = {"from": f"{rest}.{VALUE}", "required": False}
            return f"has(inputs.{port}) && {sign}inputs.{port}"
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

        def name_of(root: str, name: str | None) -> str | None:
            return f"inputs.{block_text.port(f'{root}:{name}')}" if root in names else None

        return result.renamed(text, name_of)

    def _path(self, key: str, ref: refs.Ref, ports: _Ports) -> str:
        port = self._read(key, ref.root, ports)
        return f"inputs.{port}" + "".join(block_text.member(part) for part in ref.path)

    def _read(self, key: str, root: str, ports: _Ports, *, required: bool = True, after: bool = False) -> str:
        """The input port of the block `key` that has the value of `root`."""
        port = block_text.port(root)
        self._claim(key, port, root, ports)
        if port in ports.inputs:
            return port
        if root.startswith("var:"):
            source = self._variable(key, root.removeprefix("var:"), ports, after=after)
        else:
            source = f"inputs.{self._entrance(root)}"
        ports.inputs[port] = {"from": source} if required else {"from": source, "required": False}
        return port

    def _entrance(self, root: str) -> str:
        return block_text.entrance(root, self._plan.contexts)

    def _claim(self, key: str, port: str, root: str, ports: _Ports) -> None:
        """Make sure that a port stands for one thing."""
        if (other := self._roots.setdefault(port, root)) != root or port in ports.own:
            raise result.Stuck(key, f"{root} and {'its own' if other == root else other} would be one port, {port!r}")

    def _variable(self, key: str, name: str, ports: _Ports, *, after: bool) -> str:
        """Where the value of a variable comes from at a step: its only writer, or a block that takes the last one."""
        end = self._place[self._standing(key)] + after
        before = [one for one in self.order if self._place[one] < end]
        writers = [one for one in before if name in self._written(one)]
        if len(writers) == 1 and name not in self._plan.variables:
            return f"{writers[0]}.{VALUE}"
        if not writers and name not in self._plan.variables:
            raise result.Stuck(key, f"nothing sets var:{name} before it")
        text = block_text.constant(self._plan.variables.get(name))
        inputs: dict[str, Json] = {}
        for one in writers:
            port = block_text.word(one)
            text = f"has(inputs.{port}) ? inputs.{port} : ({text})"
            inputs[port] = {"from": f"{one}.{VALUE}", "required": False}
        made = self._name(self._standing(key), f"{block_text.word(name)}{'_then' if after else ''}")
        block = block_text.deterministic(made, inputs, {VALUE: "json"}, _TRANSFORM, {"map": {VALUE: text}})
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
            raise result.Stuck(key, f"its expression may read anything of {root!r}")
        found += [f"{root}:{name}" for name in sorted(known)]
    return found
