"""Decide on what an agent does during an attempt: its conversation, its calls, and questions about its calls.

    allowed by the policy      call.started ───────────────────────────────────────────────> call.completed
    a person is asked          approval.requested ──> (the agent waits) ──> approval.resolved ──> call.started …
    begun before it asks       call.started ──> … ──> call.ruled ─────────────────────────────> call.completed

A call that the agent asks about, and what was decided about it, is in the log before the agent goes on. If the attempt
is cut while a call is under way that reaches outside of the workspace, its effect is uncertain, as that of work which
happens once.

A question (an approval of kind `call`) belongs to the attempt that asked it. It is a fact before the agent waits. If
the attempt is cut while the question is open, by a crash, a suspension or the death of the agent, the question stays
open, and the work waits for its answer instead of being tried again at once. The answer then becomes a grant: the next
attempt uses it once, if it asks about the same call (`digest`). When the attempt is over, questions that are still open
are withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never, cast

from openskelo.errors import Refused
from openskelo.kernel import commands, events, ids
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import Attempt, OpenApproval, Run

#: The kind of an approval that is about a call of an agent.
CALL = "call"


def find_attempt(
    run: Run,
    report: commands.ReportAttempt
    | commands.ReportProgress
    | commands.KeepArtifacts
    | commands.ReportInterrupted
    | commands.AskAboutCall,
) -> Attempt:
    """Return the attempt that a report is about; raise Refused STALE_REPORT if it is not in flight (any more)."""
    attempt = run.in_flight.get((report.node, report.visit, report.item or 0))
    if attempt is None or attempt.attempt != report.attempt or attempt.item != report.item:
        raise Refused(f"attempt {report.attempt} of {report.node} is not under way", code="STALE_REPORT")
    return attempt


# -- progress ---------------------------------------------------------------------------------------------------------


def decide_progress(run: Run, report: commands.ReportProgress) -> tuple[events.Event, ...]:
    """Return the events of what an attempt in flight has done so far; raise Refused STALE_REPORT if it is over."""
    find_attempt(run, report)
    result: list[events.Event] = []
    if report.session is not None:
        result.append(
            events.SessionOpened(
                at=report.at,
                node=report.node,
                visit=report.visit,
                attempt=report.attempt,
                item=report.item,
                session=report.session,
            )
        )
    result += [_call_event(report, call) for call in report.calls]
    return tuple(result)


def _call_event(
    report: commands.ReportProgress, call: commands.CallProgress
) -> events.CallStarted | events.CallRuled | events.CallCompleted:
    match call:
        case commands.StartedCall():
            return events.CallStarted(
                at=report.at,
                node=report.node,
                visit=report.visit,
                attempt=report.attempt,
                item=report.item,
                call=call.info,
                args=call.args,
                reaches_outside=call.reaches_outside or None,
            )
        case commands.RuledCall():
            return events.CallRuled(
                at=report.at,
                node=report.node,
                visit=report.visit,
                attempt=report.attempt,
                item=report.item,
                call_id=call.call_id,
                gate=call.gate,
                args=call.args,
            )
        case commands.EndedCall():
            return events.CallCompleted(
                at=report.at,
                node=report.node,
                visit=report.visit,
                attempt=report.attempt,
                item=report.item,
                call_id=call.call_id,
                status=call.status,
                duration_ms=call.duration_ms,
                result=call.result,
                exit_code=call.exit_code,
            )
        case _:
            assert_never(call)


# -- questions --------------------------------------------------------------------------------------------------------


def ask(run: Run, command: commands.AskAboutCall) -> tuple[events.Event, ...]:
    """Return the event of a question about a call, or of a grant that answers it; raise Refused STALE_REPORT."""
    attempt = find_attempt(run, command)
    open_call_ids = [cast("JsonObject", approval.document["tool"])["id"] for approval in open_questions(run, attempt)]
    if command.call_id in open_call_ids:
        raise Refused("this call is being asked about already", code="CALL_ASKED")
    slot = run.nodes[command.node].slots[attempt.slot]
    grant = slot.grants.get(command.digest)
    if grant is not None:
        return (
            events.CallGranted(
                at=command.at,
                node=command.node,
                visit=command.visit,
                attempt=command.attempt,
                item=command.item,
                call_id=command.call_id,
                digest=command.digest,
                grant=grant,
            ),
        )
    tool: dict[str, Json] = {"id": command.call_id, "name": CALL, "args": command.args}
    if command.stored is not None:
        tool["stored"] = command.stored
    return (
        events.ApprovalRequested(
            at=command.at,
            approval_id=ids.derive(run.id, f"approval/{run.approvals_requested + 1}"),
            node=command.node,
            visit=command.visit,
            attempt=command.attempt,
            item=command.item,
            tool=tool,
            digest=command.digest,
            prompt=command.prompt,
            form=command.form,
            approvers=command.approvers,
        ),
    )


def open_questions(run: Run, attempt: Attempt) -> list[OpenApproval]:
    """Return the open approvals about calls of this attempt, the oldest first."""
    if not attempt.questions:
        return []
    return [
        approval
        for approval in run.approvals.values()
        if approval.kind == CALL and (approval.node, approval.slot) == (attempt.node, attempt.slot)
    ]


def withdraw_questions(run: Run, attempt: Attempt, at: int) -> Iterator[events.ApprovalWithdrawn]:
    """Yield the withdrawal of every question of an attempt that is over."""
    for approval in open_questions(run, attempt):
        yield events.ApprovalWithdrawn(
            at=at, approval_id=approval.id, node=approval.node, visit=approval.visit, reason="over"
        )
