"""Decide on the answer to an approval.

An answer counts only if the approval is open and has not expired, the person may answer it, and its digest is that of
what was asked. What the answer allows or forbids happens in the same append as the answer itself.
"""

from __future__ import annotations

from typing import cast, get_args

from openskelo.errors import Refused, require_open
from openskelo.kernel import commands, definition, events, receipts
from openskelo.kernel.flows import graph
from openskelo.kernel.flows.scheduler import scheduler_of
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import OWN_QUESTIONS, OpenApproval, Run, has_begun, is_under_way

#: The name under which the driver answers an approval that has expired.
TIMER = "timer"
_ANSWERS = get_args(commands.Answer)


def decide(run: Run, answer: commands.AnswerApproval) -> tuple[events.Event, ...]:
    """Return the events of an answer: the approval is resolved, then what the answer leads to."""
    approval = require_open(run.approvals.get(answer.approval_id))
    _admit(run, approval, answer)
    _admit_values(run, approval, answer)
    resolution = _resolved(approval, answer)
    match approval.kind, answer.status:
        case (("approval" | "ask_human"), "denied"):
            return (resolution, *_denied(run, approval, answer))
        case (("approval" | "ask_human"), _) if run.workflow.nodes[approval.node].work.asks_person:
            return (resolution, *scheduler_of(run).completion(run, _succeeded(run, approval, answer), None))
        case "uncertain", "modified":
            return (resolution, *scheduler_of(run).completion(run, _succeeded(run, approval, answer), None))
        case "stalled", "modified":
            raise Refused("a stalled loop can only be approved or denied", code="APPROVAL_INVALID")
        case (("uncertain" | "stalled"), "denied"):
            return (resolution, _failed(run, approval, answer))
        case "stalled", _:
            return (resolution, *graph.held_handoffs(run, approval.node, answer.at))
        case "approval", "modified" if answer.skip:
            return (
                resolution,
                events.NodeSkipped(at=answer.at, node=approval.node, visit=approval.visit, reason="when"),
            )
        case _:  # also a call: its agent is told, or the answer is kept for the next attempt
            return (resolution,)


def _admit(run: Run, approval: OpenApproval, answer: commands.AnswerApproval) -> None:
    if answer.status not in _ANSWERS:
        raise Refused(f"an answer is {', '.join(_ANSWERS)}, and nothing else", code="APPROVAL_INVALID")
    if answer.digest != approval.digest:
        raise Refused("the answer is for a different question: the approval has changed", code="APPROVAL_DIGEST")
    answered_at = answer.at if answer.answered_at is None else answer.answered_at
    is_expired = approval.expires_at is not None and answered_at >= approval.expires_at
    if answer.by == TIMER:
        if not is_expired:
            raise Refused("the approval has time left", code="APPROVAL_EARLY")
        spec = run.workflow.nodes[approval.node].approval
        if answer.status != "denied" and (spec is None or spec.on_timeout == "deny"):
            raise Refused("the approval was not approved in time, so it is denied", code="APPROVAL_EXPIRED")
        return
    if is_expired:
        raise Refused("the approval has expired", code="APPROVAL_EXPIRED")
    if approval.approvers and answer.by not in approval.approvers:
        names = ", ".join(approval.approvers)
        raise Refused(f"{answer.by} may not answer this; {names} may", code="APPROVER_NOT_ALLOWED")


def _admit_values(run: Run, approval: OpenApproval, answer: commands.AnswerApproval) -> None:
    """Raise Refused APPROVAL_INVALID for values that the node's expressions cannot have, or that come too late."""
    if not answer.skip and answer.items is None and answer.count is None:
        return
    spec = run.workflow.nodes[approval.node]
    if approval.kind != "approval" or answer.status != "modified" or spec.work.asks_person:
        wrong = "only changed inputs change whether and on which items it works"
    elif has_begun(run.nodes[approval.node]):
        wrong = "part of its work is done, and its inputs can no longer be changed"
    elif answer.skip:
        wrong = None if spec.when is not None else "it has no condition"
    elif answer.items is None or answer.count is None or answer.count < 0 or spec.foreach is None:
        wrong = "a foreach needs its items and their count, and only a foreach does"
    else:
        wrong = None
    if wrong is not None:
        raise Refused(f"{approval.node}: {wrong}", code="APPROVAL_INVALID")


def _resolved(approval: OpenApproval, answer: commands.AnswerApproval) -> events.ApprovalResolved:
    resolution: dict[str, Json] = {"status": answer.status}
    if answer.status == "modified":
        if approval.kind in (*OWN_QUESTIONS, "call") and (answer.args is None or answer.new_digest is None):
            raise Refused("a modified answer needs its arguments and their digest", code="APPROVAL_INVALID")
        resolution["modifiedArgs"] = answer.args or {}
        if answer.stored is not None:
            resolution["stored"] = answer.stored
    if answer.remember is not None:
        resolution |= _remembered(approval, answer)
    return events.ApprovalResolved(
        at=answer.at,
        approval_id=approval.id,
        node=approval.node,
        visit=approval.visit,
        item=approval.item,
        resolution=resolution,
        by=answer.by,
        reason=_reason(answer),
        digest=answer.new_digest or approval.digest,
        items=answer.items,
        count=answer.count,
    )


def _remembered(approval: OpenApproval, answer: commands.AnswerApproval) -> JsonObject:
    """Return what is kept of an approval that holds for more than one call: how long, and the rule that was shown."""
    rule = cast("JsonObject", cast("JsonObject", approval.document["tool"])["args"]).get("rule")
    if approval.kind != "call" or answer.status != "approved" or rule is None:
        raise Refused(
            "this approval cannot be remembered: no rule was shown with the question",
            code="APPROVAL_INVALID",
            hint="approve it for this one call",
        )
    return {"remember": answer.remember, "rule": rule}


def _attempt_of(run: Run, approval: OpenApproval) -> receipts.AttemptRef:
    """Return the attempt that an answer stands for: the stopped one (uncertain), or the one that was to start next."""
    node = run.nodes[approval.node]
    if approval.kind == "uncertain":
        attempt, item = node.slots[approval.slot].attempt, approval.item
    else:
        index = node.queue[-1]
        attempt = node.slots[index].attempt + 1
        item = index if run.workflow.nodes[approval.node].foreach is not None else None
    return receipts.AttemptRef(node=approval.node, visit=approval.visit, attempt=attempt, item=item)


def _succeeded(run: Run, approval: OpenApproval, answer: commands.AnswerApproval) -> events.AttemptSucceeded:
    if answer.outputs is None:
        raise Refused("the answer lacks the node's outputs", code="APPROVAL_INVALID")
    attempt = _attempt_of(run, approval)
    evidence = receipts.Evidence(inputs_hash=answer.inputs_hash, output_hash=answer.output_hash)
    return events.AttemptSucceeded(
        at=answer.at,
        node=approval.node,
        visit=approval.visit,
        attempt=attempt.attempt,
        item=attempt.item,
        outputs=answer.outputs,
        receipt=receipts.build(run, attempt, "succeeded", evidence, answer.at),
    )


def _denied(run: Run, approval: OpenApproval, answer: commands.AnswerApproval) -> tuple[events.Event, ...]:
    """Return the events of a denial: as the node says, the run ends, goes on, or bounces with the reason.

    To go on means that an approval node succeeds with `approved: false`. Another node is skipped, unless part of its
    work is done already: then the run ends as denied, because a part must not count as the whole.
    """
    spec = run.workflow.nodes[approval.node]
    if spec.approval is not None and spec.approval.on_deny == "continue":
        if spec.work.asks_person:
            return scheduler_of(run).completion(run, _succeeded(run, approval, answer), None)
        if not is_under_way(run.nodes[approval.node]):
            return (events.NodeSkipped(at=answer.at, node=approval.node, visit=approval.visit, reason="denied"),)
    bounce_rule = _denial_bounce_rule(run, approval.node, spec.approval)
    error = _denial(answer)
    attempt = _attempt_of(run, approval)
    evidence = receipts.Evidence(inputs_hash=answer.inputs_hash, output_hash=receipts.digest(error))
    return (
        events.AttemptFailed(
            at=answer.at,
            node=approval.node,
            visit=approval.visit,
            attempt=attempt.attempt,
            item=attempt.item,
            error=error,
            next="fail" if bounce_rule is None else "bounce",
            rule=bounce_rule,
            ending="denied" if bounce_rule is None else None,
            receipt=receipts.build(run, attempt, "failed", evidence, answer.at),
        ),
    )


def _denial_bounce_rule(run: Run, key: str, spec: definition.Approval | None) -> int | None:
    """Return -1, the rule of a denial's bounce, if the node has such a bounce left; else None."""
    if spec is None or spec.on_deny != "bounce" or spec.bounce is None:
        return None
    bounce_count = run.nodes[key].bounces.get(-1, 0)
    return -1 if bounce_count < spec.bounce.max_bounces else None


def _reason(answer: commands.AnswerApproval) -> str | None:
    return answer.reason or ("expired" if answer.by == TIMER else None)


def _denial(answer: commands.AnswerApproval) -> JsonObject:
    return {
        "code": "APPROVAL_DENIED",
        "message": _reason(answer) or f"denied by {answer.by}",
        "by": answer.by,
    }


def _failed(run: Run, approval: OpenApproval, answer: commands.AnswerApproval) -> events.NodeFailed | events.ItemFailed:
    """Return the failure of a node that a person does not let go on, with its last failure as evidence.

    A foreach that keeps failed items loses only the item that was asked about.
    """
    last = run.nodes[approval.node].slots[approval.slot].feedback
    code = "UNCERTAIN_EFFECT" if approval.kind == "uncertain" else "STALLED"
    error: dict[str, Json] = {"code": code, "message": answer.reason or f"{approval.kind}: denied by {answer.by}"}
    if isinstance(last, dict):
        error["last"] = last.get("error")
    if approval.item is not None and run.workflow.nodes[approval.node].keeps_failed_items:
        return events.ItemFailed(
            at=answer.at, node=approval.node, visit=approval.visit, item=approval.item, error=error
        )
    return events.NodeFailed(at=answer.at, node=approval.node, visit=approval.visit, error=error)
