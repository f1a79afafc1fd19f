"""Inlining: a block with `uses` becomes an entry node, the nodes of the other file, and an exit node.

    sub/inputs   the entry: the inputs of the block, its `when` and its pre gates
    sub/…        the nodes of the other file, with `sub/` before their keys
    sub          the exit: the outputs of the other file, and the post gates of the block

So a run has one flat graph and one log, and a node of a used file is a node like any other. Entry and exit do no work:
they pass values on (`builtin:pass`). A value that may be missing because a node inside is skipped is traced back
through them to that node (`origin`), so that the scheduler skips what depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from openskelo.kernel import definition
from openskelo.structs import frozen, replace
from openskelo.values.schema import compatibility
from openskelo.workflows.blocks import block, expression_scope, gates, handlers, ports, topology
from openskelo.workflows.text import problems

PASS = "builtin:pass"  # noqa: S105 - a handler's name


@frozen
class Inner:
    """A loaded sub-workflow: its definition, and its outputs as ports."""

    workflow: definition.Workflow
    outputs: tuple[definition.Port, ...]
    #: Outputs that are missing only when the block that sets them is skipped.
    skipping: frozenset[str] = frozenset()
    #: Outputs that are lists with null for each failed item of a foreach.
    with_failed_items: frozenset[str] = frozenset()


def entry(key: str) -> str:
    """Return the key of the entry node of a sub-workflow."""
    return f"{key}/inputs"


def adopt_used_workflow(
    draft: block.Draft, inner: Inner | None, *, commands: bool, folders: handlers.Folders | None
) -> block.Draft:
    """Return the block with its gates and the ports of the file it uses, checked against those it declares."""
    if inner is None:
        return replace(draft, is_unreadable=True)
    inputs = _ports(draft, "inputs", draft.node.inputs, inner.workflow.inputs)
    outputs = _ports(draft, "outputs", draft.node.outputs, inner.outputs)
    with_default = {port.name for port in inputs if port.has_default}
    always_set = {
        name for name, source in inner.workflow.outputs.items() if not source.node and source.port in with_default
    }
    outputs = tuple(replace(port, required=True) if port.name in always_set else port for port in outputs)
    node = replace(draft.node, handler=PASS, inputs=inputs, outputs=outputs)
    block.check_condition(draft.at("when"), node.inputs)
    pre, post = draft.at("pre_gates"), draft.at("post_gates")
    node_with_gates = gates.read_both(node, pre, post, commands=commands, folders=folders)
    once = any(definition.is_once(part) for part in inner.workflow.nodes.values())
    inputs_by_name = ports.by_name(node.inputs)
    return replace(
        draft,
        node=node_with_gates,
        inputs=inputs_by_name,
        outputs=ports.by_name(node.outputs),
        once=once,
        links={name: link for name, link in draft.links.items() if name in inputs_by_name},
        skipping=inner.skipping,
        with_failed_items=inner.with_failed_items,
    )


def _ports(
    draft: block.Draft, side: str, declared: tuple[definition.Port, ...], inner: tuple[definition.Port, ...]
) -> tuple[definition.Port, ...]:
    inner_by_name = ports.by_name(inner)
    section = draft.at(side)
    condition = None if side == "outputs" else draft.at("when")
    read = expression_scope.inputs_read(str(condition.value)) if condition is not None else frozenset[str]()
    ports_by_name: dict[str, definition.Port] = {}
    for port in declared:
        spot = draft.place.at(side, None if section is None else section.value).at(port.name, None)
        match = inner_by_name.get(port.name)
        if match is None and port.name in read:
            ports_by_name[port.name] = port
        elif match is None:
            hint = problems.did_you_mean(
                port.name, inner_by_name, otherwise=f"its {side}: {', '.join(inner_by_name) or 'none'}"
            )
            spot.key_problem("UNKNOWN_PORT", f"the used workflow has no {side[:-1]} {port.name!r}", hint=hint)
        elif port.name in draft.untyped[side]:
            ports_by_name[port.name] = _own_default(match, port)
        else:
            source, target = (port, match) if side == "inputs" else (match, port)
            conflict = compatibility.find_conflict(source.schema, target.schema)
            if conflict is not None:
                spot.problem("TYPE_MISMATCH", f"this does not fit the used workflow's {port.name!r}: {conflict}")
            ports_by_name[port.name] = _own_default(match, port) if side == "inputs" else match
    if side == "outputs" and declared:
        return tuple(ports_by_name.values())
    own_ports = (port for name, port in ports_by_name.items() if name not in inner_by_name)
    return (*(ports_by_name.get(port.name, port) for port in inner), *own_ports)


def _own_default(match: definition.Port, port: definition.Port) -> definition.Port:
    if not port.has_default:
        return match
    return replace(match, has_default=True, default=port.default, required=False)


def certain(port: definition.Port) -> definition.Port:
    """Return the port of an output that passes an input on: with a default it always has a value."""
    if port.has_default:
        return replace(port, required=True, has_default=False, default=None)
    return port


def origin(nodes: Mapping[str, definition.Node], binding: definition.Binding) -> str:
    """Return the key of the node that a value comes from, through entries and exits that only pass it on."""
    key, name = binding.node, binding.port
    while key and nodes[key].work.is_subworkflow:
        through = nodes[key]
        before = through.bindings.get(name)
        if before is None or not before.node or any(port.name == name and port.has_default for port in through.inputs):
            break
        key, name = before.node, before.port
    return key


def expand(nodes: Mapping[str, definition.Node], inner: Mapping[str, Inner]) -> dict[str, definition.Node]:
    """Return all nodes, with every block that uses another file replaced by the nodes of that file."""
    if not inner:
        return dict(nodes)
    expanded_nodes: dict[str, definition.Node] = {}
    for key, node in nodes.items():
        node = _route_to_entries(node, inner)  # noqa: PLW2901 - the same node, with its bounces rerouted
        if key in inner:
            for part in _inline(node, inner[key]):
                expanded_nodes[part.key] = part
        else:
            expanded_nodes[key] = node
    return _trace_origins(
        expanded_nodes, topology.find_skippable(_trace_origins(expanded_nodes, frozenset(expanded_nodes)))
    )


def _trace_origins(nodes: Mapping[str, definition.Node], skippable: Set[str]) -> dict[str, definition.Node]:
    """Return the nodes with the origin of each value that passes through entries or exits and may be skipped.

    The exit of a sub-workflow passes on the values that exist, and requires none that may be skipped.
    """
    traced_nodes: dict[str, definition.Node] = {}
    for key, node in nodes.items():
        bindings: dict[str, definition.Binding] = {}
        missing: set[str] = set()
        for name, binding in node.bindings.items():
            source = origin(nodes, binding)
            if source in skippable:
                missing.add(name)
            beyond = source if source != binding.node and source in skippable else ""
            bindings[name] = binding if binding.origin == beyond else replace(binding, origin=beyond)
        traced_nodes[key] = replace(node, bindings=bindings)
        if entry(key) in nodes:
            optional = tuple(
                replace(port, required=port.required and port.name not in missing) for port in node.outputs
            )
            traced_nodes[key] = replace(traced_nodes[key], inputs=optional, outputs=optional)
    return traced_nodes


def _inline(node: definition.Node, inner: Inner) -> list[definition.Node]:
    first = entry(node.key)
    entry_node = replace(
        node,
        key=first,
        label="",
        outputs=node.inputs,
        post_gates=(),
        post_composition="all",
        bounces=tuple(bounce for bounce in node.bounces if _belongs(bounce, node.pre_gates)),
        metadata={},
    )
    body = [_move_node(part, node.key) for part in inner.workflow.nodes.values()]
    body_sources = {source for part in body for source in topology.sources_of(part)}
    last = tuple(part.key for part in body if part.key not in body_sources)
    bindings = {
        port.name: _move_binding(inner.workflow.outputs[port.name], node.key)
        for port in node.outputs
        if port.name in inner.workflow.outputs
    }
    exit_node = replace(
        node,
        inputs=node.outputs,
        bindings=bindings,
        after=last,
        when=None,
        pre_gates=(),
        pre_composition="all",
        bounces=tuple(bounce for bounce in node.bounces if _belongs(bounce, node.post_gates)),
    )
    return [entry_node, *body, exit_node]


def _belongs(bounce: definition.Bounce, gates: tuple[definition.Gate, ...]) -> bool:
    return any(gate.name == bounce.when_gate for gate in gates)


def _move_node(node: definition.Node, outer: str) -> definition.Node:
    bindings = {port: _move_binding(binding, outer) for port, binding in node.bindings.items()}
    after = tuple(f"{outer}/{key}" for key in node.after)
    if not bindings and not after:
        after = (entry(outer),)
    approval = node.approval
    if approval is not None and approval.bounce is not None:
        approval = replace(approval, bounce=_move_bounce(approval.bounce, outer))
    inside = ""
    if node.inside:
        inside = f"{outer}/{node.inside}"
    elif expression_scope.reads_run_inputs(node):
        inside = entry(outer)
    return replace(
        node,
        key=f"{outer}/{node.key}",
        bindings=bindings,
        after=after,
        inside=inside,
        bounces=tuple(_move_bounce(bounce, outer) for bounce in node.bounces),
        approval=approval,
    )


def _move_binding(binding: definition.Binding, outer: str) -> definition.Binding:
    return replace(binding, node=f"{outer}/{binding.node}" if binding.node else entry(outer))


def _move_bounce(bounce: definition.Bounce, outer: str) -> definition.Bounce:
    return replace(bounce, route_to=f"{outer}/{bounce.route_to}", reset=())


def _route_to_entries(node: definition.Node, inner: Mapping[str, Inner]) -> definition.Node:
    """Return the node with bounces to a sub-workflow leading to its entry."""
    bounces = tuple(_to_entry(bounce, inner) for bounce in node.bounces)
    approval = node.approval
    if approval is not None and approval.bounce is not None:
        approval = replace(approval, bounce=_to_entry(approval.bounce, inner))
    return replace(node, bounces=bounces, approval=approval)


def _to_entry(bounce: definition.Bounce, inner: Mapping[str, Inner]) -> definition.Bounce:
    if bounce.route_to in inner:
        return replace(bounce, route_to=entry(bounce.route_to))
    return bounce
