"""What follows from the facts so far without anybody asking: the second half of `decide`.

`follow` looks at the sets that `apply` keeps and gives the next fact, or None when the run has nothing more to say by
itself. It is called until it is quiet, so that one append carries "step done, next step started".
"""

from __future__ import annotations

from typing import Literal, cast

from openskelo.kernel import budget, events, feedback, outcome, questions, record
from openskelo.kernel.flows import dag, graph, plan
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import InFlight, NodeState, Run, may_have_acted

#: A piece of work that crashes cut this often (a handler that kills its driver, say) is not started again.
MAX_INTERRUPTIONS = 10


def follow(run: Run, at: int, meter: record.Meter) -> events.Event | None:
    """The next fact that follows by itself in a run that exists; `meter` knows what attempts it stops have used."""
    if run.lost:
        return _rule_on_lost(run, at)
    if run.uncertain:
        return questions.about_uncertain(run, next(iter(run.uncertain.values())), at)
    if run.ending is not None:
        return None if run.ended else _wind_down(run, at, meter)
    if run.failed is not None:
        node, error, ending = run.failed
        course = run.course
        blamed = {**error, "node": node} if course is None else plan.blame(run, course, run.failed)
        return events.RunEnding(at=at, ending=ending, error=blamed)
    if run.limited and (over := budget.overrun(run, at)) is not None:
        return events.RunEnding(at=at, ending="budget_exceeded", error=over)
    if run.bouncing is not None:
        return _bounce(run, at, meter)
    if run.paused is not None and run.unfinished > len(run.finishing):
        return None  # a pause holds back what is left to do; a run with nothing left is over
    if run.timers and run.timers[0][0] <= at:
        _, node, visit, slot = run.timers[0]
        return events.RetryDue(at=at, node=node, visit=visit, item=_item(run, node, slot))
    if run.finishing:
        key = next(iter(run.finishing))
        return events.NodeFinished(at=at, node=key, visit=run.nodes[key].visit)
    if run.ready and (started := _start(run, at)) is not None:
        return started
    if not run.unfinished:
        if run.course is not None and (closing := plan.close(run.course, at)) is not None:
            return closing
        return events.RunEnded(at=at, ending="ok", spent=_totals(run, at), receipt_head=record.head(run))
    return None if run.in_flight else _stuck(run, at)


def _item(run: Run, node: str, slot: int) -> int | None:
    return slot if run.workflow.nodes[node].foreach is not None else None


def _start(run: Run, at: int) -> events.Event | None:
    """Start the first node that may start: skip it, refuse it, or begin its next attempt."""
    key = next(iter(run.ready))
    node = run.nodes[key]
    shape = run.workflow.nodes[key]
    if run.skipped and node.status == "ready" and not node.running and dag.is_dead(run.graph, shape, run.skipped):
        return events.NodeSkipped(at=at, node=key, visit=node.visit, reason="upstream")
    if run.in_flight and len(run.in_flight) >= run.workflow.parallel:
        return None
    if not run.is_dag and (refused := _beyond(run, node, at)) is not None:
        return refused
    if run.global_mode == "PLANNING" and (forbidden := by_mode(run, key, at)) is not None:
        return forbidden
    if run.limited and (refusal := budget.refusal(run, shape.reserve, at)) is not None:
        if run.in_flight:
            return None  # those in flight may give back what they reserved; people and retries hold nothing to give
        return events.RunEnding(at=at, ending="budget_exceeded", error={**refusal, "node": key})
    index = node.queue[-1]
    slot = node.slots[index]
    if slot.interruptions >= MAX_INTERRUPTIONS:
        error: JsonObject = {"code": "INTERRUPTED_TOO_OFTEN", "message": f"{key} was cut {slot.interruptions} times"}
        return events.NodeFailed(at=at, node=key, visit=node.visit, error=error)
    return events.AttemptStarted(
        at=at,
        node=key,
        visit=node.visit,
        attempt=slot.attempt + 1,
        item=index if shape.foreach is not None else None,
    )


def _beyond(run: Run, node: NodeState, at: int) -> events.NodeFailed | None:
    return graph.refusal(run, node, at) if run.course is None else plan.refusal(run, node, at)


def by_mode(run: Run, key: str, at: int) -> events.NodeFailed | None:
    """The failure of a node whose effects the run's PLANNING mode forbids, or None."""
    effect = run.workflow.nodes[key].effect
    if run.global_mode != "PLANNING" or effect == "pure":
        return None
    message = f"{key} has effects ({effect}), and the run is in PLANNING mode"
    error: JsonObject = {"code": "PLANNING_MODE", "message": message}
    return events.NodeFailed(at=at, node=key, visit=run.nodes[key].visit, error=error, ending="denied")


def _stuck(run: Run, at: int) -> events.Event | None:
    """Nothing is owed or under way, nobody is asked, and yet not every node is done: say so instead of waiting on."""
    if run.resolving or run.ready or run.approvals or run.backing_off or run.live is not None:
        return None
    waiting: list[Json] = [key for key, node in run.nodes.items() if node.status != "done"]
    error: JsonObject = {"code": "RUN_STUCK", "message": "no node can go on", "waiting": waiting}
    return events.RunEnding(at=at, ending="failed", error=error)


# -- endings and bounces: what is under way is stopped first ---------------------------------------------------------


def _wind_down(run: Run, at: int, meter: record.Meter) -> events.Event:
    if run.in_flight:
        flight = next(iter(run.in_flight.values()))
        return _cancel(run, flight, at, "ending", meter.used(flight))
    if run.approvals:
        asked = next(iter(run.approvals.values()))
        return events.ApprovalWithdrawn(
            at=at, approval_id=asked.id, node=asked.node, visit=asked.visit, reason="ending"
        )
    ending = cast("events.Ending", run.ending)
    return events.RunEnded(at=at, ending=ending, error=run.error, spent=_totals(run, at), receipt_head=record.head(run))


def _bounce(run: Run, at: int, meter: record.Meter) -> events.Event:
    plan = run.bouncing
    assert plan is not None  # noqa: S101  the caller has looked
    for flight in run.in_flight.values():
        if flight.node in plan.reset:
            return _cancel(run, flight, at, "bounce", meter.used(flight))
    for asked in run.approvals.values():
        if asked.node in plan.reset:
            return events.ApprovalWithdrawn(
                at=at, approval_id=asked.id, node=asked.node, visit=asked.visit, reason="bounce"
            )
    count = run.nodes[plan.node].bounces.get(plan.rule, 0) + 1
    told: Json = None
    if plan.bounce.feedback:
        told = {"from": plan.node, "bounce": count, **feedback.own(cast("JsonObject", plan.feedback))}
    return events.NodeBounced(
        at=at,
        node=plan.node,
        visit=plan.visit,
        rule=plan.rule,
        route_to=plan.bounce.route_to,
        bounce=count,
        reset=plan.bounce.reset,
        feedback=told,
    )


def _cancel(
    run: Run, flight: InFlight, at: int, reason: Literal["ending", "bounce"], used: outcome.Metrics
) -> events.AttemptCancelled:
    return events.AttemptCancelled(
        at=at,
        node=flight.node,
        visit=flight.visit,
        attempt=flight.attempt,
        item=flight.item,
        reason=reason,
        receipt=record.cut(run, flight, at, "cancelled", used),
        spent=record.spent(used),
    )


# -- what a crash leaves behind ---------------------------------------------------------------------------------------


def _rule_on_lost(run: Run, at: int) -> events.AttemptInterrupted:
    flight = next(iter(run.lost.values()))
    used = outcome.Metrics()  # whoever knew died with the driver
    return events.AttemptInterrupted(
        at=at,
        node=flight.node,
        visit=flight.visit,
        attempt=flight.attempt,
        item=flight.item,
        reason="crash",
        uncertain=may_have_acted(run, flight),
        receipt=record.cut(run, flight, at, "interrupted", used),
    )


# -- totals ------------------------------------------------------------------------------------------------------------


def _totals(run: Run, at: int) -> JsonObject:
    spent = run.spent
    return {
        "steps": spent.steps,
        "tokens": spent.tokens,
        "costNanousd": spent.cost_nanousd,
        "toolNanousd": spent.tool_nanousd,
        "wallMs": budget.wall_ms(run, at),
    }
