"""What a question to a person, its answer and its withdrawal do to a run."""

from __future__ import annotations

import heapq
from typing import cast

from openskelo.kernel import event_data, events, places
from openskelo.kernel.flows import turns
from openskelo.kernel.json import JsonObject, Stored
from openskelo.kernel.run import OWN_QUESTIONS, NodeState, OpenApproval, Run
from openskelo.kernel.stall import NO_STREAK


def requested(run: Run, event: events.ApprovalRequested) -> None:
    """The question is open. One about a node's work holds the step that the answer, or the work, will take."""
    kind = cast("str", event.tool["name"])
    index = event.item or 0
    run.asked += 1
    if kind in OWN_QUESTIONS:
        run.reserved.steps += 1
    if kind == "uncertain":
        run.uncertain.pop((event.node, event.visit, index), None)
    args = cast("JsonObject", event.tool["args"])
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
        document=event_data.encode(event),
        rule=cast("int | None", args.get("rule")) if kind == "stalled" else None,
    )
    if event.expires_at is not None:
        heapq.heappush(run.expiries, (event.expires_at, event.approval_id))


def _close(run: Run, approval_id: str) -> OpenApproval:
    """The question is open no longer; the head of `expiries` stays one that is."""
    asked = run.approvals.pop(approval_id)
    if asked.kind in OWN_QUESTIONS:
        run.reserved.steps -= 1
    while run.expiries and run.expiries[0][1] not in run.approvals:
        heapq.heappop(run.expiries)
    return asked


def resolved(run: Run, event: events.ApprovalResolved) -> None:
    """What a yes allows may start; what a no leads to is said by the fact that follows in the same append."""
    asked = _close(run, event.approval_id)
    status = event.resolution["status"]
    if status == "denied":
        return
    node = run.nodes[asked.node]
    match asked.kind:
        case "approval" | "ask_human":
            if run.workflow.nodes[asked.node].mode != "approval":
                node.granted = True
                node.status = "ready"
                if status == "modified":
                    _edit(run, node, event)
                places.offer(run, node)
        case "uncertain":
            if status == "approved":
                places.requeue(run, node, asked.slot)
        case _ if turns.let_go(run, node, event.at):
            pass  # what was held is handed on by the facts that follow
        case _:  # stalled
            slot = node.slots[asked.slot]
            slot.streak = node.loop = NO_STREAK
            if asked.rule is None:
                places.requeue(run, node, asked.slot)
            else:
                places.plan_bounce(run, node, asked.rule, slot.feedback)


def _edit(run: Run, node: NodeState, event: events.ApprovalResolved) -> None:
    """The node's work is done on what the person has made of its inputs, and of its items."""
    edited: Stored = {"value": event.resolution["modifiedArgs"]}
    node.inputs = cast("Stored", event.resolution.get("stored", edited))
    node.edited = True
    if event.count is not None:
        places.divide(node, event.items, event.count)
        if not event.count:
            run.finishing[node.key] = None


def withdrawn(run: Run, event: events.ApprovalWithdrawn) -> None:
    """The question no longer stands, because its node is entered anew or the run ends."""
    asked = _close(run, event.approval_id)
    if event.reason == "ending":
        places.cancel(run.nodes[asked.node])
    elif event.reason == "interrupt":
        turns.cut(run, run.nodes[asked.node], event.at)
