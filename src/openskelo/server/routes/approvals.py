"""Approvals: what waits for a person, and their answers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from openskelo import errors
from openskelo.contract.wire import approval as wire
from openskelo.server import answered, models, problems, responses, views
from openskelo.server.bodies import Route
from openskelo.server.desk import VIEWERS, Approver, Here
from openskelo.server.params import ApprovalId, Limit, RunId
from openskelo.stores import log

router = APIRouter(prefix="/api/approvals", tags=["approvals"], route_class=Route, dependencies=VIEWERS)


@router.get("", response_model=models.ApprovalPage, responses=problems.responses(410))
async def list_approvals(
    desk: Here,
    run_id: Annotated[RunId | None, Query(alias="runId", description="only those of this run")] = None,
    limit: Limit = 100,
    cursor: Annotated[ApprovalId | None, Query(description="`nextCursor` of the page before")] = None,
) -> Response:
    """Open approvals, in the order they were asked."""
    await _check_cursor(desk, cursor)
    rows = await desk.engine.store.approvals(run_id, limit=limit + 1, after=cursor)
    more = rows[limit - 1].approval_id if len(rows) > limit else None
    return responses.document({"approvals": [views.approval(row) for row in rows[:limit]], "nextCursor": more})


@router.get("/answered", response_model=models.AnsweredPage, responses=problems.responses(410))
async def list_answered(
    desk: Here,
    limit: Annotated[int, Query(ge=1, le=100, description="at most so many")] = 20,
    cursor: Annotated[ApprovalId | None, Query(description="`nextCursor` of the page before")] = None,
) -> Response:
    """Answered approvals of all runs, the newest question first."""
    await _check_cursor(desk, cursor)
    closed = await desk.engine.store.closed(limit=limit + 1, before=cursor)
    found = await answered.of(desk.views, closed[:limit])
    more = closed[limit - 1][0] if len(closed) > limit else None
    return responses.document({"answered": found, "nextCursor": more})


@router.get("/{approval_id}/answer", response_model=models.Answered, responses=problems.responses(404))
async def get_answer(desk: Here, approval_id: ApprovalId) -> Response:
    """An answered approval: what was asked, and what was answered."""
    run_id = await desk.engine.store.asker(approval_id)
    found = [] if run_id is None else await answered.of(desk.views, [(approval_id, run_id)])
    if not found:
        raise errors.NotFound(
            f"approval {approval_id} is not answered",
            code="APPROVAL_NOT_FOUND",
            hint="GET /api/approvals/answered lists those that are",
        )
    return responses.document(found[0])


@router.get("/{approval_id}", response_model=wire.Approval, responses=problems.responses(404, 410))
async def get_approval(desk: Here, approval_id: ApprovalId) -> Response:
    """An open approval."""
    row = await desk.engine.store.approval(approval_id)
    if row is None and await desk.engine.store.asker(approval_id) is not None:
        raise problems.Problem(410, "APPROVAL_CLOSED", "the approval is not open any more")
    return responses.document(views.approval(_open(approval_id, row)))


@router.post(
    "/{approval_id}/resolve",
    response_model=models.Resolved,
    responses=problems.responses(202, 404, 409, 413, 415),
)
async def resolve_approval(desk: Here, who: Approver, approval_id: ApprovalId, body: wire.ResolveBody) -> Response:
    """Answer an approval; its run goes on. Modified arguments must fit the form."""
    row = await desk.engine.store.approval(approval_id)
    if body.digest is not None and row is not None and body.digest != row.document["digest"]:
        raise errors.Refused("the answer is about something else than what is asked", code="APPROVAL_DIGEST")
    given = body.resolution
    if given.modified_args is not None and given.status != "modified":
        raise errors.InvalidInput(
            "only a modified answer has modifiedArgs", code="APPROVAL_INVALID", hint="use status modified"
        )
    run_id = await desk.engine.answer(
        approval_id, status=given.status, values=given.modified_args, reason=given.reason, by=who.name
    )
    return responses.document({"approvalId": approval_id, "runId": run_id, "status": given.status, "by": who.name})


async def _check_cursor(desk: Here, cursor: str | None) -> None:
    """Say that the place to go on from is gone: an empty page would look like the end of the list."""
    if cursor is not None and await desk.engine.store.asker(cursor) is None:
        raise problems.gone(cursor)


def _open(approval_id: str, row: log.ApprovalRow | None) -> log.ApprovalRow:
    if row is None:
        raise errors.NotFound(
            f"there is no approval {approval_id}", code="APPROVAL_NOT_FOUND", hint="GET /api/approvals lists them"
        )
    return row
