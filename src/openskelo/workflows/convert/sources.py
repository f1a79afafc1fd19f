"""Where the values of blocks are found in a plan: as refs, as CEL, and in expressions over a block's own ports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias, cast

from openskelo.frozen import frozen
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import refs, template
from openskelo.workflows.convert import block_text, result

#: The handler of a block that was a step: its one output is the step's whole value.
STEP = "builtin:step"
Side: TypeAlias = Literal["inputs", "outputs"]


@frozen
class Constant:
    """A value that the file itself says."""

    value: Json


Found: TypeAlias = refs.Ref | Constant


class Sources:
    """The steps and variables that the blocks of one workflow become, and the values in them."""

    def __init__(self, workflow: definition.Workflow) -> None:
        self.workflow = workflow
        self._ids: set[str] = set()
        self._variables: dict[str, str] = {}
        # The blocks of a file that another one uses have a / in their name.
        self._steps = {key: self._free(block_text.plain(key)) for key in workflow.nodes}
        for step in self._steps.values():
            self.variable(step)

    def step(self, node: definition.Node) -> str:
        """The id of the step that does a block's work."""
        return self._steps[node.key]

    def id(self, node: definition.Node | None, suffix: str) -> str:
        """The id of another step, for a block or for the whole plan."""
        return self._free(suffix if node is None else f"{self.step(node)[:40]}_{block_text.plain(suffix)[:20]}")

    def _free(self, found: str) -> str:
        while found in self._ids:
            found += "_"
        self._ids.add(found)
        return found

    def variable(self, step: str) -> str:
        """The variable that a step saves its value in: a name that CEL can write."""
        found = self._variables.get(step)
        if found is None:
            found = block_text.word(step)
            while found in self._variables.values():
                found += "_"
            self._variables[step] = found
        return found

    def work(self, node: definition.Node, op: str, args: Mapping[str, Json]) -> dict[str, Json]:
        """The step that does a block's work."""
        return step(self.step(node), op, args, self.variable(self.step(node)))

    def saved(self, step: str, *path: str) -> refs.Ref:
        """What a step has saved, or a part of it."""
        return refs.Ref(kind="var", name=self.variable(step), path=path)

    def port(self, node: definition.Node, name: str, side: Side = "inputs") -> Found:
        """The value of a block's port (result.Stuck where a plan has none)."""
        if side == "outputs":
            return self._output(node, name)
        binding = node.bindings.get(name)
        if binding is not None:
            return self.bound(node.key, binding)
        for port in node.inputs:
            if port.name == name and port.has_default:
                return Constant(value=port.default)
        raise result.Stuck(node.key, f"nothing is bound to its input {name!r}")

    def bound(self, where: str, binding: definition.Binding) -> Found:
        """The value that a binding of the block `where` brings."""
        if binding.transform is not None:
            raise result.Stuck(where, f"the edge that brings {binding.port!r} to it has a transform")
        if not binding.node:
            return refs.Ref(kind="input", name=binding.port)
        return self._output(self.workflow.nodes[binding.node], binding.port)

    def _output(self, node: definition.Node, name: str) -> Found:
        if node.mode == "approval":
            return self._answer(node, name)
        if node.handler == STEP:
            return self.saved(self.step(node))
        if any(port.name == name and not port.required and not port.has_default for port in node.outputs):
            raise result.Stuck(node.key, f"its output {name!r} may be missing, and something reads it")
        return self.saved(self.step(node), name)

    def _answer(self, node: definition.Node, name: str) -> Found:
        """What an approval gives: answers, what it was shown, and that it was approved, as the plan is over else."""
        form = cast("definition.Approval", node.approval).form
        needed, fields = form.get("required"), cast("JsonObject", form.get("properties") or {})
        if name == "approved":
            return Constant(value=True)
        if name in (needed if isinstance(needed, list) else ()):
            return self.saved(self.step(node), name)
        if name in node.bindings and name not in fields:
            return self.port(node, name)
        raise result.Stuck(node.key, f"its output {name!r} is no answer that has to be given, and something reads it")

    def object(self, node: definition.Node, names: Iterable[str], side: Side = "inputs") -> str:
        """An object of ports in CEL."""
        parts = [f"{block_text.constant(name)}: {cel(self.port(node, name, side))}" for name in names]
        return f"{{{', '.join(parts)}}}"

    def rewritten(self, node: definition.Node, text: str) -> str:
        """CEL over the ports of a block as CEL over what a plan knows."""

        def name_of(root: str, name: str | None) -> str | None:
            if root not in ("inputs", "outputs", "run"):
                return None
            if root == "run" or name is None:
                raise result.Stuck(node.key, f"an expression of it reads {root!r} as a whole, which a plan has not")
            return cel(self.port(node, name, root))

        return result.renamed(text, name_of)


def cel(found: Found) -> str:
    """The value in CEL."""
    if isinstance(found, Constant):
        return f"({block_text.constant(found.value)})"
    return found.kind + "".join(block_text.member(part) for part in (found.name, *found.path))


def argument(found: Found) -> Json:
    """The value as an argument of a step."""
    return {refs.LITERAL: found.value} if isinstance(found, Constant) else str(found)


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The texts of a template and, marked by True, its expressions."""
    for piece in template.split(text):
        yield (piece, False) if isinstance(piece, str) else (text[piece].strip(), True)


def kept(text: str) -> Json:
    """A text as an argument that may hold refs: one that looks like a ref is escaped."""
    return {refs.LITERAL: text} if refs.parse(text) is not None else text


def step(key: str, op: str, args: Mapping[str, Json], save_as: str) -> dict[str, Json]:
    """A step that saves its value."""
    return {"id": key, "op": op, "args": args, "save_as": save_as}
