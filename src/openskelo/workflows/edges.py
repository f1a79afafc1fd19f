"""Edges: which output feeds which input, from the list and from the ports, checked for sense and for type."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo.frozen import frozen
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.values import composition, schema
from openskelo.workflows import approvals, block, cursor, ports, run_inputs, scope, suggest

_KEYS = frozenset({"from", "output", "to", "input", "transform"})


@frozen
class Reference:
    """`block.port`, or `inputs.NAME` with an empty block, as written at `place`."""

    node: str
    port: str
    place: cursor.Cursor
    port_place: cursor.Cursor


@frozen
class Edge:
    """One edge as written."""

    source: Reference
    node: str
    port: str
    transform: cursor.Cursor | None
    place: cursor.Cursor


Drafts = Mapping[str, block.Draft]
Bindings = Mapping[str, dict[str, definition.Binding]]


def wire(drafts: Drafts, listed: cursor.Cursor | None, inputs: run_inputs.Inputs) -> Bindings:
    """The bindings of every block; ports that nothing feeds are asked of `inputs`."""
    bindings: dict[str, dict[str, definition.Binding]] = {key: {} for key in drafts}
    for edge in (*_linked(drafts), *_listed(drafts, listed)):
        if edge.port in bindings[edge.node]:
            hint = "a port has one source; merge the values in a block before"
            edge.place.problem("TWO_EDGES", f"two edges lead into {edge.node}.{edge.port}", hint=hint)
            continue
        binding = _bind(drafts, edge, inputs)
        if binding is not None:
            bindings[edge.node][edge.port] = binding
    for key, draft in drafts.items():
        _unbound(draft, bindings[key], inputs)
    return bindings


def parse(found: cursor.Cursor) -> Reference | None:
    """A `block.port` text."""
    text = found.text(blank=False)
    if text is None:
        return None
    node, dot, port = text.strip().partition(".")
    if not dot or not node or not port:
        hint = "write block.port, or inputs.NAME"
        found.problem("REFERENCE_INVALID", f"{text[:80]!r} does not name a port", hint=hint)
        return None
    return Reference(node="" if node == "inputs" else node, port=port, place=found, port_place=found)


def source_schema(drafts: Drafts, source: Reference) -> definition.Port | None:
    """The output port that `source` names, as those downstream see it; None after a Problem."""
    draft = drafts.get(source.node)
    if draft is None:
        hint = suggest.near(source.node, drafts)
        source.place.problem("UNKNOWN_BLOCK", f"there is no block {source.node[:80]!r}", hint=hint)
        return None
    if draft.unread:
        return None
    outputs = ports.by_name(draft.node.outputs)
    port = outputs.get(source.port)
    if port is None:
        hint = suggest.near(source.port, outputs, otherwise=_offers(source.node, outputs))
        source.port_place.problem("UNKNOWN_PORT", f"{source.node} has no output {source.port[:80]!r}", hint=hint)
        return None
    return port if draft.node.foreach is None else collected(port)


def collected(port: definition.Port) -> definition.Port:
    """The port of a foreach block as seen from outside: the results of all items, in order, null for those without."""
    results = composition.listed(port.schema, or_null=not (port.required or port.has_default))
    return definition.Port(name=port.name, schema=results, description=port.description)


def _offers(node: str, outputs: Mapping[str, definition.Port]) -> str:
    return f"it gives {', '.join(outputs)}" if outputs else f"{node} declares no outputs"


def _linked(drafts: Drafts) -> list[Edge]:
    edges: list[Edge] = []
    for key, draft in drafts.items():
        for port, link in draft.links.items():
            source = parse(link.source)
            if source is not None:
                edges.append(Edge(source=source, node=key, port=port, transform=link.transform, place=link.source))
    return edges


def _listed(drafts: Drafts, listed: cursor.Cursor | None) -> list[Edge]:
    edges: list[Edge] = []
    for entry in [] if listed is None else listed.items() or []:
        fields = entry.fields(_KEYS)
        if fields is None:
            continue
        source = _end(fields, "from", "output")
        target = _end(fields, "to", "input")
        if source is None or target is None or not _is_input(drafts, target):
            continue
        transform = fields.get("transform")
        edges.append(Edge(source=source, node=target.node, port=target.port, transform=transform, place=entry))
    return edges


def _end(fields: cursor.Fields, node_key: str, port_key: str) -> Reference | None:
    """One end of a listed edge: two keys, or `block.port` under one."""
    named, ported = fields.need(node_key), fields.get(port_key)
    if named is None:
        return None
    if ported is None:
        if isinstance(named.value, str) and "." not in named.value:
            fields.missing(port_key)
            return None
        return parse(named)
    node, port = named.text(blank=False), ported.text(blank=False)
    if node is None or port is None:
        return None
    if "." in node:
        ported.key_problem("CONFLICT", f"`{node_key}` names a port already")
        return None
    return Reference(node="" if node == "inputs" else node, port=port, place=named, port_place=ported)


def _is_input(drafts: Drafts, target: Reference) -> bool:
    draft = drafts.get(target.node)
    if draft is None:
        shown = target.node or "inputs"
        hint = suggest.near(shown, drafts)
        target.place.problem("UNKNOWN_BLOCK", f"there is no block {shown[:80]!r}", hint=hint)
        return False
    if draft.unread:
        return False
    names = [port.name for port in draft.node.inputs]
    if target.port not in names:
        hint = suggest.near(target.port, names, otherwise=f"it takes {', '.join(names)}" if names else None)
        target.port_place.problem("UNKNOWN_PORT", f"{target.node} has no input {target.port[:80]!r}", hint=hint)
        return False
    return True


def _bind(drafts: Drafts, edge: Edge, inputs: run_inputs.Inputs) -> definition.Binding | None:
    node = drafts[edge.node].node
    target = ports.by_name(node.inputs)[edge.port]
    if node.foreach is not None and node.foreach.name == edge.port:
        edge.place.problem("CONFLICT", f"{edge.port!r} is the item of the foreach already")
        return None
    if edge.source.node:
        source = source_schema(drafts, edge.source)
    else:
        source = inputs.named(edge.source.port, target, edge.source.place, typed=edge.transform is None)
    if source is None:
        return None
    _check_types(edge, source, target)
    _check_presence(drafts, edge, source, target)
    transform = edge.transform.value if edge.transform is not None else None
    return definition.Binding(
        node=edge.source.node, port=edge.source.port, transform=transform if isinstance(transform, str) else None
    )


def _check_types(edge: Edge, source: definition.Port, target: definition.Port) -> None:
    given: JsonObject | None = source.schema
    if edge.transform is not None:
        given = scope.check_expression(edge.transform, {"value": source.schema})
    elif {source.kind, target.kind} == {"file", "artifact"}:
        edge.place.problem("TYPE_MISMATCH", f"a {source.kind} cannot be the {target.kind} {edge.node}.{edge.port}")
    if given is None:
        return
    why = None if given == target.schema else schema.fits(given, target.schema)
    if why is not None:
        spot = edge.transform or edge.place
        name = f"{edge.source.node or 'inputs'}.{edge.source.port}"
        hint = "a `transform` can change it" if edge.transform is None else None
        spot.problem("TYPE_MISMATCH", f"{name} does not fit {edge.node}.{edge.port}: {why}", hint=hint)


def _check_presence(drafts: Drafts, edge: Edge, source: definition.Port, target: definition.Port) -> None:
    """Warn of a value that may not be there although the block that gives it was not skipped."""
    node, port = edge.source.node, edge.source.port
    if not node:
        return
    if drafts[node].node.foreach is not None:
        _check_gaps(drafts[node].node, edge, target)
        return
    asked = drafts[node].node.approval if drafts[node].node.mode == "approval" else None
    given = source.required or source.has_default or (asked is not None and approvals.is_answered(asked, port))
    if given or port in drafts[node].skipping or not target.required or target.has_default:
        return
    hint = f"make {edge.node}.{edge.port} optional, or give it a default"
    edge.place.warn("MAY_BE_MISSING", f"{node}.{port} is optional", hint=hint)


def _check_gaps(node: definition.Node, edge: Edge, target: definition.Port) -> None:
    """Warn of the nulls that stand for what items of a foreach have not given, where the target takes none."""
    port = ports.by_name(node.outputs)[edge.source.port]
    items = target.schema.get("items")
    if port.required or port.has_default or edge.transform is not None or not isinstance(items, Mapping):
        return
    if schema.fits({"type": "null"}, items) is not None:
        message = f"{node.key}.{port.name} is optional, and null in the list where an item has not given it"
        edge.place.warn("MAY_BE_MISSING", message, hint=f"let items of {edge.node}.{edge.port} be null")


def _unbound(draft: block.Draft, bound: dict[str, definition.Binding], inputs: run_inputs.Inputs) -> None:
    """A required port that nothing feeds becomes an input of the workflow under its own name."""
    for port in draft.node.inputs:
        item = draft.node.foreach is not None and draft.node.foreach.name == port.name
        if port.name in bound or item or port.has_default:
            continue
        place = draft.place.at("inputs", None).at(port.name, None)
        if not port.required:
            _warn_of_nothing(draft.node, port, place)
        elif inputs.unbound(port, place) is not None:
            bound[port.name] = definition.Binding(port=port.name)


def _warn_of_nothing(node: definition.Node, port: definition.Port, place: cursor.Cursor) -> None:
    """Warn of a port that never has a value, unless a person may give it one, or it is that of a used file."""
    if node.mode != "dag" and node.approval is None:
        hint = f"write `from: inputs.{port.name}` on it, or give it a default"
        place.warn("PORT_UNFED", f"nothing feeds the optional input {port.name!r}: it never has a value", hint=hint)
