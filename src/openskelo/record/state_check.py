"""Check that events are possible in a run of this workflow: each is compared with the state, then applied.

The check is about what is possible, not about policy: a log stays valid if `decide` would decide otherwise today.
Functions return why an event is impossible, or None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never, cast, get_args

from openskelo.errors import Refused
from openskelo.kernel import calls, definition, events, receipts, run, workflow_codec
from openskelo.kernel.apply import apply
from openskelo.kernel.flows import graph
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import GraphState, NodeState, Run
from openskelo.record import line_check
from openskelo.record import receipts as record_receipts

#: The events that only a live graph has.
_GRAPH_EVENTS = frozenset(get_args(events.GraphEvent))


class StateCheck:
    """Folds untrusted events into a run, as long as each is possible."""

    def __init__(self, run_id: str, workflow: definition.Workflow) -> None:
        self._run = run.new(run_id, workflow)

    def check(self, event: events.Event) -> str | None:
        """Apply the event if the state allows it, else return why not; after that the check is of no more use."""
        try:
            reason = _impossible(self._run, event)
            if reason is None:
                apply(self._run, event)
        except Exception as error:  # the kernel trusts its events; these come from outside
            return f"the state does not allow {events.NAMES[type(event)]} ({type(error).__name__}: {error})"
        return reason


def _impossible(state: Run, event: events.Event) -> str | None:
    if type(event) in _GRAPH_EVENTS:
        return _check_graph_event(state, cast("events.GraphEvent", event))
    if state.workflow.kind != "graph" and getattr(event, "reason", None) in ("interrupt", "removed"):
        return "the run is no live graph"
    key = getattr(event, "node", None)
    if key is not None:
        node = state.nodes.get(key)
        if node is None:
            return f"the workflow has no node {key!r}"
        return _check_node_event(state, node, event)
    match event:
        case events.RunCreated():
            same = (event.workflow, event.workflow_hash) == (state.workflow.name, state.workflow.hash)
            if same:
                return None
            return "the run pins another workflow than the definition it names"
        case events.RunEnded():
            return _check_ended(state, event)
        case _:
            return None


def _check_node_event(state: Run, node: NodeState, event: events.Event) -> str | None:
    if isinstance(event, events.NodeKept):
        return _check_kept(state.workflow.nodes[node.key], node, event)
    if isinstance(event, events.NodeUnjudged):
        is_first = node.visit == 1 and len(node.slots) == 1 and node.status != "done"
        if is_first:
            return None
        return f"{node.key} has work to be judged, but the run does not start with it"
    if isinstance(event, events.ItemsKept):
        is_repeated = state.workflow.nodes[node.key].foreach is not None and node.status != "done"
        has_outputs = all(line_check.is_stored(item.get("outputs")) for item in event.items)
        if is_repeated and has_outputs:
            return None
        return f"{node.key} has no items that can be kept"
    if isinstance(event, events.RetryDue):
        slot = (node.key, event.visit, event.item or 0)
        if state.timers and state.timers[0][1:] == slot:
            return None
        return f"{node.key} is not the next to be retried"
    visit = getattr(event, "visit", node.visit)
    if visit != node.visit:
        return f"{node.key} is in visit {node.visit}, not {visit}"
    if (item := getattr(event, "item", None)) is not None and not 0 <= item < len(node.slots):
        return f"{node.key} has {len(node.slots)} items, none of which is {item}"
    receipt = getattr(event, "receipt", None)
    if receipt is not None and (reason := _check_receipt(state.workflow.nodes[node.key], receipt)) is not None:
        return reason
    if isinstance(event, record_receipts.Receipted) and not _is_agents_receipt(node, event):
        return f"the receipt of {node.key} does not say which agent did the work in which session"
    return _check_progress(state, node, event)


def _check_kept(spec: definition.Node, node: NodeState, event: events.NodeKept) -> str | None:
    """Check that the node is not done yet, and that `errors` lists exactly the items without outputs."""
    if node.status == "done":
        return f"{node.key} is kept, but done already"
    failed_indexes = [index for index, outputs in enumerate(event.items or ()) if outputs is None]
    if failed_indexes and not spec.keeps_failed_items:
        return f"{node.key} is kept with failed items, but does not keep failed items"
    error_indexes = [error.get("index") for error in event.errors or () if "code" in error and "message" in error]
    same = error_indexes == failed_indexes and len(error_indexes) == len(event.errors or ())
    if same:
        return None
    return f"{node.key} is kept, but its errors are not those of its failed items"


def _check_failed_item(
    spec: definition.Node, node: NodeState, event: events.AttemptFailed | events.ItemFailed
) -> str | None:
    """Check that the item belongs to a foreach that keeps failed items, and was under way."""
    if not spec.keeps_failed_items or event.item is None or not {"code", "message"} <= event.error.keys():
        return f"{node.key} cannot keep a failed item"
    state = node.slots[event.item].state
    if isinstance(event, events.AttemptFailed):
        possible = state == "running"
    else:
        possible = state == "asking" or node.queue[-1:] == [event.item]
    if possible:
        return None
    return f"item {event.item} of {node.key} fails, but was not under way"


def _check_receipt(spec: definition.Node, receipt: JsonObject) -> str | None:
    """Check what only the definition can say about a receipt: its op, and the name of its outputs."""
    if receipt.get("op") != (spec.mode if spec.step is None else spec.step.op):
        return f"the receipt of {spec.key} names another op than its mode"
    if receipt.get("status") == "succeeded" and receipt.get("output_ref") != receipts.output_ref(spec.key, spec.step):
        return f"the receipt of {spec.key} says that its outputs are kept under another name"
    return None


def _is_agents_receipt(node: NodeState, event: record_receipts.Receipted) -> bool:
    """True if the receipt says of the agent what the session on record says."""
    expected = receipts.describe_agent(node.session, event)
    agent = event.receipt.get("agent")
    if expected is None or not isinstance(agent, Mapping):
        return expected is agent
    return {key: agent.get(key) for key in expected} == expected


def _check_progress(state: Run, node: NodeState, event: events.Event) -> str | None:
    match event:
        case events.AttemptStarted():
            is_due = node.key in state.ready and bool(node.queue) and node.queue[-1] == (event.item or 0)
            if is_due:
                return None
            return f"{node.key} is started, but was not ready"
        case events.AttemptSucceeded():
            return _check_success(state, node, event)
        case events.NodeResolved() if node.key not in state.resolving:
            return f"{node.key} was not waiting for its values"
        case events.NodeResolved() if event.taken is not None:
            return _check_taken_items(state, node, event.taken, event.count)
        case events.AttemptFailed(next="keep") | events.ItemFailed():
            return _check_failed_item(state.workflow.nodes[node.key], node, event)
        case events.AttemptFailed() if event.next == "go":
            return _check_denied_step(state.workflow.nodes[node.key].step, event)
        case events.ApprovalRequested() if event.tool["name"] == calls.CALL:
            attempt = state.in_flight.get((node.key, event.visit, event.item or 0))
            asks = attempt is not None and attempt.attempt == event.attempt
            if asks:
                return None
            return f"attempt {event.attempt} of {node.key} asks, but is not under way"
        case events.CallGranted():
            grant = node.slots[event.item or 0].grants.get(event.digest)
            if grant == event.grant:
                return None
            return f"a call of {node.key} uses an answer that was not given"
        case events.ApprovalRequested() if event.tool["name"] in run.OWN_QUESTIONS:
            if node.key in state.resolving:
                return f"{node.key} is asked about before its values are known"
            return None
        case events.ApprovalResolved() if event.count is not None or event.items is not None:
            return _check_edited_items(state, node, event)
        case events.NodeFinished():
            if node.key in state.finishing:
                return None
            return f"{node.key} is finished, but not all its items are done"
        case events.NodeSkipped() | events.NodeFailed():
            if node.status == "done":
                return f"{node.key} was done already"
            return None
        case events.NodeBounced():
            pending = state.bouncing
            is_next_bounce = pending is not None and (
                pending.node,
                pending.rule,
                pending.bounce.route_to,
                pending.bounce.reset,
            )
            bounce = (event.node, event.rule, event.route_to, event.reset)
            if is_next_bounce == bounce:
                return None
            return f"{node.key} bounces, but nothing sent it back"
        case _:
            return None


def _check_success(state: Run, node: NodeState, event: events.AttemptSucceeded) -> str | None:
    """Check that the attempt was started, or succeeds by an answer, from the cache, or because a person says so."""
    slot = (node.key, event.visit, event.item or 0)
    was_started = slot in state.in_flight or slot in state.lost
    is_confirmed = event.attempt == node.slots[event.item or 0].attempt
    is_answer = state.workflow.nodes[node.key].work.asks_person
    if not (was_started or is_confirmed or is_answer or event.cached is not None):
        return f"{node.key} succeeds, but was never started"
    step = state.workflow.nodes[node.key].step
    if step is None or step.op != "branch":
        if event.goto is None:
            return None
        return f"{node.key} goes to {event.goto}, but is no branch"
    if event.goto in (step.then, step.otherwise):
        return None
    return f"{node.key} does not lead to {event.goto}"


def _check_edited_items(state: Run, node: NodeState, event: events.ApprovalResolved) -> str | None:
    """Check that a person has changed the items of a foreach before any of its work."""
    spec, approval = state.workflow.nodes[node.key], state.approvals[event.approval_id]
    is_edit = approval.kind == "approval" and event.resolution.get("status") == "modified" and not spec.work.asks_person
    if not is_edit or spec.foreach is None or event.items is None or event.count is None or event.count < 0:
        return f"{node.key} is given items that it cannot have"
    if run.has_begun(node):
        return f"{node.key} is given other items after its work began"
    return None


def _check_taken_items(state: Run, node: NodeState, taken: tuple[int, ...], count: int | None) -> str | None:
    """Check that the items of the first visit are among the items that the run has taken over."""
    kept_items = state.kept_items.get(node.key, ())
    exist = len(taken) == count and all(-1 <= number < len(kept_items) for number in taken)
    if exist and node.visit == 1:
        return None
    return f"{node.key} has items that it has not taken over"


def _check_denied_step(step: definition.Step | None, event: events.AttemptFailed) -> str | None:
    """Check that a denied step goes where it says, with outputs."""
    if step is None or event.goto is None or event.goto != step.on_denied:
        return f"{event.node} does not lead to {event.goto}"
    if event.outputs is not None:
        return None
    return f"{event.node} goes on, but leaves nothing"


def _check_ended(state: Run, event: events.RunEnded) -> str | None:
    if event.ending == "ok" and state.unfinished:
        return f"the run ends as ok with {state.unfinished} unfinished nodes"
    usage: dict[str, Json] = {
        "steps": state.spent.steps,
        "tokens": state.spent.tokens,
        "costNanousd": state.spent.cost_nanousd,
        "toolNanousd": state.spent.tool_nanousd,
    }
    for key, value in usage.items():
        if event.spent is not None and event.spent.get(key) != value:
            return f"the run says it used {event.spent.get(key)} {key}; its events add up to {value}"
    return None


# -- live graphs ------------------------------------------------------------------------------------------------------


def _check_graph_event(state: Run, event: events.GraphEvent) -> str | None:
    graph_state = state.graph_state
    if graph_state is None:
        return "the run is no live graph"
    match event:
        case events.NodeAdded():
            is_used = event.node in state.nodes or event.node in graph_state.removed
            if is_used:
                return f"{event.node} was there already"
            return _check_definition(event.node, event.definition)
        case events.NodeChanged():
            if event.node not in state.nodes or state.nodes[event.node].status not in ("waiting", "done"):
                return f"{event.node} is not there, or in a turn"
            is_same_mode = event.definition.get("mode") == state.workflow.nodes[event.node].mode
            if is_same_mode:
                return _check_definition(event.node, event.definition)
            return f"{event.node} becomes something else"
        case events.NodeRemoved():
            return _check_removal(state, graph_state, event.node)
        case events.EdgeAdded():
            can_tie = event.source in state.nodes and event.target in state.nodes and event.source != event.target
            if can_tie and event.edge not in graph_state.edges:
                return None
            return f"edge {event.edge} cannot be added"
        case events.EdgeRemoved():
            if event.edge in graph_state.edges:
                return None
            return f"there is no edge {event.edge}"
        case events.MessageReceived():
            if event.node not in state.nodes:
                return f"there is no node {event.node!r}"
            is_in_turn = (event.node, state.nodes[event.node].visit, 0) in state.in_flight
            if event.steers and not is_in_turn:
                return f"{event.node} is steered outside of a turn"
            return None
        case events.SessionReset():
            if event.node in state.nodes:
                return None
            return f"there is no node {event.node!r}"
        case events.TurnRetried():
            return _check_retried_turn(state, graph_state, event.node)
        case events.HandoffSent():
            return _check_handoff(state, graph_state, event)
        case _:
            assert_never(event)


def _check_definition(key: str, definition: JsonObject) -> str | None:
    node = workflow_codec.decode_node(definition)
    try:
        graph.check_node(node)
    except Refused as refusal:
        return refusal.message
    if node.key == key:
        return None
    return f"the definition of {key} is that of {node.key}"


def _check_retried_turn(state: Run, graph_state: GraphState, key: str) -> str | None:
    node = state.nodes.get(key)
    has_failed = node is not None and node.status == "done" and node.outcome == "failed"
    past = graph_state.inboxes[key].past_turns if has_failed else ()
    if past and past[-1].outputs is None:
        return None
    return f"{key} has no failed turn to take again"


def _check_removal(state: Run, graph_state: GraphState, key: str) -> str | None:
    if key not in state.nodes:
        return f"there is no node {key!r}"
    is_asked_about = any(approval.node == key for approval in state.approvals.values())
    is_busy = (key, state.nodes[key].visit, 0) in state.in_flight or is_asked_about or graph_state.edges_of[key]
    if is_busy:
        return f"{key} is removed before its work and its edges"
    return None


def _check_handoff(state: Run, graph_state: GraphState, event: events.HandoffSent) -> str | None:
    edge, node = graph_state.edges.get(event.edge), state.nodes.get(event.node)
    if edge is None or node is None or graph_state.inboxes[event.node].last_outputs is None:
        return f"{event.node} has nothing to hand over along {event.edge}"
    directions = {(edge.source, edge.target), (edge.target, edge.source)}
    is_backwards = edge.source != event.node and not edge.bidirectional
    if (event.node, event.to) not in directions or is_backwards:
        return f"edge {event.edge} does not lead from {event.node} to {event.to}"
    if event.turn in (node.visit, node.visit - 1):
        return None
    return f"{event.node} is not in turn {event.turn}"
