"""Edges: which output feeds which input. From the list `edges` and from `from` on ports, checked by name and type.

Both forms become `Edge` values first, and then bindings. An input has one source; a required input without one becomes
an input of the run. Types are compared by `compatibility.find_conflict`, which reports only certain conflicts.

Bounces are the edges back: where a failed gate (`on_gate_fail`) or a denial (`on_deny`) sends the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.structs import frozen, replace
from openskelo.values.schema import compatibility, composition
from openskelo.workflows.blocks import approvals, block, expression_scope, ports, topology
from openskelo.workflows.text import cursor, problems

_KEYS = frozenset({"from", "output", "to", "input", "transform"})
#: How many names of ports a hint lists.
_MAX_LISTED = 20


@frozen
class Reference:
    """`block.port`, or `inputs.NAME` with an empty block."""

    node: str
    port: str
    #: The position of the text.
    place: cursor.Cursor
    port_place: cursor.Cursor


@frozen
class Edge:
    """One edge as written."""

    source: Reference
    #: The target.
    node: str
    #: The input of the target.
    port: str
    transform: cursor.Cursor | None
    place: cursor.Cursor


Drafts = Mapping[str, block.Draft]
Bindings = Mapping[str, dict[str, definition.Binding]]


def wire(drafts: Drafts, listed: cursor.Cursor | None, inputs: ports.Inputs) -> Bindings:
    """Return the bindings of every block; required ports without a source become inputs of the run."""
    bindings: dict[str, dict[str, definition.Binding]] = {key: {} for key in drafts}
    for edge in (*_edges_of_ports(drafts), *_edges_of_list(drafts, listed)):
        if edge.port in bindings[edge.node]:
            hint = "a port has one source; merge the values in a block before it"
            edge.place.problem("TWO_EDGES", f"two edges lead into {edge.node}.{edge.port}", hint=hint)
            continue
        binding = _bind(drafts, edge, inputs)
        if binding is not None:
            bindings[edge.node][edge.port] = binding
    for key, draft in drafts.items():
        _bind_to_run_inputs(draft, bindings[key], inputs)
    return bindings


def parse(place: cursor.Cursor) -> Reference | None:
    """Parse `block.port` or `inputs.NAME`; return None after a Problem."""
    text = place.text(blank=False)
    if text is None:
        return None
    node, dot, port = text.strip().partition(".")
    if not dot or not node or not port:
        hint = "write block.port, or inputs.NAME"
        place.problem("REFERENCE_INVALID", f"{text[:80]!r} does not name a port", hint=hint)
        return None
    return Reference(node="" if node == "inputs" else node, port=port, place=place, port_place=place)


def source_port(drafts: Drafts, source: Reference) -> definition.Port | None:
    """Return the output port that `source` names, as later blocks see it; None after a Problem."""
    draft = drafts.get(source.node)
    if draft is None:
        hint = problems.did_you_mean(source.node, drafts)
        source.place.problem("UNKNOWN_BLOCK", f"there is no block {source.node[:80]!r}", hint=hint)
        return None
    if draft.is_unreadable:
        return None
    port = draft.outputs.get(source.port)
    if port is None:
        output_list = _list_names("outputs", draft.outputs) or f"{source.node} declares no outputs"
        hint = problems.did_you_mean(source.port, draft.outputs, otherwise=output_list)
        source.port_place.problem("UNKNOWN_PORT", f"{source.node} has no output {source.port[:80]!r}", hint=hint)
        return None
    return visible(draft, port)


def visible(draft: block.Draft, port: definition.Port) -> definition.Port:
    """Return an output port as later blocks see it: that of a foreach is a list with the result of each item, or null.

    The list of failed items is a list already.
    """
    if draft.node.foreach is None or port is block.FAILED_ITEMS:
        return port
    results = composition.array_of(port.schema, or_null=_may_be_null(draft, port))
    return definition.Port(name=port.name, schema=results, description=port.description)


def has_failed_items(draft: block.Draft, output: str) -> bool:
    """True if an output is a list that is null for each failed item, here or in the file that the block uses."""
    keeps_failures = draft.node.keeps_failed_items and draft.outputs[output] is not block.FAILED_ITEMS
    return keeps_failures or output in draft.with_failed_items


def _may_be_null(draft: block.Draft, port: definition.Port) -> bool:
    """True if the list of a foreach may hold null for an item without this output, or for a failed one."""
    return draft.node.keeps_failed_items or not (port.required or port.has_default)


def _list_names(side: str, ports: Mapping[str, definition.Port]) -> str | None:
    """Return a hint with the first names of a block's ports; None if it has none."""
    more = ", …" if len(ports) > _MAX_LISTED else ""
    if ports:
        return f"its {side}: {', '.join(islice(ports, _MAX_LISTED))}{more}"
    return None


def _edges_of_ports(drafts: Drafts) -> list[Edge]:
    edges: list[Edge] = []
    for key, draft in drafts.items():
        for port, link in draft.links.items():
            source = parse(link.source)
            if source is not None:
                edges.append(Edge(source=source, node=key, port=port, transform=link.transform, place=link.source))
    return edges


def _edges_of_list(drafts: Drafts, listed: cursor.Cursor | None) -> list[Edge]:
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
    """Read one end of a listed edge: two keys, or `block.port` under one."""
    node_field, port_field = fields.need(node_key), fields.get(port_key)
    if node_field is None:
        return None
    if port_field is None:
        if isinstance(node_field.value, str) and "." not in node_field.value:
            fields.missing(port_key)
            return None
        return parse(node_field)
    node, port = node_field.text(blank=False), port_field.text(blank=False)
    if node is None or port is None:
        return None
    if "." in node:
        port_field.key_problem("CONFLICT", f"`{node_key}` names a port already")
        return None
    return Reference(node="" if node == "inputs" else node, port=port, place=node_field, port_place=port_field)


def _is_input(drafts: Drafts, target: Reference) -> bool:
    draft = drafts.get(target.node)
    if draft is None:
        owner = target.node or "inputs"
        hint = problems.did_you_mean(owner, drafts)
        target.place.problem("UNKNOWN_BLOCK", f"there is no block {owner[:80]!r}", hint=hint)
        return False
    if draft.is_unreadable:
        return False
    if target.port not in draft.inputs:
        hint = problems.did_you_mean(target.port, draft.inputs, otherwise=_list_names("inputs", draft.inputs))
        target.port_place.problem("UNKNOWN_PORT", f"{target.node} has no input {target.port[:80]!r}", hint=hint)
        return False
    return True


def _bind(drafts: Drafts, edge: Edge, inputs: ports.Inputs) -> definition.Binding | None:
    node = drafts[edge.node].node
    target = drafts[edge.node].inputs[edge.port]
    if node.foreach is not None and node.foreach.name == edge.port:
        edge.place.problem("CONFLICT", f"{edge.port!r} is the item of the foreach already")
        return None
    if edge.source.node:
        source = source_port(drafts, edge.source)
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
    schema: JsonObject | None = source.schema
    if edge.transform is not None:
        schema = expression_scope.check_expression(edge.transform, {"value": source.schema})
    elif {source.kind, target.kind} == {"file", "artifact"}:
        edge.place.problem("TYPE_MISMATCH", f"a {source.kind} cannot be the {target.kind} {edge.node}.{edge.port}")
    if schema is None:
        return
    conflict = None if schema == target.schema else compatibility.find_conflict(schema, target.schema)
    if conflict is not None:
        place = edge.transform or edge.place
        name = f"{edge.source.node or 'inputs'}.{edge.source.port}"
        hint = "a `transform` can change it" if edge.transform is None else None
        place.problem("TYPE_MISMATCH", f"{name} does not fit {edge.node}.{edge.port}: {conflict}", hint=hint)


def _check_presence(drafts: Drafts, edge: Edge, source: definition.Port, target: definition.Port) -> None:
    """Warn if a required input may get no value although the block before it was not skipped."""
    node, port = edge.source.node, edge.source.port
    if not node:
        return
    if has_failed_items(drafts[node], port):
        _check_failed_items(edge, target)
    if drafts[node].node.foreach is not None:
        _check_gaps(drafts[node], edge, target)
        return
    approval = drafts[node].node.approval if drafts[node].node.work.asks_person else None
    is_answered = approval is not None and approvals.is_answered(approval, port)
    always_set = source.required or source.has_default or is_answered
    if always_set or port in drafts[node].skipping or not target.required or target.has_default:
        return
    hint = f"make {edge.node}.{edge.port} optional, or give it a default"
    edge.place.warn("MAY_BE_MISSING", f"{node}.{port} is optional", hint=hint)


def _check_failed_items(edge: Edge, target: definition.Port) -> None:
    """Report a list with null for each failed item where the target does not accept null."""
    if _accepts_null(edge, target):
        return
    name, target_name = f"{edge.source.node}.{edge.source.port}", f"{edge.node}.{edge.port}"
    message = f"{name} is null in the list for a failed item, and {target_name} does not accept null"
    hint = f"let items of {target_name} be null, or leave them out: `transform: value.filter(v, v != null)`"
    edge.place.problem("TYPE_MISMATCH", message, hint=hint)


def _check_gaps(draft: block.Draft, edge: Edge, target: definition.Port) -> None:
    """Warn if a foreach may put null into a list whose target does not accept null as an item.

    A foreach collects one output of its items into a list. An optional output that an item leaves out is null there.
    """
    port = draft.outputs[edge.source.port]
    if draft.node.keeps_failed_items or not _may_be_null(draft, port) or _accepts_null(edge, target):
        return
    message = f"{draft.node.key}.{port.name} is optional, and null in the list for an item without it"
    edge.place.warn("MAY_BE_MISSING", message, hint=f"let items of {edge.node}.{edge.port} be null")


def _accepts_null(edge: Edge, target: definition.Port) -> bool:
    """True unless null as an item of the list is certainly refused by the target; a transform may leave it out."""
    items = target.schema.get("items")
    if edge.transform is not None or not isinstance(items, Mapping):
        return True
    return compatibility.find_conflict({"type": "null"}, items) is None


def _bind_to_run_inputs(draft: block.Draft, bound: dict[str, definition.Binding], inputs: ports.Inputs) -> None:
    """Bind required ports without a source to inputs of the run that have their names."""
    for port in draft.node.inputs:
        item = draft.node.foreach is not None and draft.node.foreach.name == port.name
        if port.name in bound or item or port.has_default:
            continue
        if port.name in draft.links:  # it has a `from`, whose mistake is reported
            inputs.use(port.name)
            continue
        place = draft.place.at("inputs", None).at(port.name, None)
        if not port.required:
            _warn_without_source(draft.node, port, place)
        elif inputs.unbound(port, place) is not None:
            bound[port.name] = definition.Binding(port=port.name)


def _warn_without_source(node: definition.Node, port: definition.Port, place: cursor.Cursor) -> None:
    """Warn about a port that never has a value, unless a person may set it or it belongs to a used file."""
    if not node.work.is_subworkflow and node.approval is None:
        hint = f"write `from: inputs.{port.name}` on it, or give it a default"
        place.warn("PORT_UNFED", f"the optional input {port.name!r} has no source, so it never has a value", hint=hint)


# -- bounces ----------------------------------------------------------------------------------------------------------


#: How many keys all resets of a file may have together; more would fill memory.
_MAX_RESETS = 2_000_000
_BOUNCE_KEYS = frozenset({"when_gate", "route_to", "max_bounces", "feedback", "reason"})


@frozen
class Reach:
    """The blocks directly before and after each block."""

    sources: Mapping[str, Sequence[str]]
    followers: Mapping[str, Sequence[str]]

    @staticmethod
    def of(sources: topology.Sources) -> Reach:
        return Reach(sources=sources, followers=topology.successors(sources))


def read_bounces(drafts: Drafts, reach: Reach) -> dict[str, definition.Node]:
    """Return every block with its bounces; `fill_bounces` adds the nodes that they reset."""
    nodes: dict[str, definition.Node] = {}
    bouncing = sum(_may_bounce(draft) for draft in drafts.values())
    if bouncing * len(drafts) > _MAX_RESETS:
        first = next(iter(drafts.values())).place
        first.problem("TOO_MANY_ROUTES", f"{bouncing} of {len(drafts)} blocks have bounces", hint="use fewer of them")
        return {key: draft.node for key, draft in drafts.items()}
    for key, draft in drafts.items():
        node = draft.node
        rules = None if draft.is_unreadable else draft.at("on_gate_fail")
        if rules is not None:
            node = replace(node, bounces=_rules(rules, node, drafts, reach))
        if (
            draft.approval_draft is not None
            and draft.approval_draft.deny_route is not None
            and node.approval is not None
        ):
            node = replace(node, approval=_denial(draft, node.approval, drafts, reach))
        nodes[key] = node
    return nodes


def _may_bounce(draft: block.Draft) -> bool:
    return draft.at("on_gate_fail") is not None or (
        draft.approval_draft is not None and draft.approval_draft.deny_route is not None
    )


def fill_bounces(nodes: Mapping[str, definition.Node], report: cursor.Cursor) -> dict[str, definition.Node]:
    """Return every node with complete bounces: which nodes are reset, and which get the reason as feedback."""
    if not any(node.bounces or (node.approval and node.approval.bounce) for node in nodes.values()):
        return dict(nodes)
    followers = topology.successors({key: topology.sources_of(node) for key, node in nodes.items()})
    resets: dict[str, tuple[str, ...]] = {}
    size = 0

    def reset(bounce: definition.Bounce) -> definition.Bounce:
        nonlocal size
        if bounce.route_to not in resets and size <= _MAX_RESETS:
            reachable_keys = topology.reach((bounce.route_to,), followers)
            resets[bounce.route_to] = tuple(key for key in nodes if key in reachable_keys)
        keys = resets.get(bounce.route_to, ())
        size += len(keys)
        return replace(bounce, reset=keys, told=_told(bounce.route_to, nodes, followers))

    filled_nodes: dict[str, definition.Node] = {}
    for key, node in nodes.items():
        bounces = tuple(reset(bounce) for bounce in node.bounces)
        approval = node.approval
        if approval is not None and approval.bounce is not None:
            approval = replace(approval, bounce=reset(approval.bounce))
        filled_nodes[key] = (
            replace(node, bounces=bounces, approval=approval) if bounces or approval is not None else node
        )
    if size > _MAX_RESETS:
        report.problem("TOO_MANY_ROUTES", "the bounces of this file reset too many blocks", hint="use fewer of them")
    return filled_nodes


def _told(target: str, nodes: Mapping[str, definition.Node], followers: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the first blocks of the sub-workflow that is entered at `target`; none when that is a block itself."""
    if not nodes[target].work.is_subworkflow:
        return ()
    inside = target.rpartition("/")[0] + "/"
    entered_keys = {target}
    todo = [target]
    for key in todo:  # grows while it is walked
        for follower in followers[key]:
            # The exit of a sub-workflow does no work either, and what follows it is outside the sub-workflow.
            if follower.startswith(inside) and follower not in entered_keys:
                entered_keys.add(follower)
                todo += [follower] if nodes[follower].work.is_subworkflow else []
    return tuple(key for key in nodes if key in entered_keys and not nodes[key].work.is_subworkflow)


def _rules(
    section: cursor.Cursor, node: definition.Node, drafts: Drafts, reach: Reach
) -> tuple[definition.Bounce, ...]:
    bounces: list[definition.Bounce] = []
    for entry in section.items() or []:
        fields = entry.fields(_BOUNCE_KEYS)
        if fields is None:
            continue
        fields.text("reason")
        gate = _gate(fields, node)
        target = fields.need("route_to")
        if "max_bounces" not in fields:
            fields.missing("max_bounces", hint="every loop has a bound")
        most = fields.integer("max_bounces", 1, 1, 20)
        feedback = fields.flag("feedback", default=True)
        if target is None or gate is None or not _is_before(target, node, drafts, reach):
            continue
        is_post_gate = any(post_gate.name == gate for post_gate in node.post_gates)
        _check_once(target, node, drafts, reach, worked=is_post_gate)
        bounces.append(
            definition.Bounce(when_gate=gate, route_to=str(target.value), max_bounces=most, feedback=feedback)
        )
    return tuple(bounces)


def _gate(fields: cursor.Fields, node: definition.Node) -> str | None:
    place = fields.need("when_gate")
    name = None if place is None else place.text(blank=False)
    if place is None or name is None:
        return None
    gate_names = [gate.name for gate in (*node.pre_gates, *node.post_gates)]
    if name not in gate_names:
        hint = problems.did_you_mean(name, gate_names, otherwise=f"its gates: {', '.join(gate_names) or 'none'}")
        place.problem("UNKNOWN_GATE", f"{node.key} has no gate {name[:80]!r}", hint=hint)
        return None
    return name


def _is_before(target: cursor.Cursor, node: definition.Node, drafts: Drafts, reach: Reach) -> bool:
    name = target.text(blank=False)
    if name is None:
        return False
    if name not in drafts:
        hint = problems.did_you_mean(name, drafts)
        target.problem("UNKNOWN_BLOCK", f"there is no block {name[:80]!r}", hint=hint)
        return False
    if name not in topology.reach((node.key,), reach.sources):
        hint = "a bounce leads to the block itself or to one it depends on"
        target.problem("ROUTE_FORWARD", f"{name} does not come before {node.key}", hint=hint)
        return False
    return True


def _check_once(target: cursor.Cursor, node: definition.Node, drafts: Drafts, reach: Reach, *, worked: bool) -> None:
    """Report a bounce that repeats a block whose effect happens once and may have happened already."""
    again = topology.reach((str(target.value),), reach.followers)
    later = topology.reach((node.key,), reach.followers) - {node.key}
    for key in drafts:
        if key not in again or key in later or (key == node.key and not worked):
            continue
        if drafts[key].once:
            hint = f"write `repeatable: true` on {key} if it may happen again"
            target.problem("BOUNCE_OVER_ONCE", f"this bounce repeats {key}, whose effect happens once", hint=hint)


def _denial(draft: block.Draft, approval: definition.Approval, drafts: Drafts, reach: Reach) -> definition.Approval:
    route = draft.approval_draft.deny_route if draft.approval_draft is not None else None
    if route is None or not _is_before(route.route_to, draft.node, drafts, reach):
        return replace(approval, on_deny="end")
    _check_once(route.route_to, draft.node, drafts, reach, worked=False)
    bounce = definition.Bounce(when_gate="approval", route_to=str(route.route_to.value), max_bounces=route.max_bounces)
    return replace(approval, bounce=bounce)
