"""Whether the facts of a live graph can have happened to it: what they tie, change or take away has to be there."""

from __future__ import annotations

from typing import assert_never

from openskelo.errors import Refused
from openskelo.kernel import codec, graph_events, inbox
from openskelo.kernel.flows import graph
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import Run


def refusal(of: Run, event: graph_events.GraphEvent) -> str | None:
    """Why the fact is impossible, or None."""
    live = of.live
    if live is None:
        return "the run is no live graph"
    match event:
        case graph_events.NodeAdded():
            known = event.node in of.nodes or event.node in live.gone
            return f"{event.node} was there already" if known else _definition(event.node, event.definition)
        case graph_events.NodeChanged():
            if event.node not in of.nodes or of.nodes[event.node].status not in ("waiting", "done"):
                return f"{event.node} is not there, or in a turn"
            same = event.definition.get("mode") == of.workflow.nodes[event.node].mode
            return _definition(event.node, event.definition) if same else f"{event.node} becomes something else"
        case graph_events.NodeRemoved():
            return _removal(of, live, event.node)
        case graph_events.EdgeAdded():
            tied = event.source in of.nodes and event.target in of.nodes and event.source != event.target
            return None if tied and event.edge not in live.channels else f"edge {event.edge} cannot be added"
        case graph_events.EdgeRemoved():
            return None if event.edge in live.channels else f"there is no edge {event.edge}"
        case graph_events.MessageReceived():
            return None if event.node in of.nodes else f"there is no node {event.node!r}"
        case graph_events.HandoffSent():
            return _handoff(of, live, event)
        case _:
            assert_never(event)


def _definition(key: str, definition: JsonObject) -> str | None:
    node = codec.decode_node(definition)
    try:
        graph.admit(node)
    except Refused as refused:
        return refused.message
    return None if node.key == key else f"the definition of {key} is that of {node.key}"


def _removal(of: Run, live: inbox.Live, key: str) -> str | None:
    if key not in of.nodes:
        return f"there is no node {key!r}"
    asked = any(question.node == key for question in of.approvals.values())
    busy = (key, of.nodes[key].visit, 0) in of.in_flight or asked or live.touching[key]
    return f"{key} is removed before what it does and what it is tied to" if busy else None


def _handoff(of: Run, live: inbox.Live, event: graph_events.HandoffSent) -> str | None:
    channel, node = live.channels.get(event.edge), of.nodes.get(event.node)
    if channel is None or node is None or live.inboxes[event.node].said is None:
        return f"{event.node} has nothing to hand over along {event.edge}"
    ways = {(channel.source, channel.target), (channel.target, channel.source)}
    back_closed = channel.source != event.node and not channel.bidirectional
    if (event.node, event.to) not in ways or back_closed:
        return f"edge {event.edge} does not lead from {event.node} to {event.to}"
    return None if event.turn in (node.visit, node.visit - 1) else f"{event.node} is not in turn {event.turn}"
