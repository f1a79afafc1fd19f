"""A file of blocks, one after the other, as a plan: edges become refs, the outputs become the result of an emit.

A block becomes the step that does its work, with the checks of its gates around it. A block that is tried again is the
target of a retry, and stands after the end of the plan, where nothing but the retry enters it; so do the steps that
end the plan where a gate refuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from openskelo.kernel import definition
from openskelo.kernel.flows import dag
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import refs
from openskelo.workflows import source
from openskelo.workflows.convert import asking_steps, block_text, gate_steps, result, sources
from openskelo.workflows.plan import ops

_MOST_TRIES = 20
#: What an input of a plan takes beside its value.
_KINDS: Mapping[type, tuple[str, ...]] = {
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number",),
    str: ("string",),
    list: ("array",),
    dict: ("object",),
}


def convert_blocks(workflow: definition.Workflow, text: source.Source) -> result.Converted:
    """The plan of a workflow that was read from `text`; a Problem for each block that no step can express."""
    writer = _Writer(workflow)
    found: list[result.Stuck] = []
    for attempt in (writer.check, *(lambda key=key: writer.block(key) for key in _order(workflow)), writer.end):
        try:
            attempt()
        except result.Stuck as stuck:
            found.append(stuck)
    return result.refused(text, "blocks", found) if found else result.Converted(document=writer.document())


def _order(workflow: definition.Workflow) -> list[str]:
    """The blocks, sources first, otherwise as they stand in the file."""
    shape = dag.graph(workflow)
    done: dict[str, None] = {}
    while len(done) < len(workflow.nodes):
        done |= dict.fromkeys(
            next([key] for key in workflow.nodes if key not in done and all(one in done for one in shape.sources[key]))
        )
    return list(done)


class _Writer:
    """Writes the blocks of one workflow as steps: those that are done in turn, and those that stand aside."""

    def __init__(self, workflow: definition.Workflow) -> None:
        self._workflow = workflow
        self._known = sources.Sources(workflow)
        self._steps: list[Json] = []
        self._aside: list[Json] = []

    def document(self) -> JsonObject:
        """The whole plan."""
        inputs = {port.name: port.default if port.has_default else None for port in self._workflow.inputs}
        found: dict[str, Json] = {
            "plan_id": self._workflow.name,
            "description": self._workflow.description,
            "inputs": inputs,
            "steps": [*self._steps, *self._aside],
        }
        if (mode := self._mode()) != "normal":
            found["mode"] = mode
        budget = block_text.budget(self._workflow.limits)
        return {**found, "budgets": budget} if budget else found

    def _mode(self) -> Json:
        modes = [node.config["mode"] for node in self._workflow.nodes.values() if _has_mode(node)]
        return modes[0] if modes else "normal"

    def check(self) -> None:
        """What belongs to no block: the inputs of a plan have values, and their types are checked first."""
        for port in self._workflow.inputs:
            if not port.required and not port.has_default:
                raise result.Stuck("inputs", f"{port.name!r} may be left out, and an input of a plan may not")
            if port.has_default and port.schema.get("type") not in _KINDS.get(type(port.default), ()):
                what = f"{port.name!r} has a default of one type and takes others"
                raise result.Stuck("inputs", f"{what}, which an input of a plan does not")
            if port.name.endswith(("_ref", "_refs")):
                raise result.Stuck("inputs", f"in a plan a name like {port.name!r} declares contexts")
            if port.kind != "json":
                raise result.Stuck("inputs", f"{port.name!r} is a file, and a plan takes values")
        self._put(gate_steps.start(self._known, self._workflow.inputs))

    def block(self, key: str) -> None:
        """The steps of one block, in their order."""
        node = self._workflow.nodes[key]
        _check(node)
        self._check_mode(node)
        checks = gate_steps.before(self._known, node)
        self._put(checks)
        step = self._work(node)
        if node.timeout_ms is not None and node.mode != "approval":
            step = {**step, "timeout_ms": node.timeout_ms}
        tried = _retry(node)
        if tried is None:
            self._steps.append(step)
        else:
            self._steps.append(
                {
                    "id": self._known.id(node, "tries"),
                    "op": "retry",
                    "args": {"step_id": self._known.step(node), **tried},
                }
            )
            self._aside.append(step)
        if tried is None or not node.post_gates:
            self._put(gate_steps.after(self._known, node))

    def _put(self, checks: gate_steps.Checks) -> None:
        self._steps += checks.steps
        if checks.refusal is not None:
            self._aside.append(checks.refusal)

    def end(self) -> None:
        """The result, and the emit."""
        known = self._known
        parts: list[str] = []
        for name, binding in self._workflow.outputs.items():
            where = binding.node or "outputs"
            parts.append(f"{block_text.constant(name)}: {sources.cel(known.bound(where, binding))}")
        key = known.id(None, "result")
        saved = known.saved(key)
        self._steps.append(sources.step(key, "transform", {"expr": f"{{{', '.join(parts)}}}"}, saved.name))
        self._steps.append({"id": known.id(None, "done"), "op": "emit", "args": {"result_ref": str(saved)}})

    def _work(self, node: definition.Node) -> JsonObject:
        match node.mode:
            case "ai":
                before, step = asking_steps.expert(self._known, node)
                self._steps += before
                return step
            case "approval":
                return asking_steps.question(self._known, node)
            case "deterministic" if node.handler == sources.STEP:
                return self._own_step(node)
            case "deterministic" if node.handler == "builtin:transform":
                return self._transform(node)
            case "dag" | "deterministic" if node.handler in (None, "builtin:pass"):
                text = self._known.object(node, [port.name for port in node.outputs])
                return self._known.work(node, "transform", {"expr": text})
            case _:
                raise result.Stuck(node.key, f"no op does what {node.handler or node.mode!r} does")

    def _own_step(self, node: definition.Node) -> JsonObject:
        """A block that does the work of a step is that step; its one output is the step's value."""
        op, args = str(node.config["op"]), cast("JsonObject", node.config["args"])
        ports = cast("Mapping[str, str]", node.config.get("refs") or {})
        if op == "emit":
            raise result.Stuck(node.key, "it emits, and in a plan nothing follows that")

        def value_of(ref: refs.Ref) -> Json:
            found = self._known.port(node, ports.get(ref.root, ref.name))
            if isinstance(found, sources.Constant):
                raise result.Stuck(node.key, f"{ref} stands for a value that no step has saved")
            return str(refs.Ref(kind=found.kind, name=found.name, path=(*found.path, *ref.path)))

        told = dict(refs.replace(op, cast("JsonObject", _literals_kept(args)), value_of))
        for name in ops.CONSTANT & args.keys() if op != "tool_call" else ():
            if any(refs.find(op, {name: args[name]})):
                raise result.Stuck(node.key, f"its {name!r} comes from a block, and a step has it as written")
            told[name] = block_text.literal(args[name])
        return self._known.work(node, op, told)

    def _transform(self, node: definition.Node) -> JsonObject:
        """One object of all outputs; texts are filled in by steps of their own."""
        known, parts = self._known, dict[str, str]()
        for name, text in cast("Mapping[str, str]", node.config.get("map") or {}).items():
            parts[name] = known.rewritten(node, text)
        for name, text in cast("Mapping[str, str]", node.config.get("template") or {}).items():
            key = known.id(node, name)
            saved = known.saved(key)
            self._steps.append(sources.step(key, "transform", self._filled(node, text), saved.name))
            parts[name] = sources.cel(saved)
        for port in node.outputs:
            if port.has_default and port.name not in parts:
                parts[port.name] = block_text.constant(port.default)
        text = ", ".join(f"{block_text.constant(name)}: {part}" for name, part in parts.items())
        return known.work(node, "transform", {"expr": f"{{{text}}}"})

    def _filled(self, node: definition.Node, text: str) -> JsonObject:
        """The arguments of a transform that fills a text in as the block does."""
        values: dict[str, Json] = {}

        def name_of(root: str, name: str | None) -> str | None:
            if root != "inputs":
                return None
            if name is None:
                raise result.Stuck(node.key, "a text of it reads all of its inputs")
            values[name] = sources.argument(self._known.port(node, name))
            return f"values.{name}"

        written = [
            f"{{{{ {result.renamed(piece, name_of)} }}}}" if is_expression else piece.replace("{{", "\\{{")
            for piece, is_expression in sources.pieces(text)
        ]
        return {"fn": "template", "template": "".join(written), "values": values}

    def _check_mode(self, node: definition.Node) -> None:
        """A plan has one mode for all that it reaches."""
        own = node.config.get("mode") if node.handler == sources.STEP else None
        if own in (None, "normal"):
            return
        for other in self._workflow.nodes.values():
            reaches = other.mode == "ai" or (other.handler == sources.STEP and other.config["op"] == "tool_call")
            if reaches and other.config.get("mode") != own:
                raise result.Stuck(node.key, f"it is held to the mode {own!r}, which would hold {other.key!r} too")


def _has_mode(node: definition.Node) -> bool:
    return node.handler == sources.STEP and "mode" in node.config


def _check(node: definition.Node) -> None:
    """Only what runs once, after what it needs, is linear."""
    told = {
        "when": node.when is not None,
        "foreach": node.foreach is not None,
        "on_gate_fail": bool(node.bounces),
        "a checkpoint": node.approval is not None and node.mode != "approval",
        "cache": node.cache,
        "an effect that happens once": node.effect == "once" and node.handler != sources.STEP,
    }
    for what, there in told.items():
        if there:
            raise result.Stuck(node.key, f"it has {what}, which a step cannot say")


def _retry(node: definition.Node) -> JsonObject | None:
    """The arguments of the retry that tries the block's step; None for a block that is tried once."""
    retry = node.retry
    if retry.max_attempts == 1:
        return None
    if retry.max_attempts > _MOST_TRIES:
        raise result.Stuck(node.key, f"it is tried more than {_MOST_TRIES} times")
    if 0 < retry.stall_after < retry.max_attempts:
        many = f"after {retry.stall_after} equal failures it asks a person"
        raise result.Stuck(node.key, f"{many}, and a retry does not (retry.stall_after: 0 would say so)")
    if node.post_gates and not _tries_a_check(node):
        raise result.Stuck(node.key, "what its gates refuse is tried again with their verdicts, and a retry has none")
    if node.handler == sources.STEP and not node.post_gates and gate_steps.contract(node) is not None:
        raise result.Stuck(node.key, "what breaks the type of its output is tried again, and a retry sees no types")
    return {
        "max_retries": retry.max_attempts,
        "backoff": retry.backoff,
        "delay_ms": retry.delay_ms,
        "max_delay_ms": retry.max_delay_ms,
    }


def _tries_a_check(node: definition.Node) -> bool:
    """Whether a block is a verify that is tried until it holds, which is what a retry of a verify does."""
    if node.handler != sources.STEP or node.config["op"] != "verify" or len(node.post_gates) != 1:
        return False
    gate = node.post_gates[0]
    wanted = f"outputs.{node.outputs[0].name}.ok"
    return gate.type == "expr" and str(gate.params["expression"]).strip() == wanted


def _literals_kept(value: Json) -> Json:
    """The arguments with each escape escaped, so that putting refs in leaves one."""
    match value:
        case Mapping():
            whole = {name: _literals_kept(part) for name, part in value.items()}
            return {refs.LITERAL: value} if refs.LITERAL in value else whole
        case list():
            return [_literals_kept(part) for part in value]
        case _:
            return value
