"""Converts a plan without jumps back to a blocks file: refs become edges, branches become `when`.

Blocks keep the order of the steps (each runs `after` the one before), so that effects happen in the order of the
plan. A variable that several steps set is read through a block that takes the last value. The outputs of the run are
collected by the last blocks: from the emits, or from the plan's `outputs` where a question ends it. An ending other
than ok is a block behind those.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import field, mutable
from openskelo.values import plan_refs
from openskelo.values.cel import plan_expression
from openskelo.values.schema import composition
from openskelo.workflows.blocks import approvals
from openskelo.workflows.convert import conversion
from openskelo.workflows.plan import control_flow
from openskelo.workflows.text import source

#: The only output of a block that was a step.
VALUE = "value"
_STEP = "builtin:step"
#: The ops that `builtin:step` performs.
_STEP_OPS = frozenset({"verify", "tool_call", "transform", "emit"})
_TRANSFORM = "builtin:transform"
#: The outputs of an emit, and where each is in the value of its block (AT).
_EMITTED: Mapping[str, str] = {"result": "AT.result", "audit": "AT.audit"}
#: The most optional answers of one question: each of them doubles the expression that collects the answers.
_MAX_OPTIONAL = 4


def convert_plan(workflow: definition.Workflow, text: source.Source) -> conversion.Converted:
    """Return the blocks of a plan that was read from `text`, or a Problem for each step that they cannot express."""
    try:
        writer = _BlocksWriter(workflow)
    except conversion.NotConvertible as failure:
        return conversion.report_failures(text, "steps", [failure])
    failures: list[conversion.NotConvertible] = []
    blocks: list[Json] = []
    for key in writer.order:
        try:
            blocks += writer.write_step(key)
        except conversion.NotConvertible as failure:
            failures.append(failure)
    if failures:
        return conversion.report_failures(text, "steps", failures)
    return conversion.Converted(document=writer.document(blocks))


@mutable
class _Ports:
    """The inputs of one block, the names that it keeps for its own inputs, and further blocks that it needs."""

    inputs: dict[str, Json] = field(default_factory=dict[str, Json])
    reserved: set[str] = field(default_factory=set[str])
    helpers: list[Json] = field(default_factory=list[Json])


class _BlocksWriter:
    """Writes the steps of one plan as blocks."""

    def __init__(self, workflow: definition.Workflow) -> None:
        self._workflow = workflow
        self._plan = cast("definition.Plan", workflow.plan)
        self._flow = control_flow.from_workflow(workflow)
        reachable = self._flow.reachable()
        self.order = [key for key in workflow.nodes if key in reachable]
        self._position = {key: index for index, key in enumerate(workflow.nodes)}
        self._saved_branches = frozenset(key for key in self.order if self._changes(key))
        self._conditions = conversion.path_conditions(self._flow, self.order, self._saved_branches)
        self._previous: str | None = None
        self._names: dict[str, str] = {}
        self._roots: dict[str, str] = {}
        self._helpers: set[str] = set()
        # A block that always runs: without it the blocks behind a first branch would be skipped with their sources.
        self._start = self._name("the_start") if self._flow.steps[self._flow.entry].op == "branch" else None
        self._first = self._start

    def document(self, blocks: list[Json]) -> JsonObject:
        """Return the whole file."""
        emits = [key for key in self.order if self._flow.steps[key].op == "emit"]
        last = [key for key in self.order if self._flow.steps[key].op == "ask_human" and not self._flow.successors(key)]
        collectors = [block for key in last for block in self._collect_outputs(key)]
        endings = [(key, _EMITTED) for key in emits]
        endings += [(self._name(key, "given"), _pick_outputs(self._plan.outputs)) for key in last]
        ends, outputs = _result_blocks(
            endings, lambda number: self._name(f"the_end{number if number > 1 else ''}"), self._after()
        )
        after = [str(block["id"]) for block in ends]
        inputs: dict[str, Json] = {
            self._workflow_input(f"input:{port.name}"): conversion.input_schema(port) for port in self._workflow.inputs
        }
        inputs |= {self._workflow_input(name): {} for name in self._plan.contexts}
        used = json.dumps([*blocks, *collectors])
        start = [] if self._start is None else [conversion.deterministic(self._start, {}, {}, "builtin:pass", {})]
        final = [self._ending(key, after) for key in (*emits, *last) if self._flow.steps[key].ending != "ok"]
        document: dict[str, Json] = {
            "name": self._workflow.name,
            "description": self._workflow.description,
            "inputs": {name: schema for name, schema in inputs.items() if f'"inputs.{name}"' in used},
            "blocks": [*start, *blocks, *collectors, *ends, *final],
            "outputs": outputs,
        }
        budget = conversion.budget(self._workflow.limits)
        if budget:
            document["budgets"] = budget
        return document

    def _collect_outputs(self, key: str) -> list[Json]:
        """Return the block that reads the plan's `outputs` if the question `key` ends it, as audit refs of an emit."""
        ports = _Ports(inputs={"reached": {"from": f"{key}.{VALUE}"}}, reserved={"reached"})
        args: JsonObject = {"audit_refs": _output_refs(self._plan.outputs)}
        refs = [ref for _, ref in plan_refs.find("emit", args) if self._may_be_set(key, ref, after=True)]
        roots = {ref.root: self._read(key, ref.root, ports, required=False, after=True) for ref in refs}
        config: JsonObject = {"op": "emit", "args": args, "refs": roots, "optional": True}
        block = conversion.deterministic(self._name(key, "given"), ports.inputs, {VALUE: "object"}, _STEP, config)
        return [*ports.helpers, {**block, "effect": "pure"}]

    def _ending(self, key: str, after: list[str]) -> JsonObject:
        """Return the block that ends the run as the step `key` does, after its outputs are collected."""
        inputs: JsonObject = {"ended": {"from": f"{key}.{VALUE}"}}
        config: JsonObject = {"op": "emit", "args": {"status": self._flow.steps[key].ending or "escalated"}}
        block = conversion.deterministic(self._name(key, "ends"), inputs, {VALUE: "object"}, _STEP, config)
        return {**block, "effect": "pure", **conversion.order_keys(None, after)}

    def _name(self, key: str, suffix: str = "") -> str:
        """Return the id of an extra block, which no step has; the same arguments always return the same id."""
        arguments = f"{key} {suffix}"
        if arguments not in self._names:
            name = f"{key[:40]}_{suffix[:20]}" if suffix else key
            while name in self._workflow.nodes or name in self._names.values():
                name += "_"
            self._names[arguments] = name
        return self._names[arguments]

    def write_step(self, key: str) -> list[Json]:
        """Return the blocks of a step. Raise NotConvertible if blocks cannot express it."""
        step = self._flow.steps[key]
        node = self._workflow.nodes[key]
        self._check(key, step)
        if step.op == "branch" and key not in self._saved_branches:
            return []
        ports = _Ports()
        work = self._block(key, node, step, ports)
        # The block of a question needs no condition: it needs the answer of the approval, which has one.
        when = None if step.op == "ask_human" else self._when(key, ports)
        block: dict[str, Json] = {**work, "inputs": ports.inputs, **conversion.order_keys(when, self._after())}
        self._previous = key
        self._first = self._first or key
        return [*ports.helpers, block]

    def _check(self, key: str, step: definition.Step) -> None:
        back = [target for target in self._flow.successors(key) if self._position[target] <= self._position[key]]
        if back:
            raise conversion.NotConvertible(key, f"it jumps back to {back[0]!r}, and blocks do not")
        if step.on_denied is not None:
            raise conversion.NotConvertible(key, "blocks have no way for what is denied")

    def _changes(self, key: str) -> bool:
        """True if what a branch reads may change after it: then its outcome is saved in a block."""
        step = self._flow.steps[key]
        for name in conversion.reads(step) if step.op == "branch" else ():
            writers = [other for other in self.order if name in self._written(other)]
            later = [other for other in writers if self._position[other] > self._position[key]]
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
                text = self._literal_cel(key, (conversion.condition(key, step)[0], True), ports)
                return conversion.deterministic(key, {}, {VALUE: "boolean"}, _TRANSFORM, {"map": {VALUE: text}})
            case "retry":
                return self._retry(key, node, step, ports)
            case "transform" if isinstance(text := step.args.get("expr"), str):
                config: JsonObject = {"map": {VALUE: self._rewrite_cel(key, text, ports)}}
                return conversion.deterministic(key, {}, {VALUE: "json"}, _TRANSFORM, config)
            case _:
                return self._step(key, node, step, ports)

    def _question(self, key: str, node: definition.Node, step: definition.Step, ports: _Ports) -> JsonObject:
        """Return the block that makes one value of the answers; its helper is the approval itself."""
        approval = cast("definition.Approval", node.approval)
        fields = list(cast("JsonObject", approval.form.get("properties") or {}))
        shown, detail_blocks = self._shown(key, cast("JsonObject", step.args["request"]))
        if own := sorted(approvals.VERDICT.keys() & set(fields)):
            raise conversion.NotConvertible(key, f"{own[0]!r} is what an approval itself says")
        when = None if detail_blocks else self._when(key, shown)
        if both := sorted(shown.inputs.keys() & set(fields)):
            raise conversion.NotConvertible(key, f"an approval would suggest its input {both[0]!r} as an answer")
        rules: dict[str, Json] = {
            "prompt": approval.prompt,
            "form": composition.unmark_field_order(approval.form),
            "on_deny": "end",
        }
        if approval.approvers:
            rules["approvers"] = list[Json](approval.approvers)
        if approval.timeout_ms is not None:
            rules["timeout_ms"] = approval.timeout_ms
        name = self._name(key, "asked")
        block: dict[str, Json] = {"id": name, "mode": "approval", "inputs": shown.inputs, "approval": rules}
        ports.helpers += [*shown.helpers, *detail_blocks, block | conversion.order_keys(when, self._after())]
        required = approval.form.get("required")
        optional = [answer for answer in fields if answer not in (required if isinstance(required, list) else ())]
        if len(optional) > _MAX_OPTIONAL:
            raise conversion.NotConvertible(key, "too many of its answers may be left out")
        ports.inputs["approved"] = {"from": f"{name}.approved"}
        for answer in fields:
            port: dict[str, Json] = {"from": f"{name}.{answer}"}
            if answer in optional:
                port["required"] = False
            ports.inputs[answer] = port
        config: JsonObject = {"map": {VALUE: conversion.answer(fields, optional)}}
        return conversion.deterministic(key, {}, {VALUE: "object"}, _TRANSFORM, config)

    def _shown(self, key: str, request: JsonObject) -> tuple[_Ports, list[Json]]:
        """Return the ports that a person is shown beside the message, and the blocks that make their values."""
        ports = _Ports()
        ports.reserved |= {"kind", "details"} & request.keys()
        if "kind" in request:
            ports.inputs["kind"] = {"type": "string", "default": request["kind"]}
        if "details" not in request:
            return ports, []
        blocks, ports.inputs["details"] = self._make_value(key, "details", request["details"])
        return ports, blocks

    def _make_value(self, key: str, what: str, value: Json) -> tuple[list[Json], JsonObject]:
        """Return blocks that make a value with refs in it when the run reaches `key`, and the port that reads it."""
        ports = _Ports()
        text = conversion.value(value, lambda ref: self._path(key, ref, ports))
        name = self._name(key, what)
        when = self._when(self._retry_of(key), ports)
        block = conversion.deterministic(name, ports.inputs, {VALUE: "json"}, _TRANSFORM, {"map": {VALUE: text}})
        return [*ports.helpers, {**block, **conversion.order_keys(when, self._after())}], {"from": f"{name}.{VALUE}"}

    def _after(self) -> list[str]:
        """Return the blocks that the next block runs after: the first and the previous one."""
        return [key for key in dict.fromkeys((self._first, self._previous)) if key is not None]

    def _step(self, key: str, node: definition.Node, step: definition.Step, ports: _Ports) -> JsonObject:
        if step.op not in _STEP_OPS:
            raise conversion.NotConvertible(key, f"no block performs the op {step.op!r}")
        named = {ref.root: self._read(key, ref.root, ports) for _, ref in plan_refs.find(step.op, step.args)}
        config: JsonObject = {"op": step.op, "args": step.args, "refs": named}
        if step.op == "tool_call" and self._plan.mode != "normal":
            config = {**config, "mode": self._plan.mode}
        block: dict[str, Json] = {
            **conversion.deterministic(key, {}, {VALUE: "json"}, _STEP, config),
            "effect": node.effect,
        }
        if node.timeout_ms is not None:
            block["timeout_ms"] = node.timeout_ms
        return block

    def _expert(self, key: str, node: definition.Node, step: definition.Step, ports: _Ports) -> JsonObject:
        args = step.args
        block: dict[str, Json] = {"id": key, "mode": "ai", "outputs": {VALUE: args.get("output_schema", "string")}}
        names = ("expert", "max_tokens", "temperature", "top_p", "seed", "stop", "system")
        block |= {name: node.config[name] for name in names if name in node.config}
        if isinstance(prompt := args.get("prompt_ref"), str):
            path = self._path(key, cast("plan_refs.Ref", plan_refs.parse(prompt)), ports)
            block["prompt"] = f"Do what this asks for: {{{{ {path} }}}}"
        elif "prompt" in args:
            block["prompt"] = str(conversion.literal(args["prompt"])).replace("{{", "\\{{")
        else:
            ports.reserved.add("input")
            helpers, ports.inputs["input"] = self._make_value(key, "input", args.get("input"))
            ports.helpers += helpers
            block["prompt"] = "Do what this asks for: {{ inputs.input }}"
        if self._workflow.limits.max_tokens is not None:
            # Reserve what the plan reserves: without an estimate a block reserves more, for the unknown part of its
            # prompt.
            block["estimate"] = {"tokens": node.reserve.tokens}
        if "output_schema" in args:
            block["contract_repair_attempts"] = node.repairs
        if node.timeout_ms is not None:
            block["timeout_ms"] = node.timeout_ms
        return block

    def _retry(self, key: str, node: definition.Node, step: definition.Step, ports: _Ports) -> JsonObject:
        target = step.target or ""
        tried_step = self._flow.steps[target]
        block = {**self._block(target, self._workflow.nodes[target], tried_step, ports), "id": key}
        retry = node.retry
        block["retry"] = {
            "max_attempts": retry.max_attempts,
            "backoff": retry.backoff,
            "delay_ms": retry.delay_ms,
            "max_delay_ms": retry.max_delay_ms,
            "stall_after": 0,
        }
        if tried_step.op == "verify":
            block["post_gates"] = [{"type": "expr", "name": "holds", "expression": f"outputs.{VALUE}.ok"}]
        return block

    def _emit(self, key: str, step: definition.Step, ports: _Ports) -> JsonObject:
        args = {name: value for name, value in step.args.items() if name != "status"}
        refs = [ref for _, ref in plan_refs.find("emit", args) if self._may_be_set(key, ref)]
        named = {ref.root: self._read(key, ref.root, ports, required=False) for ref in refs}
        config: dict[str, Json] = {"op": "emit", "args": args, "refs": named}
        if step.ending != "ok":
            config["optional"] = True
        return {**conversion.deterministic(key, {}, {VALUE: "object"}, _STEP, config), "effect": "pure"}

    def _may_be_set(self, key: str, ref: plan_refs.Ref, *, after: bool = False) -> bool:
        """True if a step before `key` may have set what a ref reads; in an emit a value that was never set is null."""
        if ref.kind != "var" or ref.name in self._plan.variables:
            return True
        earlier = (other for other in self.order if self._position[other] < self._position[key] + after)
        return any(ref.name in self._written(other) for other in earlier)

    def _when(self, key: str, ports: _Ports) -> str | None:
        """Return the CEL of the condition under which the plan reaches a step; None if it always does."""
        terms = self._conditions[key]
        if frozenset[conversion.Literal]() in terms:
            return None
        texts = [" && ".join(self._literal_cel(key, literal, ports) for literal in sorted(term)) for term in terms]
        return " || ".join(f"({text})" for text in sorted(texts)) or "false"

    def _literal_cel(self, key: str, literal: conversion.Literal, ports: _Ports) -> str:
        text, outcome = literal
        kind, _, rest = text.partition(" ")
        sign = "" if outcome else "!"
        if kind == "saved":
            port = f"{conversion.cel_name(rest)}_held"
            self._claim_port(key, port, f"the branch {rest}", ports)
            ports.inputs[port] = {"from": f"{rest}.{VALUE}", "required": False}
            return f"has(inputs.{port}) && {sign}inputs.{port}"
        if kind == "expr":
            names = plan_expression.compile(rest).names
            present = [f"has(inputs.{self._read(key, root, ports, required=False)})" for root in _roots(key, names)]
            return " && ".join([*present, f"{sign}({self._rewrite_cel(key, rest, ports, required=False)})"])
        ref = cast("plan_refs.Ref", plan_refs.parse(rest))
        port = self._read(key, ref.root, ports, required=False)
        return f"has(inputs.{port}) && {sign}{self._path(key, ref, ports)}"

    def _rewrite_cel(self, key: str, text: str, ports: _Ports, *, required: bool = True) -> str:
        """Return CEL over the values of a plan as CEL over the inputs of a block."""
        names = plan_expression.compile(text).names
        for root in _roots(key, names):
            self._read(key, root, ports, required=required)

        def rename(root: str, name: str | None) -> str | None:
            return f"inputs.{conversion.port(f'{root}:{name}')}" if root in names else None

        return conversion.rename_in_cel(text, rename)

    def _path(self, key: str, ref: plan_refs.Ref, ports: _Ports) -> str:
        port = self._read(key, ref.root, ports)
        return f"inputs.{port}" + "".join(conversion.member(part) for part in ref.path)

    def _read(self, key: str, root: str, ports: _Ports, *, required: bool = True, after: bool = False) -> str:
        """Return the input port of the block `key` that has the value of `root`, and add it if it is missing."""
        port = conversion.port(root)
        self._claim_port(key, port, root, ports)
        if port in ports.inputs:
            return port
        if root.startswith("var:"):
            source = self._variable(key, root.removeprefix("var:"), ports, after=after)
        else:
            source = f"inputs.{self._workflow_input(root)}"
        ports.inputs[port] = {"from": source} if required else {"from": source, "required": False}
        return port

    def _workflow_input(self, root: str) -> str:
        return conversion.workflow_input(root, self._plan.contexts)

    def _claim_port(self, key: str, port: str, root: str, ports: _Ports) -> None:
        """Raise NotConvertible if a port would stand for two different values."""
        if (other := self._roots.setdefault(port, root)) != root or port in ports.reserved:
            raise conversion.NotConvertible(
                key, f"{root} and {'its own' if other == root else other} would be one port, {port!r}"
            )

    def _variable(self, key: str, name: str, ports: _Ports, *, after: bool) -> str:
        """Return the source of a variable at a step: its only writer, or a helper block that takes the last value."""
        end = self._position[self._retry_of(key)] + after
        before = [other for other in self.order if self._position[other] < end]
        writers = [other for other in before if name in self._written(other)]
        if len(writers) == 1 and name not in self._plan.variables:
            return f"{writers[0]}.{VALUE}"
        if not writers and name not in self._plan.variables:
            raise conversion.NotConvertible(key, f"nothing sets var:{name} before it")
        text = conversion.constant(self._plan.variables.get(name))
        inputs: dict[str, Json] = {}
        for writer in writers:
            port = conversion.cel_name(writer)
            text = f"has(inputs.{port}) ? inputs.{port} : ({text})"
            inputs[port] = {"from": f"{writer}.{VALUE}", "required": False}
        suffix = "_then" if after else ""
        block_id = self._name(self._retry_of(key), f"{conversion.cel_name(name)}{suffix}")
        block = conversion.deterministic(block_id, inputs, {VALUE: "json"}, _TRANSFORM, {"map": {VALUE: text}})
        if self._first is not None:
            block = {**block, "after": [self._first]}
        if block_id not in self._helpers:
            self._helpers.add(block_id)
            ports.helpers.append(block)
        return f"{block_id}.{VALUE}"

    def _retry_of(self, key: str) -> str:
        """Return the retry that tries the step `key`, or the step itself if no retry does."""
        if key in self._conditions:
            return key
        return next(other for other in self.order if self._flow.steps[other].target == key)

    def _written(self, key: str) -> frozenset[str]:
        """Return the variables that a step sets, those of the step that a retry tries included."""
        step = self._flow.steps[key]
        target = None if step.target is None else self._flow.steps[step.target].save_as
        return frozenset(name for name in (step.save_as, target) if name is not None)


def _roots(key: str, names_by_root: Mapping[str, Iterable[str] | None]) -> list[str]:
    """Return what an expression reads, such as `var:patch`. Raise NotConvertible if it may read any name."""
    roots: list[str] = []
    for root, names in names_by_root.items():
        if names is None:
            raise conversion.NotConvertible(key, f"its expression may read anything of {root!r}")
        roots += [f"{root}:{name}" for name in sorted(names)]
    return roots


def _pick_outputs(outputs: JsonObject) -> dict[str, str]:
    """Return where each of a plan's `outputs` is in the value of an emit that has all their refs as `audit_refs`."""
    picked: dict[str, str] = {}
    count = 0
    for name, value in outputs.items():
        output = name.removesuffix("_refs").removesuffix("_ref")
        length = len(value) if isinstance(value, list) else 1
        items = [f"AT.audit[{count + index}]" for index in range(length)]
        picked[output] = f"dyn([{', '.join(items)}])" if isinstance(value, list) else items[0]
        count += length
    return picked


def _output_refs(outputs: JsonObject) -> list[Json]:
    """Return all refs of a plan's `outputs`, in their order."""
    return [ref for value in outputs.values() for ref in (value if isinstance(value, list) else [value])]


def _result_blocks(
    endings: Sequence[tuple[str, Mapping[str, str]]], name: Callable[[int], str], after: list[str]
) -> tuple[list[JsonObject], JsonObject]:
    """Return blocks that collect the outputs of the file, one for all outputs with the same endings, and the outputs.

    `endings` are the blocks that end the run, each with its outputs; `name` returns the id of the n-th block.
    """
    groups: dict[tuple[str, ...], dict[str, Json]] = {}
    for output in dict.fromkeys(output for _, parts in endings for output in parts):
        parts_by_ending = {key: parts[output] for key, parts in endings if output in parts}
        groups.setdefault(tuple(parts_by_ending), {})[output] = _last_present(parts_by_ending)
    blocks: list[JsonObject] = []
    outputs: dict[str, Json] = {}
    for number, (keys, texts) in enumerate(groups.items(), 1):
        block_id = name(number)
        ports: JsonObject = {conversion.cel_name(key): {"from": f"{key}.value", "required": False} for key in keys}
        output_types = dict.fromkeys(texts, "json")
        block = conversion.deterministic(block_id, ports, output_types, "builtin:transform", {"map": texts})
        when = " || ".join(f"has(inputs.{port})" for port in ports)
        blocks.append({**block, **conversion.order_keys(when, after)})
        outputs |= {output: f"{block_id}.{output}" for output in texts}
    return blocks, outputs


def _last_present(parts_by_ending: Mapping[str, str]) -> str:
    """Return the CEL of the value of the last ending that the run has reached; null if it has reached none."""
    text = "null"
    for key, part in parts_by_ending.items():
        at = f"inputs.{conversion.cel_name(key)}"
        text = f"has({at}) ? {part.replace('AT', at)} : ({text})"
    return text
