"""Apply an event to a run: the only place where the state of a run changes.

`apply` never refuses and never chooses: everything that was decided stands in the event. So the state of a run is the
fold of its log, and recovery is nothing but applying the stored events again. Applying an event takes the same time
however long the run is, because the sets of owed work in `Run` are updated, never recomputed.

Events about attempts are in `attempts`, about nodes in `nodes`, about the run and approvals here. What depends on the
kind of the workflow (which node is entered next) is in `flows`.
"""

from __future__ import annotations

import heapq
from typing import assert_never, cast

from openskelo.kernel import events
from openskelo.kernel.apply import attempts, nodes
from openskelo.kernel.flows import graph, plan, visits
from openskelo.kernel.flows.scheduler import scheduler_of
from openskelo.kernel.json import JsonObject, Stored
from openskelo.kernel.run import NO_STREAK, OWN_QUESTIONS, NodeState, OpenApproval, Run, has_started, is_busy

__all__ = ["apply"]


def apply(run: Run, event: events.Event) -> None:
    """Make `event` part of the run."""
    match event:
        case events.AttemptSucceeded():
            attempts.apply_succeeded(run, event)
        case events.AttemptStarted():
            attempts.apply_started(run, event)
        case events.AttemptFailed():
            attempts.apply_failed(run, event)
        case events.AttemptInterrupted():
            attempts.apply_interrupted(run, event)
        case events.AttemptCancelled():
            attempts.apply_cancelled(run, event)
        case events.RetryDue():
            attempts.apply_retry_due(run, event)
        case events.NodeKept():
            nodes.apply_kept(run, event)
        case events.NodeUnjudged():
            run.nodes[event.node].slots[0].unjudged = event.outputs
        case events.ItemsKept():
            run.kept_items[event.node] = event.items
        case events.NodeResolved():
            nodes.apply_resolved(run, event)
        case events.NodeSkipped():
            nodes.apply_skipped(run, event)
        case events.NodeFinished():
            nodes.apply_finished(run, event)
        case events.ItemFailed():
            nodes.apply_item_failed(run, event)
        case events.NodeFailed():
            scheduler_of(run).node_failed(run, run.nodes[event.node], event)
        case events.NodeBounced():
            nodes.apply_bounced(run, event)
        case events.ApprovalRequested():
            apply_requested(run, event)
        case events.ApprovalResolved():
            apply_resolved(run, event)
        case events.ApprovalWithdrawn():
            apply_withdrawn(run, event)
        case (
            events.SessionOpened()
            | events.CallStarted()
            | events.CallRuled()
            | events.CallCompleted()
            | events.CallGranted()
        ):
            attempts.apply_agent_event(run, event)
        case events.ArtifactCreated():
            run.artifacts.append({**event.artifact, "node": event.node})
        case (
            events.NodeAdded()
            | events.NodeChanged()
            | events.NodeRemoved()
            | events.EdgeAdded()
            | events.EdgeRemoved()
            | events.MessageReceived()
            | events.SessionReset()
            | events.TurnRetried()
            | events.HandoffSent()
        ):
            graph.apply(run, event)
        case _:  # the type checker sees that only events about the whole run are left
            _apply_run_event(run, event)
    run.updated_at = event.at
    _count_wall_time(run, event.at)


def _count_wall_time(run: Run, at: int) -> None:
    """Count wall time while the run is busy, not while it waits for a person or for room to begin."""
    waits_to_begin = run.ready and not has_started(run)
    if is_busy(run) and not waits_to_begin:
        if run.active_since is None:
            run.active_since = at
    elif run.active_since is not None:
        run.spent.wall_ms += max(0, at - run.active_since)
        run.active_since = None


def _apply_run_event(
    run: Run,
    event: events.RunCreated
    | events.RunRecovered
    | events.RunTimeSkipped
    | events.RunStalled
    | events.RunPaused
    | events.RunResumed
    | events.RunModeChanged
    | events.RunEnding
    | events.RunEnded,
) -> None:
    match event:
        case events.RunCreated():
            _create(run, event)
        case events.RunRecovered():
            _recover(run, event)
        case events.RunTimeSkipped():
            _skip_time(run, event)
        case events.RunStalled():
            graph.hold_turn(run, event)  # in blocks a stall is evidence: the approval that follows holds the run
            plan.hold_step(run, event)
        case events.RunPaused():
            run.paused = event.reason
        case events.RunResumed():
            run.paused = None
        case events.RunModeChanged():
            run.mode, run.global_mode = event.mode, event.global_mode
            _find_nodes_to_resolve(run)
        case events.RunEnding():
            run.ending, run.error = event.ending, event.error
            run.bouncing = None  # its nodes are not entered any more
            if run.workflow.kind == "graph":
                run.unfinished = 0
        case events.RunEnded():
            run.ending, run.error, run.ended = event.ending, event.error, True
        case _:
            assert_never(event)


def _create(run: Run, event: events.RunCreated) -> None:
    run.created = True
    run.created_at = event.at
    run.inputs = event.inputs
    run.definition = event.definition
    run.mode = event.mode
    run.global_mode = event.global_mode
    run.parent = event.parent
    run.no_cache = event.no_cache is True
    _find_nodes_to_resolve(run)
    run.unfinished = scheduler_of(run).start(run, event)


def _find_nodes_to_resolve(run: Run) -> None:
    specs = run.workflow.nodes.items()
    run.needs_resolution = frozenset(key for key, spec in specs if visits.needs_resolution(run, spec))


def _recover(run: Run, event: events.RunRecovered) -> None:
    """Mark the attempts in flight as lost until `follow` decides on them.

    Time without a driver counts neither for the run nor for them: it ended with the last event before the crash.
    """
    for attempt in run.in_flight.values():
        attempt.started_at = min(event.at, attempt.started_at + max(0, event.at - run.updated_at))
    if run.active_since is not None:
        run.spent.wall_ms += max(0, run.updated_at - run.active_since)
        run.active_since = None
    run.lost.update(run.in_flight)
    run.in_flight.clear()


def _skip_time(run: Run, event: events.RunTimeSkipped) -> None:
    """Count the wall time of the run and of its attempts as if the clock had not skipped anything."""
    since = run.active_since
    run.active_since = None if since is None else since + event.skipped_ms
    for attempt in run.in_flight.values():
        attempt.started_at = min(event.at, attempt.started_at + event.skipped_ms)


# -- approvals --------------------------------------------------------------------------------------------------------


def apply_requested(run: Run, event: events.ApprovalRequested) -> None:
    """Open the approval. One about a node's own work reserves the step that the answer, or the work, will take."""
    kind = cast("str", event.tool["name"])
    index = event.item or 0
    run.approvals_requested += 1
    if kind in OWN_QUESTIONS:
        run.reserved.steps += 1
    if kind == "uncertain":
        run.uncertain.pop((event.node, event.visit, index), None)
    if kind == "call":
        run.in_flight[event.node, event.visit, index].questions += 1
    args = cast("JsonObject", event.tool["args"])
    run.approvals[event.approval_id] = OpenApproval(
        id=event.approval_id,
        kind=kind,
        node=event.node,
        visit=event.visit,
        slot=index,
        item=event.item,
        digest=event.digest,
        approvers=event.approvers,
        expires_at=event.expires_at,
        document=events.encode(event),
        rule=cast("int | None", args.get("rule")) if kind == "stalled" else None,
    )
    if event.expires_at is not None:
        heapq.heappush(run.expiries, (event.expires_at, event.approval_id))


def _close(run: Run, approval_id: str) -> OpenApproval:
    """Close the approval and return it; the head of `expiries` stays an open one."""
    approval = run.approvals.pop(approval_id)
    if approval.kind in OWN_QUESTIONS:
        run.reserved.steps -= 1
    attempt = run.in_flight.get((approval.node, approval.visit, approval.slot))
    if approval.kind == "call" and attempt is not None:
        attempt.questions -= 1
    while run.expiries and run.expiries[0][1] not in run.approvals:
        heapq.heappop(run.expiries)
    return approval


def apply_resolved(run: Run, event: events.ApprovalResolved) -> None:
    """Let start what was approved. What a denial leads to is in the event that follows in the same append."""
    approval = _close(run, event.approval_id)
    status = event.resolution["status"]
    node = run.nodes[approval.node]
    if approval.kind == "call":
        _answer_call(run, node, approval, event)
        return
    if status == "denied":
        return
    match approval.kind:
        case "approval" | "ask_human":
            if not run.workflow.nodes[approval.node].work.asks_person:
                _grant(run, node, event)
        case "uncertain":
            if status == "approved":
                visits.requeue(run, node, approval.slot)
        case _:  # stalled
            if not graph.release_turn(run, node, event.at) and not plan.release_step(run, node, event.at):
                _continue_loop(run, node, approval)


def _answer_call(run: Run, node: NodeState, approval: OpenApproval, event: events.ApprovalResolved) -> None:
    """Note what the answer about a call leads to besides the call itself.

    If the attempt that asked is over, its answer is kept as a grant, and the work goes on once no question is left.
    """
    if event.resolution.get("remember") == "run":
        node.call_rules = (*node.call_rules, cast("JsonObject", event.resolution["rule"]))
    slot = node.slots[approval.slot]
    if slot.state != "asking":
        return  # the attempt waits for the answer, and the driver tells it
    resolution: JsonObject = {**event.resolution, "by": event.by, "reason": event.reason}
    slot.grants[approval.digest] = {"approvalId": approval.id, "resolution": resolution}
    questions = (other for other in run.approvals.values() if (other.node, other.slot) == (node.key, approval.slot))
    if next(questions, None) is None:
        visits.requeue(run, node, approval.slot)


def _grant(run: Run, node: NodeState, event: events.ApprovalResolved) -> None:
    """Let the node start, on the inputs that the person has changed."""
    node.granted = True
    node.status = "ready"
    if event.resolution["status"] == "modified":
        new_args: Stored = {"value": event.resolution["modifiedArgs"]}
        node.inputs = cast("Stored", event.resolution.get("stored", new_args))
        node.edited = True
        if event.count is not None:
            visits.split(node, event.items, event.count)
            if not event.count:
                run.finishing[node.key] = None
    visits.offer(run, node)


def _continue_loop(run: Run, node: NodeState, approval: OpenApproval) -> None:
    """Try again, or bounce again, after a person has approved to go on."""
    slot = node.slots[approval.slot]
    slot.streak = node.loop = NO_STREAK
    if approval.rule is None:
        visits.requeue(run, node, approval.slot)
    else:
        nodes.plan_bounce(run, node, approval.rule, slot.feedback)


def apply_withdrawn(run: Run, event: events.ApprovalWithdrawn) -> None:
    """Close the approval without an answer: its node is entered anew or removed, or the run ends."""
    approval = _close(run, event.approval_id)
    if event.reason == "ending":
        visits.cancel(run.nodes[approval.node])
    elif event.reason == "interrupt":
        graph.interrupt_turn(run, run.nodes[approval.node], event.at)
