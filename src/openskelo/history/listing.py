"""A run in listings: its row and its open approvals, which the driver commits with the events that change them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from openskelo.executors.inputs import approval_context
from openskelo.kernel import events
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import OpenApproval, Run, status
from openskelo.record import envelope
from openskelo.stores import api
from openskelo.values.schema import composition


def row(run: Run, before: api.RunRow | None) -> api.RunRow | None:
    """Return the run's new row, None if the one before it still holds."""
    if run.in_flight and before is not None and before.status == "running" and not run.ended:
        return None
    now = status(run)
    ending = run.ending if run.ended else None
    if before is not None and before.status == now and before.ending == ending:
        return None
    parent: Any = None if run.parent is None else run.parent.get("runId")
    workflow = run.workflow
    return api.RunRow(
        run_id=run.id,
        name=workflow.name,
        workflow_hash=workflow.hash,
        status=now,
        ending=ending,
        created_at=run.created_at,
        updated_at=run.updated_at,
        parent=parent,
    )


def run_document(listed: api.RunRow) -> JsonObject:
    """Return a run as listings show it."""
    return {
        "runId": listed.run_id,
        "name": listed.name,
        "status": listed.status,
        "ending": listed.ending,
        "createdAt": envelope.timestamp(listed.created_at),
        "updatedAt": envelope.timestamp(listed.updated_at),
    }


def approvals(run: Run, facts: Sequence[events.Event]) -> tuple[tuple[api.ApprovalRow, ...], tuple[str, ...]]:
    """Return the approvals that these events opened (and left open), and the ids of the approvals that they closed."""
    if not run.approvals_requested:
        return (), ()
    opened: list[api.ApprovalRow] = []
    closed: list[str] = []
    for fact in facts:
        match fact:
            case events.ApprovalRequested():
                approval = run.approvals.get(fact.approval_id)
                if approval is not None:
                    opened.append(_approval_row(run, approval, fact.at))
            case events.ApprovalResolved() | events.ApprovalWithdrawn():
                closed.append(fact.approval_id)
            case _:
                continue
    return tuple(opened), tuple(closed)


def _approval_row(run: Run, approval: OpenApproval, at: int) -> api.ApprovalRow:
    document: JsonObject = {
        **approval_document(run, approval),
        "runName": run.workflow.name,
        "requestedAt": envelope.timestamp(at),
        "visit": approval.visit,
        "item": approval.item,
    }
    return api.ApprovalRow(approval_id=approval.id, run_id=run.id, node=approval.node, document=document)


def approval_document(run: Run, approval: OpenApproval) -> JsonObject:
    """Return the document of an open approval."""
    tool = cast("JsonObject", approval.document["tool"])
    work = approval_context.describe(run, approval)
    document: dict[str, Json] = {
        "id": approval.id,
        "runId": run.id,
        "node": approval.node,
        "kind": approval.kind,
        "prompt": approval.document["prompt"],
        "form": composition.restore_field_order(cast("JsonObject", approval.document["form"])),
        "args": tool["args"],
        "approvers": list(approval.approvers),
        "digest": approval.digest,
        "expiresAt": None if approval.expires_at is None else envelope.timestamp(approval.expires_at),
        "tool": tool,
    }
    return document if work is None else {**document, "work": work}
