"""Ruling on the outcome of an attempt: it succeeded, is retried, bounces, is asked about, or fails."""

from __future__ import annotations

from typing import assert_never, cast

from openskelo.errors import Refused
from openskelo.frozen import replace
from openskelo.kernel import budget, commands, definition, events, outcome, questions, record, stall
from openskelo.kernel.flows import graph, plan
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import InFlight, NodeState, Run, Slot


def decide(run: Run, report: commands.ReportAttempt) -> tuple[events.Event, ...]:
    """The facts a report makes true. A late or double report is refused: nothing happens twice."""
    in_flight(run, report)
    failure = report.outcome.failure
    if failure is None and run.course is not None and run.course.trying is not None:
        failure = plan.verdict(run, report)
    if failure is not None:
        told = _failed(run, report, failure)
    else:
        landed = _succeeded(run, report)
        told = (landed,) if run.live is None else graph.passed_on(run, landed, report)
    artifacts = report.outcome.artifacts
    return (*[artifact(report, note) for note in artifacts], *told) if artifacts else told


def in_flight(run: Run, report: commands.ReportAttempt | commands.ReportInterrupted) -> InFlight:
    """The attempt a report is about, or Refused when it is not under way (any more)."""
    flight = run.in_flight.get((report.node, report.visit, report.item or 0))
    if flight is None or flight.attempt != report.attempt or flight.item != report.item:
        raise Refused(f"attempt {report.attempt} of {report.node} is not under way", code="STALE_REPORT")
    return flight


def artifact(
    about: commands.ReportAttempt | events.AttemptCancelled | events.AttemptInterrupted, note: outcome.ArtifactNote
) -> events.ArtifactCreated:
    """The fact that the attempt, which has landed or is being stopped, leaves a file."""
    kept: JsonObject = {
        "id": note.id,
        "kind": note.kind,
        "name": note.name,
        "hash": note.hash,
        "size": note.size,
        "mediaType": note.media_type,
    }
    return events.ArtifactCreated(
        at=about.at, node=about.node, visit=about.visit, attempt=about.attempt, item=about.item, artifact=kept
    )


def _succeeded(run: Run, report: commands.ReportAttempt) -> events.AttemptSucceeded:
    result = report.outcome
    return events.AttemptSucceeded(
        at=report.at,
        node=report.node,
        visit=report.visit,
        attempt=report.attempt,
        item=report.item,
        outputs=result.outputs or {"value": {}},
        receipt=record.receipt(run, report, "succeeded", result, report.at),
        verdicts=result.verdicts or None,
        spent=record.spent(result.metrics),
        goto=None if run.course is None or result.holds is None else plan.goto(run, report),
    )


def _failed(run: Run, report: commands.ReportAttempt, failure: outcome.Failure) -> tuple[events.Event, ...]:
    node = run.nodes[report.node]
    shape = run.workflow.nodes[report.node]
    slot = node.slots[report.item or 0]
    if failure.denied:
        return (_denied(run, report, failure),)
    if failure.needs is not None:
        short = budget.shortage(run, failure.needs.tokens, failure.needs.cost_nanousd) or _error(failure, None)
        return (replace(_attempt_failed(run, report, short, way="fail"), ending="budget_exceeded"),)
    if failure.escalated:
        return (replace(_attempt_failed(run, report, _error(failure, None), way="fail"), ending="escalated"),)
    unjudged = run.is_dag and report.outcome.outputs is not None
    happened = failure.happened != "no" or slot.unjudged is not None  # by this attempt, or by one before it
    if happened and not unjudged and definition.is_once(shape):
        return (_not_repeated(run, report, failure),)
    if failure.repairable and slot.repairs < shape.repairs:
        error = _error(failure, report.outcome.output_hash)
        return (_attempt_failed(run, report, error, way="repair"),)
    rule = _bounce_rule(shape, node, failure, report.outcome.verdicts)
    if rule is not None:
        verdict = (failure.code, failure.message)
        streak = node.loop.extended(verdict, report.outcome.output_hash or "", report.item)
        return _loop_or_ask(run, report, failure, streak, rule)
    refused = None if unjudged else report.outcome.output_hash
    if failure.retryable and slot.failures + 1 < _retry(run, report.node).max_attempts:
        streak = slot.streak.extended((failure.code, failure.message), refused or "")
        return _loop_or_ask(run, report, failure, streak, None)
    return (_attempt_failed(run, report, _error(failure, refused), way="fail"),)


def _not_repeated(run: Run, report: commands.ReportAttempt, failure: outcome.Failure) -> events.AttemptFailed:
    """What becomes of work whose effect happens once and has, or may have: a person is asked where nobody knows."""
    if failure.happened == "unknown":
        error = _error(failure, report.outcome.output_hash)
        return replace(_attempt_failed(run, report, error, way="ask"), uncertain=True)
    node, shape = run.nodes[report.node], run.workflow.nodes[report.node]
    slot = node.slots[report.item or 0]
    tries_left = failure.retryable and slot.failures + 1 < _retry(run, report.node).max_attempts
    mends = failure.repairable and slot.repairs < shape.repairs
    if tries_left or mends or _bounce_rule(shape, node, failure, report.outcome.verdicts) is not None:
        unless = "`repeatable: true`" if run.is_dag else "`effect: idempotent`"
        why = f"{failure.message}; its effect happens once and is not repeated ({unless} would allow it)"
        failure = replace(failure, message=why)
    return _attempt_failed(run, report, _error(failure, report.outcome.output_hash), way="fail")


def _retry(run: Run, key: str) -> definition.Retry:
    return run.workflow.nodes[key].retry if run.course is None else plan.retry(run, run.course, key)


def _denied(run: Run, report: commands.ReportAttempt, failure: outcome.Failure) -> events.AttemptFailed:
    """Work that was not allowed ends the run as denied, unless the plan says where it goes on."""
    told = plan.told_denial(run, report, failure)
    if told is None:
        return replace(_attempt_failed(run, report, _error(failure, None), way="fail"), ending="denied")
    onward = cast("definition.Step", run.workflow.nodes[report.node].step).on_denied
    return replace(_attempt_failed(run, told, _error(failure, None), way="go"), goto=onward)


def _error(failure: outcome.Failure, output_hash: str | None) -> JsonObject:
    error: dict[str, Json] = {"code": failure.code, "message": failure.message}
    if failure.gate is not None:
        error["gate"] = failure.gate
    if output_hash is not None:
        error["outputHash"] = output_hash
    return error


def _bounce_rule(
    shape: definition.Node, node: NodeState, failure: outcome.Failure, verdicts: tuple[JsonObject, ...]
) -> int | None:
    """The rule of the first gate that said no and has bounces left; without one the failure takes its ordinary way."""
    for gate in _refusing(failure, verdicts) if shape.bounces else ():
        for index, rule in enumerate(shape.bounces):
            if rule.when_gate == gate and node.bounces.get(index, 0) < rule.max_bounces:
                return index
    return None


def _refusing(failure: outcome.Failure, verdicts: tuple[JsonObject, ...]) -> list[Json]:
    """The gates that refused, in their order.

    Whoever said no before the gate that the failure names stood before the work, and was outvoted there.
    """
    if failure.gate is None:
        return []
    names = [verdict.get("gate") for verdict in verdicts]
    after = names.index(failure.gate) + 1 if failure.gate in names else len(names)
    return [failure.gate, *(verdict.get("gate") for verdict in verdicts[after:] if verdict.get("passed") is False)]


def _loop_or_ask(
    run: Run, report: commands.ReportAttempt, failure: outcome.Failure, streak: stall.Streak, rule: int | None
) -> tuple[events.Event, ...]:
    """Go round once more, unless the loop makes no progress: then a person is asked."""
    retry = _retry(run, report.node)
    error = _error(failure, streak.output or None)
    kind = stall.kind(streak, retry.stall_after)
    if kind is None:
        if rule is not None:
            return (_attempt_failed(run, report, error, way="bounce", rule=rule),)
        slot = run.nodes[report.node].slots[report.item or 0]
        retry_at = report.at + delay_ms(retry, slot, failure)
        return (_attempt_failed(run, report, error, way="retry", retry_at=retry_at),)
    evidence: JsonObject = {
        "repeats": streak.length,
        "code": streak.verdict[0],
        "message": streak.verdict[1],
        "outputHash": streak.output,
    }
    stalled = events.RunStalled(
        at=report.at, node=report.node, visit=report.visit, item=report.item, kind=kind, evidence=evidence
    )
    failed = _attempt_failed(run, report, error, way="ask")
    return (failed, stalled, questions.about_stall(run, stalled, rule))


def delay_ms(retry: definition.Retry, slot: Slot, failure: outcome.Failure) -> int:
    """How long to wait before the next attempt; a server's own wish (retry-after) is respected up to the cap."""
    tried = slot.failures
    match retry.backoff:
        case "none":
            delay = retry.delay_ms
        case "linear":
            delay = retry.delay_ms * (tried + 1)
        case "exponential":
            delay = retry.delay_ms * 2 ** min(tried, 30)
        case _:
            assert_never(retry.backoff)
    if failure.retry_after_ms is not None:
        delay = max(delay, failure.retry_after_ms)
    return min(delay, retry.max_delay_ms)


def _attempt_failed(
    run: Run,
    report: commands.ReportAttempt,
    error: JsonObject,
    *,
    way: events.Next,
    retry_at: int | None = None,
    rule: int | None = None,
) -> events.AttemptFailed:
    result = report.outcome
    return events.AttemptFailed(
        at=report.at,
        node=report.node,
        visit=report.visit,
        attempt=report.attempt,
        item=report.item,
        error=error,
        next=way,
        retry_at=retry_at,
        rule=rule,
        detail=result.feedback if way == "repair" else None,
        receipt=record.receipt(run, report, "failed", report.outcome, report.at),
        verdicts=result.verdicts or None,
        spent=record.spent(result.metrics),
        outputs=result.outputs,
    )
