"""The approvals that the kernel requests: a node's own question, and questions about uncertain or stalled work."""

from __future__ import annotations

from openskelo.kernel import commands, events, ids, receipts
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import Attempt, NodeState, Run

#: The most characters of a failure in the prompt; the arguments have all of it.
_MAX_ERROR_CHARS = 400


def about_node(run: Run, node: NodeState, ask: commands.Ask, at: int) -> events.ApprovalRequested:
    """Return the request of an approval node, or of the checkpoint before a node's work."""
    approval_id = ids.derive(run.id, f"approval/{run.approvals_requested + 1}")
    step = run.workflow.nodes[node.key].step
    name = "ask_human" if step is not None and step.op == "ask_human" else "approval"
    tool: dict[str, Json] = {"id": ids.derive(approval_id, "tool"), "name": name, "args": ask.args}
    if ask.stored is not None:
        tool["stored"] = ask.stored
    return events.ApprovalRequested(
        at=at,
        approval_id=approval_id,
        node=node.key,
        visit=node.visit,
        tool=tool,
        digest=ask.digest,
        prompt=ask.prompt,
        form=ask.form,
        approvers=_approvers(run, node.key),
        expires_at=ask.expires_at,
    )


def about_uncertain(run: Run, attempt: Attempt, at: int) -> events.ApprovalRequested:
    """Return the question whether the effect of a stopped or failed attempt has happened."""
    args: dict[str, Json] = {"node": attempt.node, "visit": attempt.visit, "attempt": attempt.attempt}
    if attempt.item is not None:
        args["item"] = attempt.item
    name = _name(attempt)
    sentence = f"{name} was cut while its effect may have happened."
    if attempt.error is not None:
        args |= {"code": attempt.error["code"], "message": attempt.error["message"]}
        sentence = f"{name} failed ({_describe(attempt.error)}), and its effect may have happened all the same."
    if attempt.outside_calls:
        args["calls"] = [{"id": call_id, "tool": tool} for call_id, tool in attempt.outside_calls.items()]
        tools = ", ".join(dict.fromkeys(attempt.outside_calls.values()))
        sentence += f" Its agent was in the middle of a call of {tools}."
    prompt = f"{sentence} Answer that it happened, with its outputs; or do it again; or count it as failed."
    return _ask(run, attempt, "uncertain", prompt, args, at)


def about_stall(run: Run, stalled: events.RunStalled, rule: int | None) -> events.ApprovalRequested:
    """Return the question whether a loop that makes no progress should go on."""
    args: dict[str, Json] = {"node": stalled.node, "kind": stalled.kind, **stalled.evidence}
    if stalled.item is not None:
        args["item"] = stalled.item
    if rule is not None:
        args["rule"] = rule
    prompt = (
        f"{_name(stalled)} has failed {_repeated(stalled)} times: {_describe(stalled.evidence)}\n"
        "Approve to go on trying, deny to end the run."
    )
    return _ask(run, stalled, "stalled", prompt, args, stalled.at)


def _repeated(stalled: events.RunStalled) -> str:
    """Return what the failures have in common, and how many there were."""
    how = {"diff": "with the same changes", "gates": "at the same gates"}.get(stalled.kind, "the same way")
    return f"{how} {stalled.evidence['repeats']}"


def about_circle(run: Run, stalled: events.RunStalled, _rule: None) -> events.ApprovalRequested:
    """Return the question whether a branch of a plan should go back again although no variable has changed."""
    args: dict[str, Json] = {"node": stalled.node, "kind": stalled.kind, **stalled.evidence}
    repeats, message = stalled.evidence["repeats"], stalled.evidence["message"]
    prompt = (
        f"{stalled.node} has decided the same {repeats} times while no variable changed: {message}\n"
        "Approve to go on, deny to end the run."
    )
    return _ask(run, stalled, "stalled", prompt, args, stalled.at)


def about_repetition(run: Run, stalled: events.RunStalled) -> events.ApprovalRequested:
    """Return the question whether a turn of a live graph with repeated outputs should be handed on."""
    args: dict[str, Json] = {"node": stalled.node, "kind": stalled.kind, **stalled.evidence}
    prompt = f"{stalled.node} says the same again and again. Approve to hand it on, deny to stop it here."
    return _ask(run, stalled, "stalled", prompt, args, stalled.at)


def _name(subject: Attempt | events.RunStalled) -> str:
    """Return the node's key, with the index of its item."""
    return subject.node if subject.item is None else f"{subject.node}[{subject.item}]"


def _describe(error: JsonObject) -> str:
    text = f"{error['code']} {error['message']}"
    return text if len(text) <= _MAX_ERROR_CHARS else f"{text[:_MAX_ERROR_CHARS]}…"


def _approvers(run: Run, key: str) -> tuple[str, ...]:
    """Return who may answer: the approvers of the node's own approval."""
    approval = run.workflow.nodes[key].approval
    return () if approval is None else approval.approvers


def _ask(
    run: Run, subject: Attempt | events.RunStalled, kind: str, prompt: str, args: JsonObject, at: int
) -> events.ApprovalRequested:
    approval_id = ids.derive(run.id, f"approval/{run.approvals_requested + 1}")
    digest = receipts.digest({"workflow": run.workflow.hash, "kind": kind, "id": approval_id, "args": args})
    return events.ApprovalRequested(
        at=at,
        approval_id=approval_id,
        node=subject.node,
        visit=subject.visit,
        item=subject.item,
        tool={"id": ids.derive(approval_id, "tool"), "name": kind, "args": args},
        digest=digest,
        prompt=prompt,
        form={},
        approvers=_approvers(run, subject.node),
    )
