"""The outputs of a whole workflow: those it names, else those of the blocks that nothing follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from openskelo.frozen import field, frozen, replace
from openskelo.kernel import definition
from openskelo.workflows import cursor, edges, ports, run_inputs, suggest


@frozen
class Outputs:
    """Where each output comes from, and its port as a user of the whole workflow sees it."""

    bindings: Mapping[str, definition.Binding] = field(default_factory=dict[str, definition.Binding])
    ports: tuple[definition.Port, ...] = ()


def read(section: cursor.Cursor, drafts: edges.Drafts, inputs: run_inputs.Inputs) -> Outputs:
    """The `outputs` section: `name: block.port` or `name: {from: block.port, description}`."""
    bindings: dict[str, definition.Binding] = {}
    found: list[definition.Port] = []
    fields = section.fields()
    for entry in () if fields is None else fields:
        name = str(entry.path[-1])
        if not ports.NAME.match(name):
            entry.key_problem("NAME_INVALID", f"{name[:80]!r} cannot name an output")
            continue
        one = _one(entry, drafts, inputs)
        if one is not None:
            bindings[name], port = one
            found.append(replace(port, name=name))
    return Outputs(bindings=bindings, ports=tuple(found))


def of_last(drafts: edges.Drafts, last: Iterable[str]) -> Outputs:
    """The outputs of the last blocks under their own names; names that clash become `block_port`."""
    pairs = [(key, port) for key in last for port in _seen(drafts[key])]
    counts: dict[str, int] = {}
    for _, port in pairs:
        counts[port.name] = counts.get(port.name, 0) + 1
    bindings: dict[str, definition.Binding] = {}
    found: list[definition.Port] = []
    for key, port in pairs:
        name = port.name if counts[port.name] == 1 else f"{key}_{port.name}"
        if name in bindings:
            continue  # `a_b` of one block against `b` of block `a`: the first keeps the name, the other stays unnamed
        bindings[name] = definition.Binding(node=key, port=port.name)
        found.append(replace(port, name=name))
    return Outputs(bindings=bindings, ports=tuple(found))


def _seen(draft: edges.block.Draft) -> tuple[definition.Port, ...]:
    node = draft.node
    return node.outputs if node.foreach is None else tuple(edges.collected(port) for port in node.outputs)


def _one(
    entry: cursor.Cursor, drafts: edges.Drafts, inputs: run_inputs.Inputs
) -> tuple[definition.Binding, definition.Port] | None:
    source = entry
    if not isinstance(entry.value, str):
        fields = entry.fields({"from", "description"})
        found = None if fields is None else fields.need("from")
        if fields is None or found is None:
            return None
        fields.text("description")
        source = found
    reference = edges.parse(source)
    if reference is None:
        return None
    port = edges.source_schema(drafts, reference) if reference.node else inputs.use(reference.port)
    if port is None:
        if not reference.node:
            hint = suggest.near(reference.port, inputs.names())
            source.problem("UNKNOWN_INPUT", f"the workflow has no input {reference.port[:80]!r}", hint=hint)
        return None
    return definition.Binding(node=reference.node, port=reference.port), port
