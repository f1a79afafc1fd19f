"""Apply a fact to a run. Never refuses, never chooses, and costs the same however long the run is.

What a fact means for the sets of owed work is said here and nowhere else.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import assert_never, cast

from openskelo.kernel import definition, events
from openskelo.kernel.flows import dag
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import InFlight, NodeState, OpenApproval, PendingBounce, Run, Slot, is_busy
from openskelo.kernel.stall import Streak


def apply(run: Run, event: events.Event) -> None:
    """Make `event` part of the run."""
    match event:
        case events.AttemptSucceeded():
            _attempt_succeeded(run, event)
        case events.AttemptStarted():
            _attempt_started(run, event)
        case events.AttemptFailed():
            _attempt_failed(run, event)
        case events.RunCreated():
            _run_created(run, event)
        case events.NodeKept():
            _node_kept(run, event)
        case events.NodeResolved():
            _node_resolved(run, event)
        case events.NodeSkipped():
            _node_skipped(run, event)
        case events.NodeFinished():
            _finish(run, run.nodes[event.node], event.at)
        case events.NodeFailed():
            _node_failed(run, event)
        case events.NodeBounced():
            _node_bounced(run, event)
        case events.AttemptInterrupted():
            _attempt_interrupted(run, event)
        case events.AttemptCancelled():
            _attempt_cancelled(run, event)
        case events.RetryDue():
            _retry_due(run, event)
        case events.ApprovalRequested():
            _approval_requested(run, event)
        case events.ApprovalResolved():
            _approval_resolved(run, event)
        case events.ApprovalWithdrawn():
            _approval_withdrawn(run, event)
        case events.RunStalled() | events.RunEnding() | events.RunEnded() | events.RunPaused() | events.RunResumed():
            _run_changed(run, event)
        case events.RunRecovered():
            _run_recovered(run)
        case events.ArtifactCreated():
            run.artifacts.append({**event.artifact, "node": event.node})
        case _:
            assert_never(event)
    _keep_time(run, event.at)


def _keep_time(run: Run, at: int) -> None:
    """Wall time runs while the run is busy, and stands still while only a person can move it."""
    run.updated_at = at
    if is_busy(run):
        if run.active_since is None:
            run.active_since = at
    elif run.active_since is not None:
        run.spent.wall_ms += at - run.active_since
        run.active_since = None


# -- the run itself ---------------------------------------------------------------------------------------------------


def _run_created(run: Run, event: events.RunCreated) -> None:
    run.created = True
    run.created_at = event.at
    run.inputs = event.inputs
    run.definition = event.definition
    run.mode = event.mode
    run.global_mode = event.global_mode
    run.parent = event.parent
    for node in run.nodes.values():
        if node.waiting == 0:
            _enter(run, node, event.at)


def _run_changed(
    run: Run,
    event: events.RunStalled | events.RunEnding | events.RunEnded | events.RunPaused | events.RunResumed,
) -> None:
    match event:
        case events.RunPaused():
            run.paused = event.reason
        case events.RunResumed():
            run.paused = None
        case events.RunEnding():
            run.ending, run.error = event.ending, event.error
        case events.RunEnded():
            run.ending, run.error, run.ended = event.ending, event.error, True
        case events.RunStalled():
            pass  # evidence for people; the question that follows it holds the state
        case _:
            assert_never(event)


def _run_recovered(run: Run) -> None:
    """The time nobody drove the run is not the run's; what was in flight is lost until `follow` rules on it."""
    if run.active_since is not None:
        run.spent.wall_ms += max(0, run.updated_at - run.active_since)
        run.active_since = None
    run.lost.update(run.in_flight)
    run.in_flight.clear()


# -- entering and leaving nodes ---------------------------------------------------------------------------------------


def needs_resolution(run: Run, node: definition.Node) -> bool:
    """Whether a visit has expressions to evaluate, a cache to look into or a person to ask before it starts."""
    return (
        node.when is not None
        or node.foreach is not None
        or node.cache
        or asks(run, node)
        or any(binding.transform is not None for binding in node.bindings.values())
    )


def asks(run: Run, node: definition.Node) -> bool:
    """Whether a person is asked before (or, for an approval node, instead of) the node's work."""
    return node.approval is not None or (run.mode == "INTERACTIVE" and node.effect == "once")


def _enter(run: Run, node: NodeState, at: int) -> None:
    node.visit += 1
    node.entered_at = at
    node.slots = [Slot(feedback=node.feedback)]
    node.feedback = None
    node.queue = deque((0,))
    shape = run.workflow.nodes[node.key]
    dead = dag.is_dead(run.graph, node.key, run.skipped)
    if not dead and needs_resolution(run, shape):
        node.status = "resolving"
        run.resolving[node.key] = None
    else:
        node.status = "ready"
        run.ready[node.key] = None


def _leave(run: Run, node: NodeState, at: int) -> None:
    """The node is done: those that waited for it may be entered."""
    node.status = "done"
    run.ready.pop(node.key, None)
    run.resolving.pop(node.key, None)
    run.finishing.pop(node.key, None)
    run.unfinished -= 1
    for key in run.graph.targets[node.key]:
        target = run.nodes[key]
        target.waiting -= 1
        if target.waiting == 0 and target.status == "waiting":
            _enter(run, target, at)


def _finish(run: Run, node: NodeState, at: int) -> None:
    node.outcome = "succeeded"
    if run.workflow.nodes[node.key].foreach is None:
        node.outputs = node.slots[0].outputs
    else:
        node.item_outputs = tuple(slot.outputs for slot in node.slots if slot.outputs is not None)
    _leave(run, node, at)


def _node_kept(run: Run, event: events.NodeKept) -> None:
    node = run.nodes[event.node]
    node.outcome = event.outcome
    node.outputs = event.outputs
    node.item_outputs = event.items
    if event.outcome == "skipped":
        run.skipped.add(event.node)
    _leave(run, node, event.at)


def _node_skipped(run: Run, event: events.NodeSkipped) -> None:
    node = run.nodes[event.node]
    node.outcome = "skipped"
    run.skipped.add(event.node)
    _leave(run, node, event.at)


def _node_failed(run: Run, event: events.NodeFailed) -> None:
    _fail(run, run.nodes[event.node], event.error, event.ending)


def _fail(run: Run, node: NodeState, error: JsonObject, ending: events.Ending) -> None:
    node.status = "done"
    node.outcome = "failed"
    node.error = error
    run.ready.pop(node.key, None)
    run.resolving.pop(node.key, None)
    if run.failed is None:
        run.failed = (node.key, error, ending)


def _node_resolved(run: Run, event: events.NodeResolved) -> None:
    node = run.nodes[event.node]
    node.inputs = event.inputs
    if event.count is not None and node.items is None:
        node.items = event.items
        feedback = node.slots[0].feedback
        node.slots = [Slot(feedback=feedback) for _ in range(event.count)]
        node.queue = deque(range(event.count))
    run.resolving.pop(node.key, None)
    if node.slots:
        node.status = "ready"
        run.ready[node.key] = None
    else:
        run.finishing[node.key] = None


def _node_bounced(run: Run, event: events.NodeBounced) -> None:
    run.bouncing = None
    origin = run.nodes[event.node]
    origin.bounces[event.rule] = event.bounce
    for key in event.reset:
        _reset(run, run.nodes[key])
    for key in event.reset:
        node = run.nodes[key]
        node.waiting = sum(run.nodes[source].status != "done" for source in run.graph.sources[key])
    target = run.nodes[event.route_to]
    target.feedback = event.feedback
    _enter(run, target, event.at)


def _reset(run: Run, node: NodeState) -> None:
    if node.status == "done":
        run.unfinished += 1
    node.status = "waiting"
    node.outcome = None
    node.outputs = node.inputs = node.items = node.error = None
    node.item_outputs = None
    node.slots = []
    node.queue = deque()
    node.running = node.done_slots = 0
    node.granted = False
    for owed in (run.ready, run.resolving, run.finishing):
        owed.pop(node.key, None)
    run.skipped.discard(node.key)


# -- attempts ---------------------------------------------------------------------------------------------------------


def _attempt_started(run: Run, event: events.AttemptStarted) -> None:
    node = run.nodes[event.node]
    index = event.item or 0
    node.queue.popleft()
    slot = node.slots[index]
    slot.state = "running"
    slot.attempt = event.attempt
    node.status = "active"
    node.running += 1
    node.attempts += 1
    shape = run.workflow.nodes[event.node]
    if not node.queue or (shape.foreach is not None and node.running >= shape.foreach.concurrency):
        run.ready.pop(event.node, None)
    reserve = shape.reserve
    run.reserved.steps += 1
    run.reserved.tokens += reserve.tokens
    run.reserved.cost_nanousd += reserve.cost_nanousd
    run.reserved.tool_nanousd += reserve.tool_nanousd
    run.in_flight[event.node, event.visit, index] = InFlight(
        event.node, event.visit, index, event.attempt, event.item, event.at, reserve
    )


def _land(run: Run, event: events.AttemptSucceeded | events.AttemptFailed | events.AttemptInterrupted) -> NodeState:
    """An attempt is over: give back what it reserved, count what it used, keep its receipt."""
    node = run.nodes[event.node]
    index = event.item or 0
    if _forget(run, node, (event.node, event.visit, index)) is not None:
        run.spent.steps += 1
    elif event.attempt > node.slots[index].attempt:
        run.spent.steps += 1  # a person's answer or a cached result is the attempt
        node.attempts += 1
    metrics = cast("JsonObject", event.receipt["metrics"])
    run.spent.tokens += cast("int", metrics["tokens_in"]) + cast("int", metrics["tokens_out"])
    spent = None if isinstance(event, events.AttemptInterrupted) else event.spent
    if spent is not None:
        run.spent.cost_nanousd += cast("int", spent.get("costNanousd", 0))
        run.spent.tool_nanousd += cast("int", spent.get("toolNanousd", 0))
    run.last_receipt = event.receipt
    run.receipts += 1
    return node


def _forget(run: Run, node: NodeState, key: tuple[str, int, int]) -> InFlight | None:
    flight = run.in_flight.pop(key, None) or run.lost.pop(key, None)
    if flight is None:
        return None
    node.running -= 1
    run.reserved.steps -= 1
    run.reserved.tokens -= flight.reserve.tokens
    run.reserved.cost_nanousd -= flight.reserve.cost_nanousd
    run.reserved.tool_nanousd -= flight.reserve.tool_nanousd
    return flight


def _attempt_succeeded(run: Run, event: events.AttemptSucceeded) -> None:
    node = _land(run, event)
    slot = node.slots[event.item or 0]
    slot.state = "done"
    slot.attempt = event.attempt
    slot.outputs = event.outputs
    slot.feedback = None
    node.done_slots += 1
    if run.workflow.nodes[event.node].foreach is None:
        _finish(run, node, event.at)
    elif node.done_slots == len(node.slots):
        run.finishing[event.node] = None
    elif node.queue:
        run.ready[event.node] = None


def _attempt_failed(run: Run, event: events.AttemptFailed) -> None:
    node = _land(run, event)
    index = event.item or 0
    slot = node.slots[index]
    slot.attempt = event.attempt
    slot.failures += 1
    verdicts: list[Json] = list(event.verdicts or ())
    slot.feedback = {"attempt": event.attempt, "error": event.error, "verdicts": verdicts}
    _remember_verdict(node, slot, event.error)
    match event.next:
        case "retry":
            slot.state = "waiting"
            run.backing_off += 1
            heapq.heappush(run.timers, (cast("int", event.retry_at), event.node, event.visit, index))
        case "bounce":
            slot.state = "waiting"
            _plan_bounce(run, node, cast("int", event.rule), slot.feedback)
        case "ask":
            slot.state = "asking"
        case "fail":
            _fail(run, node, event.error, event.ending or "failed")
        case _:
            assert_never(event.next)


def _remember_verdict(node: NodeState, slot: Slot, error: JsonObject) -> None:
    """Count how often in a row the same verdict came back: within a visit, and over the visits of a bounce loop."""
    verdict = (str(error.get("code")), str(error.get("message")))
    output = cast("str", error.get("outputHash", ""))
    slot.streak = slot.streak.extended(verdict, output)
    node.loop = node.loop.extended(verdict, output)


def bounce_rule(node: definition.Node, rule: int) -> definition.Bounce:
    """Rule `rule` of a node: its `on_gate_fail` list, then (numbered -1) what its approval does on a denial."""
    if rule < 0:
        approval = node.approval
        assert approval is not None  # noqa: S101  a denial's rule exists only beside its approval
        return cast("definition.Bounce", approval.bounce)
    return node.bounces[rule]


def _plan_bounce(run: Run, node: NodeState, rule: int, feedback: Json) -> None:
    bounce = bounce_rule(run.workflow.nodes[node.key], rule)
    run.bouncing = PendingBounce(node.key, node.visit, rule, bounce, feedback, frozenset(bounce.reset))


def _attempt_interrupted(run: Run, event: events.AttemptInterrupted) -> None:
    key = (event.node, event.visit, event.item or 0)
    flight = run.in_flight.get(key) or run.lost[key]
    node = _land(run, event)
    slot = node.slots[event.item or 0]
    slot.interruptions += 1
    if event.uncertain:
        slot.state = "asking"
        run.uncertain[key] = flight
    else:
        _requeue(run, node, event.item or 0)


def _requeue(run: Run, node: NodeState, index: int) -> None:
    node.slots[index].state = "ready"
    node.queue.append(index)
    shape = run.workflow.nodes[node.key]
    if shape.foreach is None or node.running < shape.foreach.concurrency:
        run.ready[node.key] = None


def _attempt_cancelled(run: Run, event: events.AttemptCancelled) -> None:
    node = run.nodes[event.node]
    _forget(run, node, (event.node, event.visit, event.item or 0))
    run.spent.steps += 1
    run.last_receipt = event.receipt
    run.receipts += 1
    node.slots[event.item or 0].state = "done"
    if event.reason == "ending" and node.status != "done":
        node.status = "done"
        node.outcome = "cancelled"


def _retry_due(run: Run, event: events.RetryDue) -> None:
    heapq.heappop(run.timers)
    run.backing_off -= 1
    node = run.nodes[event.node]
    if node.visit != event.visit or node.status == "done" or not node.slots:
        return  # the visit it belonged to was overtaken by a bounce
    shape = run.workflow.nodes[event.node]
    if shape.effect == "once" and asks(run, shape):
        # An approval is used up by the attempt it allowed: a once effect is asked about again.
        node.granted = False
        node.slots[event.item or 0].state = "ready"
        node.queue.append(event.item or 0)
        node.status = "resolving"
        run.resolving[event.node] = None
    else:
        _requeue(run, node, event.item or 0)


# -- people -----------------------------------------------------------------------------------------------------------


def _approval_requested(run: Run, event: events.ApprovalRequested) -> None:
    node = run.nodes[event.node]
    kind = cast("str", event.tool["name"])
    index = event.item or 0
    run.asked += 1
    if kind == "approval":
        node.status = "asking"
        run.resolving.pop(event.node, None)
        run.ready.pop(event.node, None)
    if kind == "uncertain":
        run.uncertain.pop((event.node, event.visit, index), None)
    args = cast("JsonObject", event.tool["args"])
    rule = cast("int | None", args.get("rule")) if kind == "stalled" else None
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
        rule=rule,
    )


def _approval_resolved(run: Run, event: events.ApprovalResolved) -> None:
    asked = run.approvals.pop(event.approval_id)
    node = run.nodes[asked.node]
    status = event.resolution["status"]
    if status == "denied":
        return  # the event that follows says what the denial leads to
    shape = run.workflow.nodes[asked.node]
    match asked.kind:
        case "approval":
            if shape.mode != "approval":
                node.granted = True
                node.status = "ready"
                run.ready[node.key] = None
                if status == "modified":
                    node.inputs = {"value": event.resolution["modifiedArgs"]}
        case "uncertain":
            if status == "approved":
                _requeue(run, node, asked.slot)
        case _:  # stalled
            slot = node.slots[asked.slot]
            slot.streak = node.loop = Streak()
            if asked.rule is None:
                _requeue(run, node, asked.slot)
            else:
                _plan_bounce(run, node, asked.rule, slot.feedback)


def _approval_withdrawn(run: Run, event: events.ApprovalWithdrawn) -> None:
    asked = run.approvals.pop(event.approval_id)
    node = run.nodes[asked.node]
    if event.reason == "ending" and node.status != "done":
        node.status = "done"
        node.outcome = "cancelled"
