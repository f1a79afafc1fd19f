"""Who takes a turn: the scheduler of live graphs, in which a node that is idle works on what has come into its inbox.

A turn reads the whole inbox. What it says goes along the edges that leave its node, and back along an edge by which
something came only when the answer says so: no edge carries an answer by itself to what came along it.

Here it is ruled; `turns` applies what was ruled.
"""

from __future__ import annotations

from typing import Literal, assert_never, cast

from openskelo.errors import Refused
from openskelo.kernel import (
    codec,
    commands,
    definition,
    events,
    graph_events,
    ids,
    inbox,
    outcome,
    questions,
    record,
)
from openskelo.kernel.flows import turns
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import InFlight, NodeState, Run, is_busy

#: So large may a live graph become, and so much may people leave for a node before it has read it.
MOST_NODES = 1000
MOST_EDGES = 5000
MOST_LETTERS = 1000


def decide(run: Run, command: commands.GraphCommand, meter: record.Meter) -> tuple[events.Event, ...]:
    """The facts that an order to a live graph makes true, or Refused; `meter` knows what a stopped turn has used."""
    live = run.live
    if live is None:
        raise Refused("the run is not a live graph", code="RUN_NOT_LIVE", hint="its workflow says what it consists of")
    match command:
        case commands.AddNode():
            return (_added(run, live, command),)
        case commands.ChangeNode():
            return (_changed(run, command),)
        case commands.RemoveNode():
            return _removed(run, live, command, meter)
        case commands.AddEdge():
            return (_tied(run, live, command),)
        case commands.RemoveEdge():
            if command.id not in live.channels:
                raise Refused(f"there is no edge {command.id}", code="EDGE_UNKNOWN")
            return (graph_events.EdgeRemoved(at=command.at, edge=command.id, by=command.by),)
        case commands.SendMessage():
            return _said(run, live, command, meter)
        case commands.CompleteRun():
            if is_busy(run) or run.ready or run.resolving or run.backing_off or run.approvals:
                raise Refused("the run has turns to take or questions open", code="RUN_BUSY", hint="cancel ends it all")
            return (events.RunEnding(at=command.at, ending="ok", by=command.by),)
        case _:
            assert_never(command)


def _added(run: Run, live: inbox.Live, command: commands.AddNode) -> graph_events.NodeAdded:
    key = command.node.key
    if key in run.nodes or key in live.gone:
        raise Refused(f"there is, or was, a node {key} already", code="NODE_EXISTS", hint="choose another key")
    if len(run.nodes) >= MOST_NODES:
        raise Refused(f"a live graph has at most {MOST_NODES} nodes", code="GRAPH_FULL")
    admit(command.node)
    return graph_events.NodeAdded(at=command.at, node=key, definition=codec.encode_node(command.node), by=command.by)


def admit(node: definition.Node) -> None:
    """Refuse what has no meaning where nodes work in turns, so that `apply` can trust it."""
    approval = node.approval
    if node.turn is None or node.mode not in ("ai", "deterministic"):
        wrong = "a node of a live graph is a model or a handler, and works in turns"
    elif node.bindings or node.after or node.bounces or node.when is not None:
        wrong = "a node of a live graph waits for its inbox, and for nothing else"
    elif node.foreach is not None or node.cache or node.step is not None:
        wrong = "a turn is one piece of work, done anew each time"
    elif approval is not None and approval.on_deny != "end":
        wrong = "a turn that a person does not allow has failed"
    else:
        return
    raise Refused(f"{node.key}: {wrong}", code="NODE_INVALID")


def _known(run: Run, key: str) -> NodeState:
    node = run.nodes.get(key)
    if node is None:
        raise Refused(f"there is no node {key}", code="NODE_UNKNOWN")
    return node


def _changed(run: Run, command: commands.ChangeNode) -> graph_events.NodeChanged:
    key = command.node.key
    node = _known(run, key)
    if node.status not in ("waiting", "done"):
        raise Refused(f"{key} is in a turn", code="NODE_BUSY", hint="change it when the turn is over")
    admit(command.node)
    if command.node.mode != run.workflow.nodes[key].mode:
        raise Refused(f"{key} stays what it is, a model or a handler", code="NODE_INVALID", hint="add another node")
    return graph_events.NodeChanged(at=command.at, node=key, definition=codec.encode_node(command.node), by=command.by)


def _removed(run: Run, live: inbox.Live, command: commands.RemoveNode, meter: record.Meter) -> tuple[events.Event, ...]:
    key, at = command.node, command.at
    node = _known(run, key)
    flight = run.in_flight.get((key, node.visit, 0))
    asked = [question for question in run.approvals.values() if question.node == key]
    once = flight is not None and run.workflow.nodes[key].effect == "once"
    if once or any(question.kind == "uncertain" for question in asked):
        raise Refused(f"{key} has an effect under way or in doubt", code="NODE_BUSY", hint="wait, or answer first")
    facts: list[events.Event] = [] if flight is None else [_stop(run, flight, at, "removed", meter)]
    facts += [
        events.ApprovalWithdrawn(at=at, approval_id=one.id, node=key, visit=one.visit, reason="removed")
        for one in asked
    ]
    facts += [graph_events.EdgeRemoved(at=at, edge=edge, by=command.by) for edge in live.touching[key]]
    return (*facts, graph_events.NodeRemoved(at=at, node=key, by=command.by))


def _stop(
    run: Run, flight: InFlight, at: int, reason: Literal["interrupt", "removed"], meter: record.Meter
) -> events.AttemptCancelled:
    used = meter.used(flight)
    return events.AttemptCancelled(
        at=at,
        node=flight.node,
        visit=flight.visit,
        attempt=flight.attempt,
        reason=reason,
        receipt=record.cut(run, flight, at, "cancelled", used),
        spent=record.spent(used),
    )


def _tied(run: Run, live: inbox.Live, command: commands.AddEdge) -> graph_events.EdgeAdded:
    _known(run, command.source)
    _known(run, command.target)
    if command.source == command.target:
        raise Refused("an edge ties two nodes", code="EDGE_INVALID")
    if command.id in live.channels:
        raise Refused("there is such an edge already", code="EDGE_EXISTS", hint="remove it, or give another label")
    if len(live.channels) >= MOST_EDGES:
        raise Refused(f"a live graph has at most {MOST_EDGES} edges", code="GRAPH_FULL")
    return graph_events.EdgeAdded(
        at=command.at,
        edge=command.id,
        source=command.source,
        target=command.target,
        bidirectional=command.bidirectional,
        type=command.type,
        label=command.label,
        by=command.by,
    )


def _said(run: Run, live: inbox.Live, command: commands.SendMessage, meter: record.Meter) -> tuple[events.Event, ...]:
    """A message queues. One that interrupts also stops the turn, unless that has an effect that happens once."""
    key, at = command.node, command.at
    node = _known(run, key)
    if len(live.inboxes[key].letters) >= MOST_LETTERS:
        raise Refused(f"{key} has {MOST_LETTERS} messages to read", code="INBOX_FULL", hint="wait until it has")
    received = graph_events.MessageReceived(
        at=at,
        node=key,
        message_id=command.message_id,
        role=command.role,
        content=command.content,
        interrupt=command.interrupt,
        by=command.by,
    )
    if not command.interrupt:
        return (received,)
    flight = run.in_flight.get((key, node.visit, 0))
    if flight is not None and run.workflow.nodes[key].effect != "once":
        return (received, _stop(run, flight, at, "interrupt", meter))
    asked = next((one for one in run.approvals.values() if one.node == key and one.kind == "approval"), None)
    if asked is None:
        return (received,)
    return (
        received,
        events.ApprovalWithdrawn(at=at, approval_id=asked.id, node=key, visit=asked.visit, reason="interrupt"),
    )


def passed_on(run: Run, landed: events.AttemptSucceeded, report: commands.ReportAttempt) -> tuple[events.Event, ...]:
    """A turn that has come to its end, and where it is handed on; or the question whether it should be."""
    live = cast("inbox.Live", run.live)
    box = live.inboxes[landed.node]
    edges = _edges(live, landed.node, box, report.outcome.route)
    repeated = turns.repeated(box, landed)
    most = cast("definition.Turn", run.workflow.nodes[landed.node].turn).stall_after
    if not edges or not most or repeated[1] < most:
        return (landed, *_sent(run, landed.node, landed.visit, edges, landed.at))
    waiting: list[Json] = [*edges]
    evidence: JsonObject = {
        "repeats": repeated[1],
        "code": "SAME_OUTPUT",
        "message": f"{landed.node} says the same again and again",
        "outputHash": repeated[0],
        "edges": waiting,
    }
    stalled = events.RunStalled(at=landed.at, node=landed.node, visit=landed.visit, kind="output", evidence=evidence)
    return (stalled, landed, questions.about_repetition(run, stalled))


def onward(run: Run, landed: events.AttemptSucceeded) -> tuple[events.Event, ...]:
    """What a turn hands on of which a person has said that it was done."""
    live = cast("inbox.Live", run.live)
    edges = _edges(live, landed.node, live.inboxes[landed.node], "on")
    return _sent(run, landed.node, landed.visit, edges, landed.at)


def _edges(live: inbox.Live, key: str, box: inbox.Inbox, route: outcome.Route) -> list[str]:
    """The edges along which a turn goes: on, but not to where it came from; back only to where it came from."""
    came = {letter.edge for letter in box.turn() if letter.edge}
    found: list[str] = []
    for edge in live.touching[key]:
        channel = live.channels[edge]
        if edge in came:
            open_way = channel.source == key or channel.bidirectional
            wanted = open_way and route in ("back", "both")
        else:
            wanted = channel.source == key and route in ("on", "both")
        if wanted:
            found.append(edge)
    return found


def _sent(run: Run, key: str, turn: int, edges: list[str], at: int) -> tuple[graph_events.HandoffSent, ...]:
    live = cast("inbox.Live", run.live)
    channels = [live.channels[edge] for edge in edges if edge in live.channels]
    return tuple(
        graph_events.HandoffSent(
            at=at,
            node=key,
            turn=turn,
            handoff_id=ids.derive(channel.id, f"{key}/{turn}"),
            edge=channel.id,
            to=channel.target if channel.source == key else channel.source,
        )
        for channel in channels
    )


def released(run: Run, key: str, at: int) -> tuple[graph_events.HandoffSent, ...]:
    """What a held turn was to hand on, along the edges that are still there; nothing where no turn is held."""
    held = cast("inbox.Live", run.live).inboxes[key].held
    return () if held is None else _sent(run, key, run.nodes[key].visit, list(held), at)


def refusal(run: Run, node: NodeState, at: int) -> events.NodeFailed | None:
    """The failure of a node that would take one turn too many, or None."""
    most = cast("definition.Turn", run.workflow.nodes[node.key].turn).max_turns
    if node.visit <= most:
        return None
    error: JsonObject = {"code": "TURN_LIMIT", "message": f"{node.key} may take {most} turns, and no more"}
    return events.NodeFailed(at=at, node=node.key, visit=node.visit, error=error)
