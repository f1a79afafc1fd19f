"""Decide on the outcome of an attempt: it succeeded, is repaired, retried or bounced, is asked about, or fails.

Work that misses a secret, a provider or a file has not failed: the run is paused with the reason, and the work is done
when the run is resumed. Any other failure is first checked for endings that no further attempt can change (denied, over
budget, escalated, an effect that happens once and has happened). Then the cheapest remedy that is left is taken: a
repair at once, a bounce to an earlier node, a retry after a wait. Work whose agent died while a person was being asked
about a call waits for the answer first. A bounce or retry loop that makes no progress (`stall`) asks a person first.
With no remedy left the node fails, or only the item of a foreach that keeps failed items.
"""

from __future__ import annotations

from typing import assert_never, cast

from openskelo.kernel import budget, calls, commands, definition, events, outcome, receipts, system_approvals
from openskelo.kernel.flows import plan
from openskelo.kernel.flows.scheduler import scheduler_of
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import Attempt, NodeState, Run, Slot, Streak, failed_gates, may_have_acted, stall_kind
from openskelo.structs import replace


def decide(run: Run, report: commands.ReportAttempt) -> tuple[events.Event, ...]:
    """Return the events of a report; raise Refused STALE_REPORT for a late or second one: nothing happens twice."""
    attempt = calls.find_attempt(run, report)
    failure = report.outcome.failure or plan.failed_check(run, report)
    if failure is not None and failure.missing:
        result = _missing(run, report, attempt, failure)
    elif failure is not None:
        result = _failed(run, report, failure)
    else:
        result = scheduler_of(run).completion(run, _succeeded(run, report), report.outcome)
    artifact_events = [artifact_created(report, note) for note in report.outcome.artifacts]
    return (*artifact_events, *_withdrawn(run, attempt, result), *result)


def _withdrawn(run: Run, attempt: Attempt, result: tuple[events.Event, ...]) -> tuple[events.Event, ...]:
    """Return the withdrawal of the attempt's questions, unless the work waits for their answers before it goes on."""
    match result:
        case (events.AttemptFailed(next="ask", uncertain=None),):
            return ()
        case _:
            return tuple(calls.withdraw_questions(run, attempt, result[0].at))


def keep_artifacts(run: Run, command: commands.KeepArtifacts) -> tuple[events.Event, ...]:
    """Return the events of files that an attempt leaves before its outcome; raise Refused STALE_REPORT as `decide`."""
    calls.find_attempt(run, command)
    return tuple(artifact_created(command, note) for note in command.artifacts)


def artifact_created(
    source: commands.ReportAttempt | commands.KeepArtifacts | events.AttemptCancelled | events.AttemptInterrupted,
    note: outcome.ArtifactNote,
) -> events.ArtifactCreated:
    """Return the event of a file that the attempt has left."""
    artifact: dict[str, Json] = {
        "id": note.id,
        "kind": note.kind,
        "name": note.name,
        "hash": note.hash,
        "size": note.size,
        "mediaType": note.media_type,
    }
    if note.metadata is not None:
        artifact["metadata"] = note.metadata
    return events.ArtifactCreated(
        at=source.at,
        node=source.node,
        visit=source.visit,
        attempt=source.attempt,
        item=source.item,
        artifact=artifact,
    )


def _missing(
    run: Run, report: commands.ReportAttempt, attempt: Attempt, failure: outcome.Failure
) -> tuple[events.Event, ...]:
    """Return the events of work that something was missing for: it is done again when a person resumes the run.

    If only its judgement lacked something, its outputs are kept, and only that is done again.
    """
    usage = report.outcome.metrics
    outputs = report.outcome.outputs if run.workflow.nodes[report.node].is_block else None
    attempt_interrupted = events.AttemptInterrupted(
        at=report.at,
        node=report.node,
        visit=report.visit,
        attempt=report.attempt,
        item=report.item,
        reason="missing",
        uncertain=outputs is None and may_have_acted(run, attempt),
        receipt=receipts.build_stopped(run, attempt, report.at, "interrupted", usage),
        spent=receipts.spent(usage),
        outputs=outputs,
    )
    if run.paused is not None:
        return (attempt_interrupted,)
    reason = f"{failure.code} {report.node}: {failure.message}"
    return (attempt_interrupted, events.RunPaused(at=report.at, reason=reason, by=commands.ENGINE))


def _succeeded(run: Run, report: commands.ReportAttempt) -> events.AttemptSucceeded:
    result = report.outcome
    return events.AttemptSucceeded(
        at=report.at,
        node=report.node,
        visit=report.visit,
        attempt=report.attempt,
        item=report.item,
        outputs=result.outputs or {"value": {}},
        receipt=receipts.build(run, report, "succeeded", result, report.at),
        verdicts=result.verdicts or None,
        spent=receipts.spent(result.metrics),
    )


def _failed(run: Run, report: commands.ReportAttempt, failure: outcome.Failure) -> tuple[events.Event, ...]:
    node = run.nodes[report.node]
    spec = run.workflow.nodes[report.node]
    slot = node.slots[report.item or 0]
    if failure.denied:
        return (_denied(run, report, failure),)
    if failure.needs is not None:
        shortage = budget.shortage(run, failure.needs.tokens, failure.needs.cost_nanousd) or _error(failure, None)
        return (replace(_attempt_failed(run, report, shortage, next_="fail"), ending="budget_exceeded"),)
    if failure.escalated:
        return (replace(_attempt_failed(run, report, _error(failure, None), next_="fail"), ending="escalated"),)
    is_unjudged = spec.is_block and report.outcome.outputs is not None
    has_happened = failure.happened != "no" or slot.unjudged is not None  # by this attempt, or by one before it
    if has_happened and not is_unjudged and definition.is_once(spec):
        return (_not_repeated(run, report, failure),)
    if run.in_flight[report.node, report.visit, report.item or 0].outside_calls:
        return (_uncertain(run, report, failure),)
    if failure.repairable and slot.repairs < spec.repairs:
        error = _error(failure, report.outcome.output_hash)
        return (replace(_attempt_failed(run, report, error, next_="repair"), detail=report.outcome.feedback),)
    if failure.retryable and run.in_flight[report.node, report.visit, report.item or 0].questions:
        return (_attempt_failed(run, report, _error(failure, None), next_="ask"),)
    verdict = (failure.code, failure.message)
    gates = failed_gates(spec, report.outcome.verdicts)
    diff = (report.outcome.diff_hash or "") if gates else ""  # a wrong answer says nothing about the files
    rule = _bounce_rule(spec, node, failure, report.outcome.verdicts)
    if rule is not None:
        streak = node.loop.extended(verdict, report.outcome.output_hash or "", report.item, diff=diff, gates=gates)
        return _loop_or_ask(run, report, failure, streak, rule)
    refused_hash = None if is_unjudged else report.outcome.output_hash
    if _may_retry(run, report, failure):
        streak = slot.streak.extended(verdict, refused_hash or "", diff=diff, gates=gates)
        return _loop_or_ask(run, report, failure, streak, None)
    return (_failed_for_good(run, report, _error(failure, refused_hash)),)


def _failed_for_good(run: Run, report: commands.ReportAttempt, error: JsonObject) -> events.AttemptFailed:
    """Return a failure without remedy: of the node, or only of an item if its foreach keeps failed items."""
    keeps_item = run.workflow.nodes[report.node].keeps_failed_items
    return _attempt_failed(run, report, error, next_="keep" if keeps_item else "fail")


def _not_repeated(run: Run, report: commands.ReportAttempt, failure: outcome.Failure) -> events.AttemptFailed:
    """Return the failure of work whose effect happens once: a person is asked if it is not known to have happened."""
    if failure.happened == "unknown":
        return _uncertain(run, report, failure)
    node, spec = run.nodes[report.node], run.workflow.nodes[report.node]
    may_repair = failure.repairable and node.slots[report.item or 0].repairs < spec.repairs
    may_bounce = _bounce_rule(spec, node, failure, report.outcome.verdicts) is not None
    if may_repair or may_bounce or _may_retry(run, report, failure):
        setting = "`repeatable: true`" if spec.is_block else "`effect: idempotent`"
        message = f"{failure.message}; its effect happens once and is not repeated ({setting} would allow it)"
        failure = replace(failure, message=message)
    return _failed_for_good(run, report, _error(failure, report.outcome.output_hash))


def _uncertain(run: Run, report: commands.ReportAttempt, failure: outcome.Failure) -> events.AttemptFailed:
    """Return the failure of work whose effect may have happened: a person is asked."""
    error = _error(failure, report.outcome.output_hash)
    return replace(_attempt_failed(run, report, error, next_="ask"), uncertain=True)


def _retry_policy(run: Run, key: str) -> definition.Retry:
    """Return the retry policy of the node, or that of the retry step under which it runs."""
    return run.workflow.nodes[run.nodes[key].retried_by or key].retry


def _may_retry(run: Run, report: commands.ReportAttempt, failure: outcome.Failure) -> bool:
    slot = run.nodes[report.node].slots[report.item or 0]
    return failure.retryable and slot.failures + 1 < _retry_policy(run, report.node).max_attempts


def _denied(run: Run, report: commands.ReportAttempt, failure: outcome.Failure) -> events.AttemptFailed:
    """Return the failure of denied work: the run ends as denied, unless the plan goes on from it."""
    error = _error(failure, None)
    denial = plan.denial_report(run, report, failure)
    if denial is None:
        return replace(_attempt_failed(run, report, error, next_="fail"), ending="denied")
    step = cast("definition.Step", run.workflow.nodes[report.node].step)
    return replace(_attempt_failed(run, denial, error, next_="go"), goto=step.on_denied)


def _error(failure: outcome.Failure, output_hash: str | None) -> JsonObject:
    error: dict[str, Json] = {"code": failure.code, "message": failure.message}
    if failure.gate is not None:
        error["gate"] = failure.gate
    if output_hash is not None:
        error["outputHash"] = output_hash
    return error


def _bounce_rule(
    spec: definition.Node, node: NodeState, failure: outcome.Failure, verdicts: tuple[JsonObject, ...]
) -> int | None:
    """Return the bounce rule of the first gate that refused and has bounces left, or None."""
    if not spec.bounces:
        return None
    for gate in _refusing_gates(failure, verdicts):
        for index, rule in enumerate(spec.bounces):
            if rule.when_gate == gate and node.bounces.get(index, 0) < rule.max_bounces:
                return index
    return None


def _refusing_gates(failure: outcome.Failure, verdicts: tuple[JsonObject, ...]) -> list[Json]:
    """Return the gates that refused, in order, from the gate that the failure names on.

    A gate before it that refused stands before the work and was overruled by another (composition `any`).
    """
    if failure.gate is None:
        return []
    names = [verdict.get("gate") for verdict in verdicts]
    start = names.index(failure.gate) + 1 if failure.gate in names else len(names)
    return [failure.gate, *(verdict.get("gate") for verdict in verdicts[start:] if verdict.get("passed") is False)]


def _loop_or_ask(
    run: Run, report: commands.ReportAttempt, failure: outcome.Failure, streak: Streak, rule: int | None
) -> tuple[events.Event, ...]:
    """Bounce (by `rule`) or retry once more; ask a person first if the loop makes no progress."""
    policy = _retry_policy(run, report.node)
    error = _error(failure, streak.output or None)
    if streak.diff:
        error = {**error, "diffHash": streak.diff}
    kind = stall_kind(streak, policy.stall_after)
    if kind is None and rule is not None:
        return (_attempt_failed(run, report, error, next_="bounce", rule=rule),)
    if kind is None:
        slot = run.nodes[report.node].slots[report.item or 0]
        retry_at = report.at + delay_ms(policy, slot, failure)
        return (_attempt_failed(run, report, error, next_="retry", retry_at=retry_at),)
    evidence: dict[str, Json] = {
        "repeats": {"diff": streak.same_diffs, "gates": streak.same_gates}.get(kind, streak.length),
        "code": streak.verdict[0],
        "message": streak.verdict[1],
        "outputHash": streak.output,
    }
    if streak.diff:
        evidence["diffHash"] = streak.diff
    if streak.gates:
        evidence["gates"] = [*streak.gates]
    run_stalled = events.RunStalled(
        at=report.at, node=report.node, visit=report.visit, item=report.item, kind=kind, evidence=evidence
    )
    attempt_failed = _attempt_failed(run, report, error, next_="ask")
    return (attempt_failed, run_stalled, system_approvals.about_stall(run, run_stalled, rule))


def delay_ms(retry: definition.Retry, slot: Slot, failure: outcome.Failure) -> int:
    """Return the wait before the next attempt; a server's `retry-after` is respected up to the maximum."""
    match retry.backoff:
        case "none":
            delay = retry.delay_ms
        case "linear":
            delay = retry.delay_ms * (slot.failures + 1)
        case "exponential":
            delay = retry.delay_ms * 2 ** min(slot.failures, 30)
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
    next_: events.Next,
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
        next=next_,
        retry_at=retry_at,
        rule=rule,
        receipt=receipts.build(run, report, "failed", report.outcome, report.at),
        verdicts=result.verdicts or None,
        spent=receipts.spent(result.metrics),
        outputs=result.outputs,
    )
