"""Expresses the ports of blocks as values of a plan: each port as a ref, as CEL, or as a constant.

A block becomes a step that saves an object of its outputs in one variable, so the output `text` of the block `draft` is
`var:draft.text`. An input of a block is the output of another block, an input of the run, or its own default.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias, cast

from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen
from openskelo.values import plan_refs, template
from openskelo.workflows.convert import conversion

#: The handler of a block that does the work of a plan's step: its only output is the value of that step.
STEP = "builtin:step"
Side: TypeAlias = Literal["inputs", "outputs"]


@frozen
class Constant:
    """A value that is written in the file itself."""

    value: Json


PortValue: TypeAlias = plan_refs.Ref | Constant


class Sources:
    """The ids of the steps and the names of the variables that the blocks of one workflow become."""

    def __init__(self, workflow: definition.Workflow) -> None:
        self.workflow = workflow
        self._ids: set[str] = set()
        self._variables: dict[str, str] = {}
        # A block that comes from a used file has a / in its key.
        self._steps = {key: self._unused_id(conversion.id_part(key)) for key in workflow.nodes}
        for step in self._steps.values():
            self.variable(step)

    def step(self, node: definition.Node) -> str:
        """Return the id of the step that does a block's work."""
        return self._steps[node.key]

    def new_id(self, node: definition.Node | None, suffix: str) -> str:
        """Return the unused id of another step, for a block or for the whole plan."""
        return self._unused_id(suffix if node is None else f"{self.step(node)[:40]}_{conversion.id_part(suffix)[:20]}")

    def _unused_id(self, step_id: str) -> str:
        while step_id in self._ids:
            step_id += "_"
        self._ids.add(step_id)
        return step_id

    def variable(self, step: str) -> str:
        """Return the variable in which a step saves its value: a name that CEL can select by."""
        name = self._variables.get(step)
        if name is None:
            name = conversion.cel_name(step)
            while name in self._variables.values():
                name += "_"
            self._variables[step] = name
        return name

    def work_step(self, node: definition.Node, op: str, args: Mapping[str, Json]) -> dict[str, Json]:
        """Return the step that does a block's work."""
        return step(self.step(node), op, args, self.variable(self.step(node)))

    def saved(self, step: str, *path: str) -> plan_refs.Ref:
        """Return the ref of what a step has saved, or of a part of it."""
        return plan_refs.Ref(kind="var", name=self.variable(step), path=path)

    def port(self, node: definition.Node, name: str, side: Side = "inputs") -> PortValue:
        """Return the value of a block's port. Raise NotConvertible if a plan has no such value."""
        if side == "outputs":
            return self._output_value(node, name)
        binding = node.bindings.get(name)
        if binding is not None:
            return self.bound(node.key, binding)
        for port in node.inputs:
            if port.name == name and port.has_default:
                return Constant(value=port.default)
        raise conversion.NotConvertible(node.key, f"nothing is bound to its input {name!r}")

    def bound(self, where: str, binding: definition.Binding) -> PortValue:
        """Return the value that a binding brings to the block `where`."""
        if binding.transform is not None:
            raise conversion.NotConvertible(where, f"the edge that brings {binding.port!r} to it has a transform")
        if not binding.node:
            return plan_refs.Ref(kind="input", name=binding.port)
        return self._output_value(self.workflow.nodes[binding.node], binding.port)

    def _output_value(self, node: definition.Node, name: str) -> PortValue:
        if node.work.asks_person:
            return self._answer(node, name)
        if node.handler == STEP:
            return self.saved(self.step(node))
        if any(port.name == name and not port.required and not port.has_default for port in node.outputs):
            raise conversion.NotConvertible(node.key, f"its output {name!r} may be missing, and something reads it")
        return self.saved(self.step(node), name)

    def _answer(self, node: definition.Node, name: str) -> PortValue:
        """Return an output of an approval: an answer, an input that it has shown, or `approved`.

        `approved` is always true, because a denied question ends the plan.
        """
        form = cast("definition.Approval", node.approval).form
        required = form.get("required")
        fields = cast("JsonObject", form.get("properties") or {})
        if name == "approved":
            return Constant(value=True)
        if name in (required if isinstance(required, list) else ()):
            return self.saved(self.step(node), name)
        if name in node.bindings and name not in fields:
            return self.port(node, name)
        raise conversion.NotConvertible(
            node.key, f"its output {name!r} is not a required answer, and something reads it"
        )

    def cel_object(self, node: definition.Node, names: Iterable[str], side: Side = "inputs") -> str:
        """Return the CEL of an object of ports."""
        parts = [f"{conversion.constant(name)}: {cel(self.port(node, name, side))}" for name in names]
        return f"{{{', '.join(parts)}}}"

    def rewrite_cel(self, node: definition.Node, text: str) -> str:
        """Return CEL over the ports of a block as CEL over the values of the plan."""

        def rename(root: str, name: str | None) -> str | None:
            if root not in ("inputs", "outputs", "run"):
                return None
            if root == "run" or name is None:
                raise conversion.NotConvertible(
                    node.key, f"an expression of it reads {root!r} as a whole, which a plan does not have"
                )
            return cel(self.port(node, name, root))

        return conversion.rename_in_cel(text, rename)


def cel(port_value: PortValue) -> str:
    """Return a value as CEL."""
    if isinstance(port_value, Constant):
        return f"({conversion.constant(port_value.value)})"
    return port_value.kind + "".join(conversion.member(part) for part in (port_value.name, *port_value.path))


def argument(port_value: PortValue) -> Json:
    """Return a value as an argument of a step."""
    return {plan_refs.LITERAL: port_value.value} if isinstance(port_value, Constant) else str(port_value)


def template_pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a template; an expression comes with True, plain text with False."""
    for piece in template.split(text):
        yield (piece, False) if isinstance(piece, str) else (text[piece].strip(), True)


def escape_ref(text: str) -> Json:
    """Return a text as an argument of a step; a text that looks like a ref is escaped."""
    return {plan_refs.LITERAL: text} if plan_refs.parse(text) is not None else text


def step(key: str, op: str, args: Mapping[str, Json], save_as: str) -> dict[str, Json]:
    """Return a step that saves its value."""
    return {"id": key, "op": op, "args": args, "save_as": save_as}
