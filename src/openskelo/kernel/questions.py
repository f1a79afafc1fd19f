"""Questions that the kernel itself puts to a person, because going on without one would be a guess."""

from __future__ import annotations

from openskelo.kernel import commands, events, ids, receipts
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import InFlight, NodeState, Run

#: So much of what went wrong is in the question itself; all of it is in its arguments.
_VERDICT = 400


def about_node(run: Run, node: NodeState, asked: commands.Ask, at: int) -> events.ApprovalRequested:
    """The question an approval node is, or the checkpoint before a node's work."""
    approval_id = ids.derive(run.id, f"approval/{run.asked + 1}")
    step = run.workflow.nodes[node.key].step
    name = "ask_human" if step is not None and step.op == "ask_human" else "approval"
    tool: dict[str, Json] = {"id": ids.derive(approval_id, "tool"), "name": name, "args": asked.args}
    if asked.stored is not None:
        tool["stored"] = asked.stored
    return events.ApprovalRequested(
        at=at,
        approval_id=approval_id,
        node=node.key,
        visit=node.visit,
        tool=tool,
        digest=asked.digest,
        prompt=asked.prompt,
        form=asked.form,
        approvers=_approvers(run, node.key),
        expires_at=asked.expires_at,
    )


def about_uncertain(run: Run, flight: InFlight, at: int) -> events.ApprovalRequested:
    """Whether an effect happened that was cut by a crash, or of which its own failure does not say it."""
    args: dict[str, Json] = {"node": flight.node, "visit": flight.visit, "attempt": flight.attempt}
    if flight.item is not None:
        args["item"] = flight.item
    who = _name(flight)
    what = f"{who} was cut while its effect may have happened."
    if flight.error is not None:
        args |= {"code": flight.error["code"], "message": flight.error["message"]}
        what = f"{who} failed ({_verdict(flight.error)}), and its effect may have happened all the same."
    prompt = f"{what} If it did, answer modified with its outputs; approve to do it again; deny to fail."
    return _ask(run, flight, "uncertain", prompt, args, at)


def about_stall(run: Run, stalled: events.RunStalled, rule: int | None) -> events.ApprovalRequested:
    """Whether a loop that makes no progress should go on: what failed, how often, and why."""
    args: dict[str, Json] = {"node": stalled.node, "kind": stalled.kind, **stalled.evidence}
    if stalled.item is not None:
        args["item"] = stalled.item
    if rule is not None:
        args["rule"] = rule
    found = stalled.evidence
    prompt = (
        f"{_name(stalled)} has failed the same way {found['repeats']} times: {_verdict(found)}\n"
        "Approve to go on trying, deny to end the run."
    )
    return _ask(run, stalled, "stalled", prompt, args, stalled.at)


def about_repetition(run: Run, stalled: events.RunStalled) -> events.ApprovalRequested:
    """Whether a turn of a live graph that says the same again should be handed on all the same."""
    args: dict[str, Json] = {"node": stalled.node, "kind": stalled.kind, **stalled.evidence}
    prompt = f"{stalled.node} says the same again and again. Approve to hand it on, deny to stop it here."
    return _ask(run, stalled, "stalled", prompt, args, stalled.at)


def _name(about: InFlight | events.RunStalled) -> str:
    """The node, and which of its items it is."""
    return about.node if about.item is None else f"{about.node}[{about.item}]"


def _verdict(error: JsonObject) -> str:
    verdict = f"{error['code']} {error['message']}"
    return verdict if len(verdict) <= _VERDICT else f"{verdict[:_VERDICT]}…"


def _approvers(run: Run, key: str) -> tuple[str, ...]:
    """Those who may let the node work are also the ones who may let it work again."""
    approval = run.workflow.nodes[key].approval
    return () if approval is None else approval.approvers


def _ask(
    run: Run, about: InFlight | events.RunStalled, kind: str, prompt: str, args: JsonObject, at: int
) -> events.ApprovalRequested:
    approval_id = ids.derive(run.id, f"approval/{run.asked + 1}")
    digest = receipts.digest({"workflow": run.workflow.hash, "kind": kind, "id": approval_id, "args": args})
    return events.ApprovalRequested(
        at=at,
        approval_id=approval_id,
        node=about.node,
        visit=about.visit,
        item=about.item,
        tool={"id": ids.derive(approval_id, "tool"), "name": kind, "args": args},
        digest=digest,
        prompt=prompt,
        form={},
        approvers=_approvers(run, about.node),
    )
