"""Ruling on a person's answer: it must be asked, open, in time, from somebody allowed, and about what was shown."""

from __future__ import annotations

from typing import get_args

from openskelo.errors import Refused
from openskelo.kernel import commands, definition, events, receipts, record
from openskelo.kernel.flows import graph
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import OWN_QUESTIONS, OpenApproval, Run, has_begun, is_under_way

#: Who answers when the time is up.
TIMER = "timer"
_ANSWERS = get_args(commands.Answer)


def decide(run: Run, answer: commands.AnswerApproval) -> tuple[events.Event, ...]:
    """The facts an answer makes true: it is resolved, and what it allows or forbids happens in the same append."""
    asked = run.approvals.get(answer.approval_id)
    if asked is None:
        raise Refused("the approval is not open (any more)", code="APPROVAL_CLOSED")
    _admit(run, asked, answer)
    _admit_values(run, asked, answer)
    resolved = _resolved(asked, answer)
    match asked.kind, answer.status:
        case (("approval" | "ask_human"), "denied"):
            return (resolved, *_denied(run, asked, answer))
        case (("approval" | "ask_human"), _) if run.workflow.nodes[asked.node].mode == "approval":
            return (resolved, _succeeded(run, asked, answer))
        case "uncertain", "modified":
            landed = _succeeded(run, asked, answer)
            return (resolved, landed) if run.live is None else (resolved, landed, *graph.onward(run, landed))
        case "stalled", "modified":
            raise Refused("a stalled loop can only be approved or denied", code="APPROVAL_INVALID")
        case (("uncertain" | "stalled"), "denied"):
            return (resolved, _node_failed(run, asked, answer))
        case "stalled", _ if run.live is not None:
            return (resolved, *graph.released(run, asked.node, answer.at))
        case "approval", "modified" if answer.skip:
            return (resolved, events.NodeSkipped(at=answer.at, node=asked.node, visit=asked.visit, reason="when"))
        case _:
            return (resolved,)


def _admit(run: Run, asked: OpenApproval, answer: commands.AnswerApproval) -> None:
    if answer.status not in _ANSWERS:  # what is not a no is not a yes either
        raise Refused(f"an answer is {', '.join(_ANSWERS)}, and nothing else", code="APPROVAL_INVALID")
    if answer.digest != asked.digest:
        raise Refused("the answer is about something else than what is asked", code="APPROVAL_DIGEST")
    expired = asked.expires_at is not None and answer.at >= asked.expires_at
    if answer.by == TIMER:
        if not expired:
            raise Refused("the approval has time left", code="APPROVAL_EARLY")
        approval = run.workflow.nodes[asked.node].approval
        if answer.status != "denied" and (approval is None or approval.on_timeout == "deny"):
            raise Refused("nobody said yes in time, which means no", code="APPROVAL_EXPIRED")
        return
    if expired:
        raise Refused("the approval has expired", code="APPROVAL_EXPIRED")
    if asked.approvers and answer.by not in asked.approvers:
        names = ", ".join(asked.approvers)
        raise Refused(f"{answer.by} may not answer this; {names} may", code="APPROVER_NOT_ALLOWED")


def _admit_values(run: Run, asked: OpenApproval, answer: commands.AnswerApproval) -> None:
    """Refuse new values of a node's expressions that do not belong to it, or come when part of its work is done."""
    if not answer.skip and answer.items is None and answer.count is None:
        return
    shape = run.workflow.nodes[asked.node]
    if asked.kind != "approval" or answer.status != "modified" or shape.mode == "approval":
        wrong = "only changed inputs change whether and on which items it works"
    elif has_begun(run.nodes[asked.node]):
        wrong = "part of its work is done, and what it works on can be changed no more"
    elif answer.skip:
        wrong = None if shape.when is not None else "it has no condition"
    elif answer.items is None or answer.count is None or answer.count < 0 or shape.foreach is None:
        wrong = "a foreach needs its items and their count, and only a foreach does"
    else:
        wrong = None
    if wrong is not None:
        raise Refused(f"{asked.node}: {wrong}", code="APPROVAL_INVALID")


def _resolved(asked: OpenApproval, answer: commands.AnswerApproval) -> events.ApprovalResolved:
    resolution: dict[str, Json] = {"status": answer.status}
    if answer.status == "modified":
        if asked.kind in OWN_QUESTIONS and (answer.args is None or answer.new_digest is None):
            raise Refused("a modified answer needs its arguments and their digest", code="APPROVAL_INVALID")
        resolution["modifiedArgs"] = answer.args or {}
        if answer.stored is not None:
            resolution["stored"] = answer.stored
    return events.ApprovalResolved(
        at=answer.at,
        approval_id=asked.id,
        node=asked.node,
        visit=asked.visit,
        item=asked.item,
        resolution=resolution,
        by=answer.by,
        reason=_reason(answer),
        digest=answer.new_digest or asked.digest,
        items=answer.items,
        count=answer.count,
    )


def _tried(run: Run, asked: OpenApproval) -> record.Attempt:
    """The attempt an answer stands for: the one that was cut (uncertain), or the one that was to start next."""
    node = run.nodes[asked.node]
    if asked.kind == "uncertain":
        attempt, item = node.slots[asked.slot].attempt, asked.item
    else:
        index = node.queue[-1]
        attempt = node.slots[index].attempt + 1
        item = index if run.workflow.nodes[asked.node].foreach is not None else None
    return record.Attempt(node=asked.node, visit=asked.visit, attempt=attempt, item=item)


def _succeeded(run: Run, asked: OpenApproval, answer: commands.AnswerApproval) -> events.AttemptSucceeded:
    if answer.outputs is None:
        raise Refused("the answer lacks the node's outputs", code="APPROVAL_INVALID")
    tried = _tried(run, asked)
    evidence = record.Evidence(inputs_hash=answer.inputs_hash, output_hash=answer.output_hash)
    return events.AttemptSucceeded(
        at=answer.at,
        node=asked.node,
        visit=asked.visit,
        attempt=tried.attempt,
        item=tried.item,
        outputs=answer.outputs,
        receipt=record.receipt(run, tried, "succeeded", evidence, answer.at),
    )


def _denied(run: Run, asked: OpenApproval, answer: commands.AnswerApproval) -> tuple[events.Event, ...]:
    """A denial ends the run, goes on, or bounces with the reason, as the node says.

    To go on is `approved: false` from an approval node. A node that was to be let work is skipped, unless part of its
    work was done already: then the run ends as denied, because a part must not pass for the whole.
    """
    shape = run.workflow.nodes[asked.node]
    approval = shape.approval
    if approval is not None and approval.on_deny == "continue":
        if shape.mode == "approval":
            return (_succeeded(run, asked, answer),)
        if not is_under_way(run.nodes[asked.node]):
            return (events.NodeSkipped(at=answer.at, node=asked.node, visit=asked.visit, reason="denied"),)
    bounce = _bounce_left(run, asked, approval)
    error = _denial(answer)
    tried = _tried(run, asked)
    evidence = record.Evidence(inputs_hash=answer.inputs_hash, output_hash=receipts.digest(error))
    return (
        events.AttemptFailed(
            at=answer.at,
            node=asked.node,
            visit=asked.visit,
            attempt=tried.attempt,
            item=tried.item,
            error=error,
            next="fail" if bounce is None else "bounce",
            rule=bounce,
            ending="denied" if bounce is None else None,
            receipt=record.receipt(run, tried, "failed", evidence, answer.at),
        ),
    )


def _bounce_left(run: Run, asked: OpenApproval, approval: definition.Approval | None) -> int | None:
    if approval is None or approval.on_deny != "bounce" or approval.bounce is None:
        return None
    used = run.nodes[asked.node].bounces.get(-1, 0)
    return -1 if used < approval.bounce.max_bounces else None


def _reason(answer: commands.AnswerApproval) -> str | None:
    return answer.reason or ("expired" if answer.by == TIMER else None)


def _denial(answer: commands.AnswerApproval) -> JsonObject:
    return {
        "code": "APPROVAL_DENIED",
        "message": _reason(answer) or f"denied by {answer.by}",
        "by": answer.by,
    }


def _node_failed(run: Run, asked: OpenApproval, answer: commands.AnswerApproval) -> events.NodeFailed:
    """A person would not let the node go on: the run fails, with the last failure as evidence."""
    last = run.nodes[asked.node].slots[asked.slot].feedback
    code = "UNCERTAIN_EFFECT" if asked.kind == "uncertain" else "STALLED"
    error: dict[str, Json] = {"code": code, "message": answer.reason or f"{asked.kind}: denied by {answer.by}"}
    if isinstance(last, dict):
        error["last"] = last.get("error")
    return events.NodeFailed(at=answer.at, node=asked.node, visit=asked.visit, error=error)
