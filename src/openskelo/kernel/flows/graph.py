"""The scheduler of live graphs: an idle node with unread messages takes a turn.

Nodes and edges are added and removed while the run goes on, and a person ends it. A turn reads the whole inbox of its
node. Its outputs are handed on along the edges that leave the node. Along an edge by which a message of this turn came,
they go back only if the outcome says so (`route`); so two nodes do not answer each other without end.

A node whose turns have equal outputs again and again, without a person asking, is held: a person decides whether its
outputs are handed on (`stall_after`).

It implements `scheduler.Scheduler`, decides on the commands that only a live graph takes (`decide`), and applies the
events that only a live graph has (`apply`).
"""

from __future__ import annotations

from typing import Literal, assert_never, cast

from openskelo.errors import Refused
from openskelo.kernel import (
    commands,
    definition,
    events,
    ids,
    outcome,
    receipts,
    system_approvals,
    workflow_codec,
)
from openskelo.kernel.flows import visits
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import (
    Attempt,
    Edge,
    GraphState,
    Inbox,
    InboxMessage,
    NodeState,
    OpenApproval,
    PastTurn,
    Run,
    is_busy,
)
from openskelo.structs import replace

#: The largest live graph, and the most messages that a node may have unread.
MAX_NODES = 1000
MAX_EDGES = 5000
MAX_UNREAD = 1000


def _state(run: Run) -> GraphState:
    return cast("GraphState", run.graph_state)  # every run of a live graph has one


def _turn_spec(run: Run, key: str) -> definition.Turn:
    return cast("definition.Turn", run.workflow.nodes[key].turn)  # every node of a live graph has one


# -- decide: the commands of a live graph -----------------------------------------------------------------------------


def decide(run: Run, command: commands.GraphCommand, meter: receipts.Meter) -> tuple[events.Event, ...]:
    """Return the events of a command to a live graph, or raise Refused; `meter` knows what a stopped turn has used."""
    state = run.graph_state
    if state is None:
        raise Refused(
            "the run is not a live graph",
            code="RUN_NOT_LIVE",
            hint="its nodes and edges come from its workflow: fork it with a changed file",
        )
    match command:
        case commands.AddNode():
            return (_add_node(run, state, command),)
        case commands.ChangeNode():
            return (_change_node(run, command),)
        case commands.RemoveNode():
            return _remove_node(run, state, command, meter)
        case commands.AddEdge():
            return (_add_edge(run, state, command),)
        case commands.RemoveEdge():
            if command.id not in state.edges:
                raise Refused(f"there is no edge {command.id}", code="EDGE_UNKNOWN")
            return (events.EdgeRemoved(at=command.at, edge=command.id, by=command.by),)
        case commands.SendMessage():
            return _receive_message(run, state, command, meter)
        case commands.ResetSession():
            _find_node(run, command.node)
            return (events.SessionReset(at=command.at, node=command.node, by=command.by),)
        case commands.RetryTurn():
            return _retry_turn(run, state, command, meter)
        case commands.CompleteRun():
            if is_busy(run) or run.ready or run.resolving or run.backing_off or run.approvals:
                raise Refused("the run has turns to take or questions open", code="RUN_BUSY", hint="cancel ends it all")
            return (events.RunEnding(at=command.at, ending="ok", by=command.by),)
        case _:
            assert_never(command)


def _add_node(run: Run, state: GraphState, command: commands.AddNode) -> events.NodeAdded:
    key = command.node.key
    if key in run.nodes or key in state.removed:
        raise Refused(f"a node has, or had, the key {key}", code="NODE_EXISTS", hint="choose another key")
    if len(run.nodes) >= MAX_NODES:
        raise Refused(f"a live graph has at most {MAX_NODES} nodes", code="GRAPH_FULL", hint="start another run")
    check_node(command.node)
    return events.NodeAdded(at=command.at, node=key, definition=workflow_codec.encode_node(command.node), by=command.by)


def check_node(node: definition.Node) -> None:
    """Raise Refused NODE_INVALID for a node with fields that have no meaning in a live graph."""
    approval = node.approval
    if node.turn is None or not node.work.is_performed:
        wrong = "a node of a live graph is a model, a handler or an agent, and works in turns"
    elif node.bindings or node.after or node.bounces or node.when is not None:
        wrong = "a node of a live graph waits for its inbox, and for nothing else"
    elif node.foreach is not None or node.cache or node.step is not None:
        wrong = "a turn is one piece of work, done anew each time"
    elif approval is not None and approval.on_deny != "end":
        wrong = "a turn that a person does not allow has failed"
    else:
        return
    raise Refused(f"{node.key}: {wrong}", code="NODE_INVALID")


def _find_node(run: Run, key: str) -> NodeState:
    node = run.nodes.get(key)
    if node is None:
        raise Refused(f"there is no node {key}", code="NODE_UNKNOWN")
    return node


def _change_node(run: Run, command: commands.ChangeNode) -> events.NodeChanged:
    key = command.node.key
    node = _find_node(run, key)
    if node.status not in ("waiting", "done"):
        raise Refused(f"{key} is in a turn", code="NODE_BUSY", hint="change it when the turn is over")
    check_node(command.node)
    if command.node.mode != run.workflow.nodes[key].mode:
        raise Refused(
            f"{key} cannot change between model, handler and agent", code="NODE_INVALID", hint="add another node"
        )
    return events.NodeChanged(
        at=command.at, node=key, definition=workflow_codec.encode_node(command.node), by=command.by
    )


def _remove_node(
    run: Run, state: GraphState, command: commands.RemoveNode, meter: receipts.Meter
) -> tuple[events.Event, ...]:
    """Return the events that stop the node's turn, withdraw its questions and remove its edges, then the node."""
    key, at = command.node, command.at
    node = _find_node(run, key)
    attempt = run.in_flight.get((key, node.visit, 0))
    approvals = [approval for approval in run.approvals.values() if approval.node == key]
    acts_once = attempt is not None and run.workflow.nodes[key].effect == "once"
    if acts_once or any(approval.kind == "uncertain" for approval in approvals):
        raise Refused(
            f"{key} has an effect under way or in doubt", code="NODE_BUSY", hint="wait, or answer the question first"
        )
    stop_events = [] if attempt is None else [_stop(run, attempt, at, "removed", meter)]
    withdrawn = [_withdraw(approval, at, "removed") for approval in approvals]
    edges = [events.EdgeRemoved(at=at, edge=edge, by=command.by) for edge in state.edges_of[key]]
    return (*stop_events, *withdrawn, *edges, events.NodeRemoved(at=at, node=key, by=command.by))


def _stop(
    run: Run, attempt: Attempt, at: int, reason: Literal["interrupt", "removed"], meter: receipts.Meter
) -> events.AttemptCancelled:
    usage = meter.used(attempt)
    return events.AttemptCancelled(
        at=at,
        node=attempt.node,
        visit=attempt.visit,
        attempt=attempt.attempt,
        reason=reason,
        receipt=receipts.build_stopped(run, attempt, at, "cancelled", usage),
        spent=receipts.spent(usage),
        said=meter.said(attempt),
    )


def _withdraw(
    approval: OpenApproval, at: int, reason: Literal["interrupt", "removed", "over"]
) -> events.ApprovalWithdrawn:
    return events.ApprovalWithdrawn(
        at=at, approval_id=approval.id, node=approval.node, visit=approval.visit, reason=reason
    )


def _add_edge(run: Run, state: GraphState, command: commands.AddEdge) -> events.EdgeAdded:
    _find_node(run, command.source)
    _find_node(run, command.target)
    if command.source == command.target:
        raise Refused("an edge connects two different nodes", code="EDGE_INVALID")
    if command.id in state.edges:
        raise Refused("this edge exists already", code="EDGE_EXISTS", hint="remove it, or give another label")
    if len(state.edges) >= MAX_EDGES:
        raise Refused(f"a live graph has at most {MAX_EDGES} edges", code="GRAPH_FULL", hint="remove one first")
    return events.EdgeAdded(
        at=command.at,
        edge=command.id,
        source=command.source,
        target=command.target,
        bidirectional=command.bidirectional,
        type=command.type,
        label=command.label,
        by=command.by,
    )


def _receive_message(
    run: Run, state: GraphState, command: commands.SendMessage, meter: receipts.Meter
) -> tuple[events.Event, ...]:
    """Return the message; if it interrupts, also stop the turn, unless its effect happens once."""
    key, at = command.node, command.at
    node = _find_node(run, key)
    if len(state.inboxes[key].messages) >= MAX_UNREAD:
        raise Refused(f"{key} has {MAX_UNREAD} unread messages", code="INBOX_FULL", hint="wait for its next turn")
    attempt = run.in_flight.get((key, node.visit, 0))
    steers = command.steer and not command.interrupt and attempt is not None and can_steer(node)
    message_received = events.MessageReceived(
        at=at,
        node=key,
        message_id=command.message_id,
        role=command.role,
        content=command.content,
        interrupt=command.interrupt,
        by=command.by,
        steers=True if steers else None,
    )
    if not command.interrupt:
        return (message_received,)
    questions = _questions(run, key)
    if attempt is not None and run.workflow.nodes[key].effect != "once":
        attempt_stopped = _stop(run, attempt, at, "interrupt", meter)
        return (message_received, attempt_stopped, *[_withdraw(approval, at, "over") for approval in questions])
    withdrawn = [_withdraw(approval, at, "over" if index else "interrupt") for index, approval in enumerate(questions)]
    return (message_received, *withdrawn)


def can_steer(node: NodeState) -> bool:
    """True if the agent of the current turn can take a word during the turn."""
    session = node.session or {}
    return session.get("steering") is True and session.get("visit") == node.visit


def _questions(run: Run, key: str) -> list[OpenApproval]:
    """Return the open questions whether the node may take its turn, or make a call in it."""
    return [
        approval
        for approval in run.approvals.values()
        if approval.node == key and approval.kind in ("approval", "call")
    ]


def _retry_turn(
    run: Run, state: GraphState, command: commands.RetryTurn, meter: receipts.Meter
) -> tuple[events.Event, ...]:
    """Return the events that let the node take its turn again; Refused NODE_BUSY, NODE_IDLE."""
    key, at = command.node, command.at
    node = _find_node(run, key)
    attempt = run.in_flight.get((key, node.visit, 0))
    if attempt is not None:
        if run.workflow.nodes[key].effect == "once":
            raise Refused(
                f"the turn of {key} has an effect that happens once", code="NODE_BUSY", hint="wait for its end"
            )
        attempt_stopped = _stop(run, attempt, at, "interrupt", meter)
        return (attempt_stopped, *[_withdraw(approval, at, "over") for approval in _questions(run, key)])
    past = state.inboxes[key].past_turns
    if node.status != "done" or node.outcome != "failed" or not past or past[-1].outputs is not None:
        raise Refused(f"{key} has no turn to take again", code="NODE_IDLE", hint="send it a message")
    return (events.TurnRetried(at=at, node=key, by=command.by),)


# -- decide: the scheduler --------------------------------------------------------------------------------------------


def check_start(_run: Run, command: commands.CreateRun) -> None:
    """Raise Refused KEPT_INVALID if outputs to judge were given: a live graph starts without nodes."""
    if command.unjudged is not None:
        raise Refused("a live graph does not start with outputs that are to be judged", code="KEPT_INVALID")


def refuse_visit(run: Run, node: NodeState, at: int) -> events.NodeFailed | None:
    """Return the failure TURN_LIMIT of a node that has taken too many turns; None if it may take another."""
    max_turns = _turn_spec(run, node.key).max_turns
    if node.visit <= max_turns:
        return None
    error: JsonObject = {"code": "TURN_LIMIT", "message": f"{node.key} may take {max_turns} turns, and no more"}
    return events.NodeFailed(at=at, node=node.key, visit=node.visit, error=error)


def completion(
    run: Run, succeeded: events.AttemptSucceeded, outcome: outcome.Outcome | None
) -> tuple[events.Event, ...]:
    """Return the end of the turn, with its handoffs or with the question whether they should be sent."""
    state = _state(run)
    key, at = succeeded.node, succeeded.at
    inbox = state.inboxes[key]
    edges = _outgoing_edges(state, key, inbox, "on" if outcome is None else outcome.route)
    output_hash, repeats = _count_repetition(inbox, succeeded)
    stall_after = _turn_spec(run, key).stall_after
    is_stalled = outcome is not None and bool(edges) and 0 < stall_after <= repeats
    if not is_stalled:
        return (succeeded, *_handoffs(state, key, succeeded.visit, edges, at))
    held_edges: list[Json] = [*edges]
    evidence: JsonObject = {
        "repeats": repeats,
        "code": "SAME_OUTPUT",
        "message": f"{key} says the same again and again",
        "outputHash": output_hash,
        "edges": held_edges,
    }
    run_stalled = events.RunStalled(at=at, node=key, visit=succeeded.visit, kind="output", evidence=evidence)
    return (run_stalled, succeeded, system_approvals.about_repetition(run, run_stalled))


def _outgoing_edges(state: GraphState, key: str, inbox: Inbox, route: outcome.Route) -> list[str]:
    """Return the edges along which a turn is handed on: on to others, or back to the senders of its messages."""
    incoming = {message.edge for message in inbox.turn() if message.edge}
    outgoing: list[str] = []
    for edge_id in state.edges_of[key]:
        edge = state.edges[edge_id]
        if edge_id in incoming:
            is_taken = route in ("back", "both") and (edge.source == key or edge.bidirectional)
        else:
            is_taken = route in ("on", "both") and edge.source == key
        if is_taken:
            outgoing.append(edge_id)
    return outgoing


def _handoffs(state: GraphState, key: str, turn: int, edges: list[str], at: int) -> tuple[events.HandoffSent, ...]:
    present = [state.edges[edge_id] for edge_id in edges if edge_id in state.edges]
    return tuple(
        events.HandoffSent(
            at=at,
            node=key,
            turn=turn,
            handoff_id=ids.derive(edge.id, f"{key}/{turn}"),
            edge=edge.id,
            to=edge.target if edge.source == key else edge.source,
        )
        for edge in present
    )


def held_handoffs(run: Run, key: str, at: int) -> tuple[events.HandoffSent, ...]:
    """Return the handoffs of a held turn along the edges that still exist; none if no turn of the node is held."""
    state = run.graph_state
    if state is None or state.inboxes[key].held_edges is None:
        return ()
    return _handoffs(state, key, run.nodes[key].visit, list(state.inboxes[key].held_edges or ()), at)


def closing(_run: Run, _at: int) -> events.RunEnding | None:
    """Return None: a person ends a live graph, and without messages it waits for one."""
    return None


# -- apply: the scheduler ---------------------------------------------------------------------------------------------


def start(run: Run, _event: events.RunCreated) -> int:
    """Return 1: the graph goes on until a person ends it. Its nodes will change, so the run gets its own copy."""
    run.graph_state = GraphState()
    run.workflow = replace(run.workflow, nodes=dict(run.workflow.nodes))
    return 1


def node_done(
    run: Run,
    node: NodeState,
    event: events.AttemptSucceeded | events.NodeFinished | events.NodeSkipped | events.NodeKept,
) -> None:
    """End the turn, and begin the next one if messages have arrived, unless this one is held."""
    success = cast("events.AttemptSucceeded", event)  # a turn is neither kept nor skipped, and has no items
    inbox = _state(run).inboxes[node.key]
    inbox.repeated = _count_repetition(inbox, success)
    _end_turn(run, node, inbox, success.outputs)
    inbox.last_outputs = success.outputs
    if inbox.held_edges is None:
        _begin_turn(run, node, success.at)
    else:
        node.status = "asking"


def node_failed(run: Run, node: NodeState, event: events.AttemptFailed | events.NodeFailed) -> None:
    """End the turn without outputs, or drop a held one; the node goes on with the next messages."""
    inbox = _state(run).inboxes[node.key]
    if inbox.held_edges is None:
        _end_turn(run, node, inbox, None)
    node.status, inbox.held_edges = "done", None
    node.outcome = "failed"
    node.error = event.error
    _begin_turn(run, node, event.at)


def interrupt_turn(run: Run, node: NodeState, at: int) -> None:
    """Stop the turn; the next one reads its messages again, and the messages that have arrived since."""
    _state(run).inboxes[node.key].taken = 0
    node.status = "done"
    node.outcome = "cancelled"
    visits.withdraw(run, node.key)
    _begin_turn(run, node, at)


def hold_turn(run: Run, event: events.RunStalled) -> None:
    """Hold the handoffs of the turn that ends next until a person has approved them; other stalls hold nothing."""
    edges = event.evidence.get("edges")
    if run.graph_state is not None and edges is not None:
        run.graph_state.inboxes[event.node].held_edges = tuple(cast("list[str]", edges))


def release_turn(run: Run, node: NodeState, at: int) -> bool:
    """Let a held turn go on; return whether one was held. Its handoffs are the events that follow."""
    inbox = None if run.graph_state is None else run.graph_state.inboxes[node.key]
    if inbox is None or inbox.held_edges is None:
        return False
    inbox.held_edges, inbox.repeated = None, ("", 0)
    node.status = "done"
    _begin_turn(run, node, at)
    return True


def _begin_turn(run: Run, node: NodeState, at: int) -> None:
    """Begin a turn if the node is idle and has unread messages."""
    inbox = _state(run).inboxes[node.key]
    if not inbox.messages or node.status not in ("waiting", "done"):
        return
    if inbox.reset_due:
        _forget_conversation(node, inbox)
    visits.clear(node)
    inbox.taken = len(inbox.messages)
    visits.enter(run, node, at)


def _forget_conversation(node: NodeState, inbox: Inbox) -> None:
    inbox.past_turns.clear()
    inbox.reset_due, inbox.repeated = False, ("", 0)
    node.session = None


def _end_turn(run: Run, node: NodeState, inbox: Inbox, outputs: Stored | None) -> None:
    """Remove the messages of the turn from the inbox, and remember the turn."""
    inbox.past_turns.append(PastTurn(messages=inbox.turn(), outputs=outputs))
    for _ in range(inbox.taken):
        inbox.messages.popleft()
    inbox.taken = 0
    node.status = "done"
    visits.withdraw(run, node.key)


def _count_repetition(inbox: Inbox, succeeded: events.AttemptSucceeded) -> tuple[str, int]:
    """Return the hash of the turn's outputs, and how many turns in a row had it without a person asking."""
    if inbox.answers_person():
        return "", 0
    output_hash = cast("str", succeeded.receipt["output_hash"])
    last_hash, count = inbox.repeated
    return output_hash, count + 1 if last_hash == output_hash else 1


# -- apply: the events of a live graph --------------------------------------------------------------------------------


def apply(run: Run, event: events.GraphEvent) -> None:
    """Apply an event that only a live graph has."""
    state = _state(run)
    match event:
        case events.NodeAdded():
            state.inboxes[event.node] = Inbox()
            state.edges_of[event.node] = {}
            run.nodes[event.node] = NodeState(key=event.node, waiting=0)
            _define_node(run, event)
        case events.NodeChanged():
            _define_node(run, event)
        case events.NodeRemoved():
            _forget_node(run, state, event.node)
        case events.EdgeAdded():
            state.edges[event.edge] = Edge(
                id=event.edge,
                source=event.source,
                target=event.target,
                bidirectional=event.bidirectional,
                type=event.type,
                label=event.label,
            )
            state.edges_of[event.source][event.edge] = None
            state.edges_of[event.target][event.edge] = None
        case events.EdgeRemoved():
            edge = state.edges.pop(event.edge)
            del state.edges_of[edge.source][event.edge]
            del state.edges_of[edge.target][event.edge]
        case events.MessageReceived():
            message = InboxMessage(
                id=event.message_id, at=event.at, content=event.content, role=event.role, by=event.by
            )
            if event.steers:
                inbox = state.inboxes[event.node]
                inbox.messages.insert(inbox.taken, message)
                inbox.taken += 1
            else:
                _deliver(run, state, event.node, message, interrupt=event.interrupt)
        case events.SessionReset():
            node, inbox = run.nodes[event.node], state.inboxes[event.node]
            inbox.reset_due = True
            if node.status in ("waiting", "done") or _has_not_begun(node):
                _forget_conversation(node, inbox)
        case events.TurnRetried():
            inbox = state.inboxes[event.node]
            inbox.messages.extendleft(reversed(inbox.past_turns.pop().messages))
            _begin_turn(run, run.nodes[event.node], event.at)
        case events.HandoffSent():
            outputs = state.inboxes[event.node].last_outputs or {"value": {}}
            message = InboxMessage(
                id=event.handoff_id, at=event.at, content=outputs, source=event.node, edge=event.edge
            )
            _deliver(run, state, event.to, message, interrupt=False)
        case _:
            assert_never(event)


def _define_node(run: Run, event: events.NodeAdded | events.NodeChanged) -> None:
    node = workflow_codec.decode_node(event.definition)
    cast("dict[str, definition.Node]", run.workflow.nodes)[event.node] = node  # the run's own copy
    if visits.needs_resolution(run, node):
        run.needs_resolution |= {event.node}
    else:
        run.needs_resolution -= {event.node}


def _forget_node(run: Run, state: GraphState, key: str) -> None:
    node = run.nodes.pop(key)
    del cast("dict[str, definition.Node]", run.workflow.nodes)[key]
    del state.inboxes[key], state.edges_of[key]
    state.removed.add(key)
    run.needs_resolution -= {key}
    visits.withdraw(run, key)
    _drop_timer(run, node)


def _drop_timer(run: Run, node: NodeState) -> None:
    """Remove the timer of the node's next attempt, if it waits for one."""
    if node.slots and node.slots[0].state == "waiting":
        run.backing_off -= 1
        run.timers = sorted(timer for timer in run.timers if timer[1] != node.key)  # a sorted list is a heap


def _has_not_begun(node: NodeState) -> bool:
    """True if the node has entered a turn of which no attempt has started."""
    return node.status == "resolving" or (node.status == "ready" and not node.slots[0].attempt)


def _deliver(run: Run, state: GraphState, key: str, message: InboxMessage, *, interrupt: bool) -> None:
    """Put the message into the inbox: the current turn reads it if it has not begun, else the next one does."""
    node, inbox = run.nodes[key], state.inboxes[key]
    inbox.messages.append(message)
    between_attempts = node.status == "active" and node.slots[0].state in ("waiting", "ready")
    if _has_not_begun(node) and not node.granted:
        inbox.taken = len(inbox.messages)
    elif interrupt and between_attempts:
        _drop_timer(run, node)
        interrupt_turn(run, node, message.at)
    else:
        _begin_turn(run, node, message.at)
