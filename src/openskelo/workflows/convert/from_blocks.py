"""Converts a blocks file to a plan: edges become refs, the outputs become the result of an emit.

A block becomes the step that does its work, with the checks of its gates around it. The blocks run one after the other,
sources first. A block with retries becomes the target of a retry; it stands behind the last emit, where only the retry
enters it. The steps that end the plan when a gate refuses stand there, too.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import cast

from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import functions
from openskelo.values import plan_refs
from openskelo.workflows.convert import block_steps, conversion, sources
from openskelo.workflows.text import source

_MAX_ATTEMPTS = 21
#: The JSON Schema types of an input of a plan, by the type of its default.
_INPUT_TYPES: Mapping[type, tuple[str, ...]] = {
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number",),
    str: ("string",),
    list: ("array",),
    dict: ("object",),
}


def convert_blocks(workflow: definition.Workflow, text: source.Source) -> conversion.Converted:
    """Return the plan of a workflow that was read from `text`, or a Problem for each block that no step can express."""
    writer = _PlanWriter(workflow)
    writers = [writer.write_inputs]
    writers += [functools.partial(writer.write_block, key) for key in _topological_order(workflow)]
    writers += [writer.write_end]
    failures: list[conversion.NotConvertible] = []
    for write in writers:
        try:
            write()
        except conversion.NotConvertible as failure:
            failures.append(failure)
    if failures:
        return conversion.report_failures(text, "blocks", failures)
    return conversion.Converted(document=writer.document())


def _topological_order(workflow: definition.Workflow) -> list[str]:
    """Return the blocks, sources first, otherwise in the order of the file."""
    sources_of = definition.build_dependencies(workflow).sources
    done: dict[str, None] = {}
    while len(done) < len(workflow.nodes):
        ready = (key for key in workflow.nodes if key not in done and all(needed in done for needed in sources_of[key]))
        done[next(ready)] = None
    return list(done)


class _PlanWriter:
    """Writes the blocks of one workflow as steps: those in sequence, and those behind the end that are jumped to."""

    def __init__(self, workflow: definition.Workflow) -> None:
        self._workflow = workflow
        self._values = sources.Sources(workflow)
        self._steps: list[Json] = []
        self._behind_end: list[Json] = []

    def document(self) -> JsonObject:
        """Return the whole plan."""
        inputs = {port.name: port.default if port.has_default else None for port in self._workflow.inputs}
        plan: dict[str, Json] = {
            "plan_id": self._workflow.name,
            "description": self._workflow.description,
            "inputs": inputs,
            "steps": [*self._steps, *self._behind_end],
        }
        if (mode := self._mode()) != "normal":
            plan["mode"] = mode
        budget = conversion.budget(self._workflow.limits)
        if budget:
            plan["budgets"] = budget
        return plan

    def _mode(self) -> Json:
        modes = [node.config["mode"] for node in self._workflow.nodes.values() if _has_mode(node)]
        return modes[0] if modes else "normal"

    def write_inputs(self) -> None:
        """Write the checks of the inputs. Raise NotConvertible for an input that a plan cannot have."""
        for port in self._workflow.inputs:
            if not port.required and not port.has_default:
                raise conversion.NotConvertible(
                    "inputs", f"{port.name!r} may be left out, and an input of a plan may not"
                )
            if port.has_default and port.schema.get("type") not in _INPUT_TYPES.get(type(port.default), ()):
                what = f"{port.name!r} has a default of one type and takes others"
                raise conversion.NotConvertible("inputs", f"{what}, which an input of a plan does not")
            if port.name.endswith(("_ref", "_refs")):
                raise conversion.NotConvertible("inputs", f"in a plan a name like {port.name!r} declares contexts")
            if port.kind != "json":
                raise conversion.NotConvertible("inputs", f"{port.name!r} is a file, and a plan takes values")
        self._add_checks(block_steps.input_checks(self._values, self._workflow.inputs))

    def write_block(self, key: str) -> None:
        """Write the steps of one block, in their order."""
        node = self._workflow.nodes[key]
        _check_expressible(node)
        self._check_mode(node)
        self._add_checks(block_steps.checks_before(self._values, node))
        step = self._work(node)
        if node.timeout_ms is not None and not node.work.asks_person:
            step = {**step, "timeout_ms": node.timeout_ms}
        retry = _retry_args(node)
        if retry is None:
            self._steps.append(step)
        else:
            self._steps.append(
                {
                    "id": self._values.new_id(node, "tries"),
                    "op": "retry",
                    "args": {"step_id": self._values.step(node), **retry},
                }
            )
            self._behind_end.append(step)
        if retry is None or not node.post_gates:
            self._add_checks(block_steps.checks_after(self._values, node))

    def _add_checks(self, checks: block_steps.Checks) -> None:
        self._steps += checks.steps
        if checks.refusal is not None:
            self._behind_end.append(checks.refusal)

    def write_end(self) -> None:
        """Write the transform that collects the outputs, and the emit."""
        values = self._values
        parts: list[str] = []
        for name, binding in self._workflow.outputs.items():
            where = binding.node or "outputs"
            parts.append(f"{conversion.constant(name)}: {sources.cel(values.bound(where, binding))}")
        key = values.new_id(None, "result")
        saved = values.saved(key)
        self._steps.append(sources.step(key, "transform", {"expr": f"{{{', '.join(parts)}}}"}, saved.name))
        self._steps.append({"id": values.new_id(None, "done"), "op": "emit", "args": {"result_ref": str(saved)}})

    def _work(self, node: definition.Node) -> JsonObject:
        match node.mode:
            case "ai":
                before, step = block_steps.expert_steps(self._values, node)
                self._steps += before
                return step
            case "approval":
                return block_steps.question_step(self._values, node)
            case "deterministic" if node.handler == sources.STEP:
                return self._own_step(node)
            case "deterministic" if node.handler == "builtin:transform":
                return self._transform(node)
            case "dag" | "deterministic" if node.handler in (None, "builtin:pass"):
                text = self._values.cel_object(node, [port.name for port in node.outputs])
                return self._values.work_step(node, "transform", {"expr": text})
            case _:
                raise conversion.NotConvertible(
                    node.key, f"there is no op that does what {node.handler or node.mode!r} does"
                )

    def _own_step(self, node: definition.Node) -> JsonObject:
        """Return the step whose work the block does; its only output is the value of the step."""
        op = str(node.config["op"])
        args = cast("JsonObject", node.config["args"])
        ports = cast("Mapping[str, str]", node.config.get("refs") or {})
        if op == "emit":
            raise conversion.NotConvertible(node.key, "it emits, and in a plan nothing follows that")

        def value_of(ref: plan_refs.Ref) -> Json:
            value = self._values.port(node, ports.get(ref.root, ref.name))
            if isinstance(value, sources.Constant):
                raise conversion.NotConvertible(node.key, f"{ref} stands for a value that no step has saved")
            return str(plan_refs.Ref(kind=value.kind, name=value.name, path=(*value.path, *ref.path)))

        step_args = dict(plan_refs.replace(op, cast("JsonObject", _escape_literals(args)), value_of))
        for name in functions.CONSTANT_ARGS & args.keys() if op != "tool_call" else ():
            if any(plan_refs.find(op, {name: args[name]})):
                raise conversion.NotConvertible(
                    node.key, f"its {name!r} comes from a block, and a step has it as written"
                )
            step_args[name] = conversion.literal(args[name])
        return self._values.work_step(node, op, step_args)

    def _transform(self, node: definition.Node) -> JsonObject:
        """Return a transform to one object of all outputs; each template is filled in by a step of its own."""
        values = self._values
        parts: dict[str, str] = {}
        for name, text in cast("Mapping[str, str]", node.config.get("map") or {}).items():
            parts[name] = values.rewrite_cel(node, text)
        for name, text in cast("Mapping[str, str]", node.config.get("template") or {}).items():
            key = values.new_id(node, name)
            saved = values.saved(key)
            self._steps.append(sources.step(key, "transform", self._template_args(node, text), saved.name))
            parts[name] = sources.cel(saved)
        for port in node.outputs:
            if port.has_default and port.name not in parts:
                parts[port.name] = conversion.constant(port.default)
        text = ", ".join(f"{conversion.constant(name)}: {part}" for name, part in parts.items())
        return values.work_step(node, "transform", {"expr": f"{{{text}}}"})

    def _template_args(self, node: definition.Node, text: str) -> JsonObject:
        """Return the arguments of a transform that fills in a template as the block does."""
        values: dict[str, Json] = {}

        def rename(root: str, name: str | None) -> str | None:
            if root != "inputs":
                return None
            if name is None:
                raise conversion.NotConvertible(node.key, "a text of it reads all of its inputs")
            values[name] = sources.argument(self._values.port(node, name))
            return f"values.{name}"

        written: list[str] = []
        for piece, is_expression in sources.template_pieces(text):
            if is_expression:
                written.append(f"{{{{ {conversion.rename_in_cel(piece, rename)} }}}}")
            else:
                written.append(piece.replace("{{", "\\{{"))
        return {"fn": "template", "template": "".join(written), "values": values}

    def _check_mode(self, node: definition.Node) -> None:
        """Raise NotConvertible if blocks have different modes: a plan has one mode for all of its steps."""
        own = node.config.get("mode") if node.handler == sources.STEP else None
        if own in (None, "normal"):
            return
        for other in self._workflow.nodes.values():
            is_limited = other.work.calls_model or (other.handler == sources.STEP and other.config["op"] == "tool_call")
            if is_limited and other.config.get("mode") != own:
                raise conversion.NotConvertible(
                    node.key, f"it is held to the mode {own!r}, which would hold {other.key!r} too"
                )


def _has_mode(node: definition.Node) -> bool:
    return node.handler == sources.STEP and "mode" in node.config


def _check_expressible(node: definition.Node) -> None:
    """Raise NotConvertible for a block with a setting that a step does not have."""
    settings = {
        "when": node.when is not None,
        "foreach": node.foreach is not None,
        "on_gate_fail": bool(node.bounces),
        "a checkpoint": node.approval is not None and not node.work.asks_person,
        "cache": node.cache,
        "an effect that happens once": node.effect == "once" and node.handler != sources.STEP,
    }
    for name, present in settings.items():
        if present:
            raise conversion.NotConvertible(node.key, f"it has {name}, which a step cannot say")


def _retry_args(node: definition.Node) -> JsonObject | None:
    """Return the arguments of the retry that tries the block's step; None for a block with one attempt."""
    retry = node.retry
    if retry.max_attempts == 1:
        return None
    if retry.max_attempts > _MAX_ATTEMPTS:
        raise conversion.NotConvertible(node.key, f"it is tried more than {_MAX_ATTEMPTS} times")
    if 0 < retry.stall_after < retry.max_attempts:
        asks = f"after {retry.stall_after} equal failures it asks a person"
        raise conversion.NotConvertible(node.key, f"{asks}, and a retry does not (retry.stall_after: 0 would say so)")
    if node.post_gates and not _is_retried_verify(node):
        raise conversion.NotConvertible(
            node.key, "what its gates refuse is tried again with their verdicts, and a retry has none"
        )
    if node.handler == sources.STEP and not node.post_gates and block_steps.contract(node) is not None:
        raise conversion.NotConvertible(
            node.key, "what breaks the type of its output is tried again, and a retry sees no types"
        )
    return {
        "max_retries": retry.max_attempts - 1,
        "backoff": retry.backoff,
        "delay_ms": retry.delay_ms,
        "max_delay_ms": retry.max_delay_ms,
    }


def _is_retried_verify(node: definition.Node) -> bool:
    """True if a block is a verify that is tried until it holds, which is what a retry of a verify does."""
    if node.handler != sources.STEP or node.config["op"] != "verify" or len(node.post_gates) != 1:
        return False
    gate = node.post_gates[0]
    verdict = f"outputs.{node.outputs[0].name}.ok"
    return gate.type == "expr" and str(gate.params["expression"]).strip() == verdict


def _escape_literals(value: Json) -> Json:
    """Return the arguments with each `$literal` escaped once more, because replacing the refs removes one level."""
    match value:
        case Mapping():
            whole = {name: _escape_literals(part) for name, part in value.items()}
            return {plan_refs.LITERAL: value} if plan_refs.LITERAL in value else whole
        case list():
            return [_escape_literals(part) for part in value]
        case _:
            return value
