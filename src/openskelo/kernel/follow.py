"""The events that follow from the state of a run by themselves: the second half of `decide`.

After the events of a command have been applied, `follow` returns the next event that is due (a node to start, a run to
end), or None. The caller applies it and asks again until it gets None. So one append carries "step done, next step
started", and a chain of steps costs one sync per step.

The order of the checks is a ranking: attempts that a crash has lost come first, then endings, budgets and bounces, and
last the start of new work.
"""

from __future__ import annotations

from typing import Literal, cast

from openskelo.kernel import budget, events, outcome, receipts, system_approvals
from openskelo.kernel.apply import attempts
from openskelo.kernel.flows import visits
from openskelo.kernel.flows.scheduler import scheduler_of
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import Attempt, OpenApproval, PendingBounce, Run, has_started, may_have_acted

#: A slot whose attempts were lost in crashes this often (its handler may kill the driver) is not started again.
MAX_INTERRUPTIONS = 10


def follow(run: Run, at: int, meter: receipts.Meter) -> events.Event | None:
    """Return the next event that is due, or None; the driver answers the kernel's questions as `meter`."""
    if run.lost:
        return _interrupt_lost(run, at)
    if run.uncertain:
        return system_approvals.about_uncertain(run, next(iter(run.uncertain.values())), at)
    if run.ending is not None:
        return None if run.ended else _wind_down(run, at, meter)
    if run.failed is not None:
        return scheduler_of(run).closing(run, at)
    if run.has_limits and (overrun := budget.overrun(run, at)) is not None:
        return events.RunEnding(at=at, ending="budget_exceeded", error=overrun)
    if run.bouncing is not None:
        return _bounce(run, run.bouncing, at, meter)
    if run.paused is not None and run.unfinished > len(run.finishing):
        return None  # a pause holds back what is left to do; a run with nothing left ends
    if run.timers and run.timers[0][0] <= at:
        _, node, visit, slot = run.timers[0]
        return events.RetryDue(at=at, node=node, visit=visit, item=_item(run, node, slot))
    if run.finishing:
        key = next(iter(run.finishing))
        return events.NodeFinished(at=at, node=key, visit=run.nodes[key].visit)
    if run.ready and (start_event := _start(run, at, meter)) is not None:
        return start_event
    return _close(run, at)


def _item(run: Run, node: str, slot: int) -> int | None:
    return slot if run.workflow.nodes[node].foreach is not None else None


def _start(run: Run, at: int, meter: receipts.Meter) -> events.Event | None:
    """Return the start of the first ready node's next attempt, or its skipping or refusal; None if it has to wait."""
    key = next(iter(run.ready))
    node = run.nodes[key]
    spec = run.workflow.nodes[key]
    if node.status == "ready" and not node.running and visits.is_cut_off(run, key):
        return events.NodeSkipped(at=at, node=key, visit=node.visit, reason="upstream")
    parallel = run.workflow.parallel
    if run.in_flight and len(run.in_flight) >= parallel and _working(run) >= parallel:
        return None
    forbidding_event = scheduler_of(run).refuse_visit(run, node, at) or refuse_effect(run, key, at)
    if forbidding_event is not None:
        return forbidding_event
    if run.has_limits and (refusal := budget.refusal(run, spec.reserve, at)) is not None:
        if run.in_flight:
            return None  # attempts in flight may give back part of their reservation
        return events.RunEnding(at=at, ending="budget_exceeded", error={**refusal, "node": key})
    index = node.queue[-1]
    slot = node.slots[index]
    if slot.interruptions >= MAX_INTERRUPTIONS:
        error: JsonObject = {"code": "INTERRUPTED_TOO_OFTEN", "message": f"{key} was cut {slot.interruptions} times"}
        if spec.keeps_failed_items:
            return events.ItemFailed(at=at, node=key, visit=node.visit, item=index, error=error)
        return events.NodeFailed(at=at, node=key, visit=node.visit, error=error)
    if not has_started(run) and not meter.may_begin():
        return None  # the run stays queued
    return events.AttemptStarted(
        at=at, node=key, visit=node.visit, attempt=slot.attempt + 1, item=_item(run, key, index)
    )


def _working(run: Run) -> int:
    """Return the number of attempts in flight that do not wait for a person."""
    return sum(not attempt.questions for attempt in run.in_flight.values())


def refuse_effect(run: Run, key: str, at: int) -> events.NodeFailed | None:
    """Return the failure of a node whose effects the run's PLANNING mode forbids; None if they are allowed."""
    node = run.workflow.nodes[key]
    effect = node.effect
    if run.global_mode != "PLANNING" or effect == "pure" or node.work.can_plan:
        return None
    message = f"{key} has effects ({effect}), and the run is in PLANNING mode"
    error: JsonObject = {"code": "PLANNING_MODE", "message": message}
    return events.NodeFailed(at=at, node=key, visit=run.nodes[key].visit, error=error, ending="denied")


def _close(run: Run, at: int) -> events.Event | None:
    """Return the ending of a run that has nothing left to do, or cannot go on; None if it is busy or waits."""
    if run.in_flight and run.unfinished:
        return None
    closing = scheduler_of(run).closing(run, at)
    if closing is not None or run.unfinished:
        return closing
    return _ended(run, at, "ok", None)


# -- endings and bounces: attempts and approvals are stopped first ----------------------------------------------------


def _wind_down(run: Run, at: int, meter: receipts.Meter) -> events.Event:
    """Return the next event of a run that ends: stop an attempt, withdraw an approval, or end."""
    if run.in_flight:
        attempt = next(iter(run.in_flight.values()))
        return _cancel(run, attempt, at, "ending", meter.used(attempt))
    if run.approvals:
        return _withdraw(next(iter(run.approvals.values())), at, "ending")
    return _ended(run, at, cast("events.Ending", run.ending), run.error)


def _ended(run: Run, at: int, ending: events.Ending, error: JsonObject | None) -> events.RunEnded:
    usage: JsonObject = {
        "steps": run.spent.steps,
        "tokens": run.spent.tokens,
        "costNanousd": run.spent.cost_nanousd,
        "toolNanousd": run.spent.tool_nanousd,
        "wallMs": budget.wall_ms(run, at),
    }
    return events.RunEnded(at=at, ending=ending, error=error, spent=usage, receipt_head=receipts.head(run))


def _bounce(run: Run, pending: PendingBounce, at: int, meter: receipts.Meter) -> events.Event:
    """Return the next event of a bounce: stop an attempt or an approval of a node that is reset, or bounce."""
    for attempt in run.in_flight.values():
        if attempt.node in pending.reset:
            return _cancel(run, attempt, at, "bounce", meter.used(attempt))
    for approval in run.approvals.values():
        if approval.node in pending.reset:
            return _withdraw(approval, at, "bounce")
    count = run.nodes[pending.node].bounces.get(pending.rule, 0) + 1
    bounce_feedback: Json = None
    if pending.bounce.feedback:
        last_failure = attempts.about_last_failure(cast("JsonObject", pending.feedback))
        bounce_feedback = {"from": pending.node, "bounce": count, **last_failure}
    return events.NodeBounced(
        at=at,
        node=pending.node,
        visit=pending.visit,
        rule=pending.rule,
        route_to=pending.bounce.route_to,
        bounce=count,
        reset=pending.bounce.reset,
        feedback=bounce_feedback,
    )


def _cancel(
    run: Run, attempt: Attempt, at: int, reason: Literal["ending", "bounce"], used: outcome.Metrics
) -> events.AttemptCancelled:
    return events.AttemptCancelled(
        at=at,
        node=attempt.node,
        visit=attempt.visit,
        attempt=attempt.attempt,
        item=attempt.item,
        reason=reason,
        receipt=receipts.build_stopped(run, attempt, at, "cancelled", used),
        spent=receipts.spent(used),
    )


def _withdraw(approval: OpenApproval, at: int, reason: Literal["ending", "bounce"]) -> events.ApprovalWithdrawn:
    return events.ApprovalWithdrawn(
        at=at, approval_id=approval.id, node=approval.node, visit=approval.visit, reason=reason
    )


# -- after a crash ----------------------------------------------------------------------------------------------------


def _interrupt_lost(run: Run, at: int) -> events.AttemptInterrupted:
    """Return the interruption of an attempt that was in flight when the driver died; what it used is not known."""
    attempt = next(iter(run.lost.values()))
    return events.AttemptInterrupted(
        at=at,
        node=attempt.node,
        visit=attempt.visit,
        attempt=attempt.attempt,
        item=attempt.item,
        reason="crash",
        uncertain=may_have_acted(run, attempt),
        receipt=receipts.build_stopped(run, attempt, at, "interrupted", outcome.Metrics()),
    )
