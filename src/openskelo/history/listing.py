"""A run in listings: its row and its open approvals, which the driver commits with the events that change them.

Also how a caller finds one there, and how a command names it: `find_run`, `find_approval`, `short_ids`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, cast

from openskelo import errors
from openskelo.executors.inputs import approval_context
from openskelo.kernel import events, ids
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


class ListedRunDocument(TypedDict):
    """A run in a listing. Times are ISO 8601 texts."""

    runId: str
    name: str
    status: str
    #: None until the run has ended.
    ending: str | None
    createdAt: str
    updatedAt: str


def run_document(listed: api.RunRow) -> ListedRunDocument:
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
    open_rows: list[api.ApprovalRow] = []
    closed_ids: list[str] = []
    for fact in facts:
        match fact:
            case events.ApprovalRequested():
                approval = run.approvals.get(fact.approval_id)
                if approval is not None:
                    open_rows.append(_approval_row(run, approval, fact.at))
            case events.ApprovalResolved() | events.ApprovalWithdrawn():
                closed_ids.append(fact.approval_id)
            case _:
                continue
    return tuple(open_rows), tuple(closed_ids)


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
    if work is None:
        return document
    return {**document, "work": work}


# -- what a caller names ----------------------------------------------------------------------------------------------
#
# A run or an open approval by its id, its first characters, or `last`.

#: How many characters of an id name a run or an approval.
SHORTEST_PREFIX = 4


async def find_run(log: api.Listings, text: str) -> api.RunRow:
    """Return the run that `text` names. Raise NotFound, or InvalidInput if several match."""
    prefix = text.strip().lower()
    if prefix == "last":
        newest = await log.list_runs(limit=1)
        if not newest:
            raise errors.NotFound("there are no runs yet", code="RUN_NOT_FOUND", hint="skelo run FILE starts one")
        return newest[0]
    row = await log.find_run(prefix)
    if row is not None:
        return row
    if len(prefix) < SHORTEST_PREFIX:
        raise errors.InvalidInput(
            f"{text!r} is too short for a run id",
            code="USAGE",
            hint=f"give at least {SHORTEST_PREFIX} characters, or `last`",
        )
    rows = await log.list_runs_by_prefix(prefix)
    if len(rows) > 1:
        run_ids = ", ".join(row.run_id for row in rows[:4])
        raise errors.InvalidInput(
            f"{text} matches {len(rows)} runs", code="RUN_AMBIGUOUS", hint=f"give more characters of one of: {run_ids}"
        )
    return errors.require_run(next(iter(rows), None), text)


async def find_approval(log: api.Approvals, text: str) -> api.ApprovalRow:
    """Return the open approval that `text` names. Raise NotFound, or InvalidInput if several match.

    `last` names the only open approval. If several are open it is refused, because the newest may not be the one that
    the user has read.
    """
    prefix = text.strip().lower()
    if prefix == "last":
        return _only_approval(await log.list_approvals())
    row = await log.find_approval(prefix)
    if row is not None:
        return row
    rows: list[api.ApprovalRow] = []
    if len(prefix) >= SHORTEST_PREFIX:
        rows = [row for row in await log.list_approvals() if row.approval_id.startswith(prefix)]
    if len(rows) == 1:
        return errors.require_run(next(iter(rows), None), text)
    if rows:
        raise errors.InvalidInput(
            f"{text} matches {len(rows)} approvals", code="APPROVAL_AMBIGUOUS", hint="give more characters"
        )
    raise errors.NotFound(
        f"there is no open approval {text}",
        code="APPROVAL_NOT_FOUND",
        hint="`skelo approvals` lists what is open; an answered one is closed for good",
    )


def _only_approval(rows: Sequence[api.ApprovalRow]) -> api.ApprovalRow:
    if not rows:
        raise errors.NotFound("no approval is open", code="APPROVAL_NOT_FOUND", hint="`skelo runs` lists the runs")
    if len(rows) > 1:
        approval_names = ", ".join(f"{ids.short(row.approval_id)} ({row.node})" for row in reversed(rows[-4:]))
        raise errors.InvalidInput(
            f"{len(rows)} approvals are open, so `last` names none of them",
            code="APPROVAL_AMBIGUOUS",
            hint=f"name one by its id: {approval_names}",
        )
    return rows[0]


async def short_ids(log: api.Store, names: Mapping[str, Iterable[str]]) -> Mapping[str, str]:
    """Return what to type for each run of `names`, and for its open approvals: no other one begins so.

    `names` has the ids of the approvals by the ids of their runs.
    """
    short_forms: dict[str, str] = {}
    still_open = [row.approval_id for row in await log.list_approvals()]
    for run_id, approval_ids in names.items():
        alike = [row.run_id for row in await log.list_runs_by_prefix(ids.short(run_id))]
        short_forms[run_id] = _unambiguous(run_id, alike)
        for approval_id in approval_ids:
            short_forms[approval_id] = _unambiguous(approval_id, still_open)
    return short_forms


def _unambiguous(name: str, others: Sequence[str]) -> str:
    size = len(ids.short(name))
    while size < len(name) and any(other.startswith(name[:size]) for other in others if other != name):
        size += 1
    return name[:size]
