"""What listings know of a run, kept beside the log: its row, and its open approvals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from openskelo.contract import envelope
from openskelo.engine import stakes
from openskelo.kernel import events
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import OpenApproval, Run, status
from openskelo.stores import log
from openskelo.values import ordering

#: Facts about attempts alone.
_OF_WORK = (events.AttemptStarted, events.AttemptSucceeded)


def row(run: Run, before: log.RunRow | None) -> log.RunRow | None:
    """The run's new row, or None while the old one still says the same."""
    if run.in_flight and before is not None and before.status == "running" and not run.ended:
        return None
    now = status(run)
    ending = run.ending if run.ended else None
    if before is not None and before.status == now and before.ending == ending:
        return None
    parent: Any = None if run.parent is None else run.parent.get("runId")
    workflow = run.workflow
    return log.RunRow(
        run_id=run.id,
        name=workflow.name,
        workflow_hash=workflow.hash,
        status=now,
        ending=ending,
        created_at=run.created_at,
        updated_at=run.updated_at,
        parent=parent,
    )


def run_document(listed: log.RunRow) -> JsonObject:
    """A run as listings show it."""
    return {
        "runId": listed.run_id,
        "name": listed.name,
        "status": listed.status,
        "ending": listed.ending,
        "createdAt": envelope.timestamp(listed.created_at),
        "updatedAt": envelope.timestamp(listed.updated_at),
    }


def approvals(run: Run, facts: Sequence[events.Event]) -> tuple[tuple[log.ApprovalRow, ...], tuple[str, ...]]:
    """The approvals that these facts opened (and left open) and closed."""
    if not run.asked:  # nobody ever was
        return (), ()
    opened: list[log.ApprovalRow] = []
    closed: list[str] = []
    for fact in facts:
        if type(fact) in _OF_WORK:
            continue  # nearly always
        match fact:
            case events.ApprovalRequested():
                asked = run.approvals.get(fact.approval_id)
                if asked is not None:
                    opened.append(_approval(run, asked, fact.at))
            case events.ApprovalResolved() | events.ApprovalWithdrawn():
                closed.append(fact.approval_id)
            case _:
                continue
    return tuple(opened), tuple(closed)


def _approval(run: Run, asked: OpenApproval, at: int) -> log.ApprovalRow:
    document: JsonObject = {
        **approval_document(run, asked),
        "requestedAt": envelope.timestamp(at),
        "visit": asked.visit,
        "item": asked.item,
    }
    return log.ApprovalRow(approval_id=asked.id, run_id=run.id, node=asked.node, document=document)


def approval_document(run: Run, asked: OpenApproval) -> JsonObject:
    """An open approval as people and programs see it."""
    tool = cast("JsonObject", asked.document["tool"])
    work = stakes.of(run, asked)
    document: dict[str, Json] = {
        "id": asked.id,
        "runId": run.id,
        "node": asked.node,
        "kind": asked.kind,
        "prompt": asked.document["prompt"],
        "form": ordering.restored(cast("JsonObject", asked.document["form"])),
        "args": tool["args"],
        "approvers": list(asked.approvers),
        "digest": asked.digest,
        "expiresAt": None if asked.expires_at is None else envelope.timestamp(asked.expires_at),
        "tool": tool,
    }
    return document if work is None else {**document, "work": work}
