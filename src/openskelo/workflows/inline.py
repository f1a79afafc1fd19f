"""Sub-workflows: a block with `uses` becomes an entry, the other file's nodes under its id, and an exit.

`sub/inputs` takes what the block takes, and what only its `when` reads, and carries that and the gates before; `sub/…`
are the inner nodes; `sub` itself gives the inner outputs and carries the gates after.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from openskelo.frozen import frozen, replace
from openskelo.kernel import definition
from openskelo.values import schema
from openskelo.workflows import block, gates, ports, routes, scope, skipping, suggest

PASS = "builtin:pass"  # noqa: S105 - a handler's name


@frozen
class Inner:
    """A loaded sub-workflow: its definition, and its outputs as ports.

    `skipping` are those outputs that are missing only where the block that gives them was skipped.
    """

    workflow: definition.Workflow
    outputs: tuple[definition.Port, ...]
    skipping: frozenset[str] = frozenset()


def entry(key: str) -> str:
    """The key of the node through which a sub-workflow is entered."""
    return f"{key}/inputs"


def adopt(draft: block.Draft, inner: Inner | None, *, commands: bool) -> block.Draft:
    """The block with the ports of what it uses, checked against those it declares itself, and its gates."""
    if inner is None:
        return replace(draft, unread=True)
    taken = _ports(draft, "inputs", draft.node.inputs, inner.workflow.inputs)
    given = _ports(draft, "outputs", draft.node.outputs, inner.outputs)
    sure = {port.name for port in taken if port.has_default}
    handed = {name for name, source in inner.workflow.outputs.items() if not source.node and source.port in sure}
    given = tuple(replace(port, required=True) if port.name in handed else port for port in given)
    node = replace(draft.node, handler=PASS, inputs=taken, outputs=given)
    block.check_condition(draft.at("when"), node.inputs)
    gated = gates.read_both(node, draft.at("pre_gates"), draft.at("post_gates"), commands=commands)
    once = any(definition.is_once(part) for part in inner.workflow.nodes.values())
    known = ports.by_name(node.inputs)
    links = {name: link for name, link in draft.links.items() if name in known}
    return replace(draft, node=gated, once=once, links=links, skipping=inner.skipping)


def _ports(
    draft: block.Draft, side: str, declared: tuple[definition.Port, ...], inner: tuple[definition.Port, ...]
) -> tuple[definition.Port, ...]:
    known = ports.by_name(inner)
    section = draft.at(side)
    condition = None if side == "outputs" else draft.at("when")
    read = scope.inputs_read(str(condition.value)) if condition is not None else frozenset[str]()
    kept: dict[str, definition.Port] = {}
    for port in declared:
        spot = draft.place.at(side, None if section is None else section.value).at(port.name, None)
        match = known.get(port.name)
        if match is None and port.name in read:
            kept[port.name] = port
        elif match is None:
            hint = suggest.near(port.name, known, otherwise=f"its {side}: {', '.join(known) or 'none'}")
            spot.key_problem("UNKNOWN_PORT", f"the used workflow has no {side[:-1]} {port.name!r}", hint=hint)
        elif port.name in draft.untyped[side]:
            kept[port.name] = _own_default(match, port)
        else:
            there, here = (port, match) if side == "inputs" else (match, port)
            why = schema.fits(there.schema, here.schema)
            if why is not None:
                spot.problem("TYPE_MISMATCH", f"this does not fit the used workflow's {port.name!r}: {why}")
            kept[port.name] = _own_default(match, port) if side == "inputs" else match
    if side == "outputs" and declared:
        return tuple(kept.values())
    own = (port for name, port in kept.items() if name not in known)
    return (*(kept.get(port.name, port) for port in inner), *own)


def _own_default(match: definition.Port, port: definition.Port) -> definition.Port:
    if not port.has_default:
        return match
    return replace(match, has_default=True, default=port.default, required=False)


def certain(port: definition.Port) -> definition.Port:
    """The port of an output that hands an input through: with a default there always is a value."""
    return replace(port, required=True, has_default=False, default=None) if port.has_default else port


def origin(nodes: Mapping[str, definition.Node], binding: definition.Binding) -> str:
    """The node that a value comes from, behind the ends of sub-workflows that only hand it through."""
    key, name = binding.node, binding.port
    while key and nodes[key].mode == "dag":
        through = nodes[key]
        before = through.bindings.get(name)
        if before is None or not before.node or any(port.name == name and port.has_default for port in through.inputs):
            break
        key, name = before.node, before.port
    return key


def expand(nodes: Mapping[str, definition.Node], inner: Mapping[str, Inner]) -> dict[str, definition.Node]:
    """All nodes, with the insides of every block that uses another workflow in its place."""
    if not inner:
        return dict(nodes)
    expanded: dict[str, definition.Node] = {}
    for key, node in nodes.items():
        node = _rerouted(node, inner)  # noqa: PLW2901 - the same node, with its ways back
        if key in inner:
            for part in _expanded(node, inner[key]):
                expanded[part.key] = part
        else:
            expanded[key] = node
    return _traced(expanded, skipping.skippable(_traced(expanded, frozenset(expanded))))


def _traced(nodes: Mapping[str, definition.Node], maybe: Set[str]) -> dict[str, definition.Node]:
    """The nodes, with the origins of what comes to them through the ends of sub-workflows and `maybe` is skipped.

    The exit of a sub-workflow gives what there is, and needs nothing that may be skipped.
    """
    traced: dict[str, definition.Node] = {}
    for key, node in nodes.items():
        bindings: dict[str, definition.Binding] = {}
        missing: set[str] = set()
        for name, binding in node.bindings.items():
            found = origin(nodes, binding)
            if found in maybe:
                missing.add(name)
            beyond = found if found != binding.node and found in maybe else ""
            bindings[name] = binding if binding.origin == beyond else replace(binding, origin=beyond)
        traced[key] = replace(node, bindings=bindings)
        if entry(key) in nodes:
            given = tuple(replace(port, required=port.required and port.name not in missing) for port in node.outputs)
            traced[key] = replace(traced[key], inputs=given, outputs=given)
    return traced


def _expanded(node: definition.Node, inner: Inner) -> list[definition.Node]:
    first = entry(node.key)
    head = replace(
        node,
        key=first,
        label="",
        outputs=node.inputs,
        post_gates=(),
        post_composition="all",
        bounces=tuple(way for way in node.bounces if _belongs(way, node.pre_gates)),
        metadata={},
    )
    body = [_inner(part, node.key) for part in inner.workflow.nodes.values()]
    followed = {source for part in body for source in routes.sources_of(part)}
    last = tuple(part.key for part in body if part.key not in followed)
    bindings = {
        port.name: _moved(inner.workflow.outputs[port.name], node.key)
        for port in node.outputs
        if port.name in inner.workflow.outputs
    }
    tail = replace(
        node,
        inputs=node.outputs,
        bindings=bindings,
        after=last,
        when=None,
        pre_gates=(),
        pre_composition="all",
        bounces=tuple(way for way in node.bounces if _belongs(way, node.post_gates)),
    )
    return [head, *body, tail]


def _belongs(way: definition.Bounce, among: tuple[definition.Gate, ...]) -> bool:
    return any(gate.name == way.when_gate for gate in among)


def _inner(node: definition.Node, outer: str) -> definition.Node:
    bindings = {port: _moved(binding, outer) for port, binding in node.bindings.items()}
    after = tuple(f"{outer}/{key}" for key in node.after)
    if not bindings and not after:
        after = (entry(outer),)
    approval = node.approval
    if approval is not None and approval.bounce is not None:
        approval = replace(approval, bounce=_moved_way(approval.bounce, outer))
    inside = f"{outer}/{node.inside}" if node.inside else entry(outer) if scope.reads_run_inputs(node) else ""
    return replace(
        node,
        key=f"{outer}/{node.key}",
        bindings=bindings,
        after=after,
        inside=inside,
        bounces=tuple(_moved_way(way, outer) for way in node.bounces),
        approval=approval,
    )


def _moved(binding: definition.Binding, outer: str) -> definition.Binding:
    return replace(binding, node=f"{outer}/{binding.node}" if binding.node else entry(outer))


def _moved_way(way: definition.Bounce, outer: str) -> definition.Bounce:
    return replace(way, route_to=f"{outer}/{way.route_to}", reset=())


def _rerouted(node: definition.Node, inner: Mapping[str, Inner]) -> definition.Node:
    """A way back to a sub-workflow leads to its entry."""
    ways = tuple(_to_entry(way, inner) for way in node.bounces)
    approval = node.approval
    if approval is not None and approval.bounce is not None:
        approval = replace(approval, bounce=_to_entry(approval.bounce, inner))
    return replace(node, bounces=ways, approval=approval)


def _to_entry(way: definition.Bounce, inner: Mapping[str, Inner]) -> definition.Bounce:
    return replace(way, route_to=entry(way.route_to)) if way.route_to in inner else way
