"""Approvals: the open ones, the answered ones, and answering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, cast

from fastapi import APIRouter, Query, Response

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.server import models, problems, rest, views
from openskelo.server.rest import VIEWERS, Approver, Context
from openskelo.stores import api
from openskelo.wire.models import approval as wire

router = APIRouter(prefix="/api/approvals", tags=["approvals"], route_class=rest.StrictRoute, dependencies=VIEWERS)


@router.get("", response_model=models.ApprovalPage, responses=problems.responses(410))
async def list_approvals(
    context: Context,
    run_id: Annotated[rest.RunId | None, Query(alias="runId", description="only approvals of this run")] = None,
    limit: rest.Limit = 100,
    cursor: Annotated[rest.ApprovalId | None, Query(description="`nextCursor` of the previous page")] = None,
) -> Response:
    """List open approvals, oldest first."""
    await _check_cursor(context, cursor)
    rows = await context.approvals.list_approvals(run_id, limit=limit + 1, after=cursor)
    next_cursor = rows[limit - 1].approval_id if len(rows) > limit else None
    return rest.json_response(
        {"approvals": [views.approval_document(row) for row in rows[:limit]], "nextCursor": next_cursor}
    )


@router.get("/answered", response_model=models.AnsweredPage, responses=problems.responses(410))
async def list_answered(
    context: Context,
    run_id: Annotated[rest.RunId | None, Query(alias="runId", description="only approvals of this run")] = None,
    limit: Annotated[int, Query(ge=1, le=100, description="the maximum number of entries")] = 20,
    cursor: Annotated[rest.ApprovalId | None, Query(description="`nextCursor` of the previous page")] = None,
) -> Response:
    """List answered approvals of all runs or of one, the most recently requested first."""
    await _check_cursor(context, cursor)
    if run_id is not None:
        return await _list_answered_of_run(context, run_id, limit, cursor)
    closed_rows = await context.approvals.list_closed_approvals(limit=limit + 1, before=cursor)
    documents = await _read_answered(context.views, closed_rows[:limit])
    next_cursor = closed_rows[limit - 1][0] if len(closed_rows) > limit else None
    return rest.json_response({"answered": documents, "nextCursor": next_cursor})


@router.get("/{approval_id}/answer", response_model=models.Answered, responses=problems.responses(404))
async def get_answer(context: Context, approval_id: rest.ApprovalId) -> Response:
    """Return an answered approval: what was requested, and the answer."""
    run_id = await context.approvals.find_approval_run(approval_id)
    documents = [] if run_id is None else await _read_answered(context.views, [(approval_id, run_id)])
    if not documents:
        raise errors.NotFound(
            f"approval {approval_id} is not answered",
            code="APPROVAL_NOT_FOUND",
            hint="GET /api/approvals/answered lists answered approvals",
        )
    return rest.json_response(documents[0])


@router.get("/{approval_id}", response_model=wire.Approval, responses=problems.responses(404, 410))
async def get_approval(context: Context, approval_id: rest.ApprovalId) -> Response:
    """Return an open approval; a call of an agent with all of its arguments."""
    try:
        row = await api.get_approval(context.approvals, approval_id)
    except errors.Refused as refusal:
        raise problems.Problem(410, refusal.code, "the approval is no longer open") from refusal
    return rest.json_response(await context.views.whole_approval(row))


@router.post(
    "/{approval_id}/resolve",
    response_model=models.Resolved,
    responses=problems.responses(202, 404, 409, 413, 415),
)
async def resolve_approval(
    context: Context, caller: Approver, approval_id: rest.ApprovalId, body: wire.ResolveBody
) -> Response:
    """Answer an approval; its run goes on. Modified arguments must match the form."""
    row = await context.approvals.find_approval(approval_id)
    if body.digest is not None and row is not None and body.digest != row.document["digest"]:
        raise errors.Refused("the answer is for a different question: the approval has changed", code="APPROVAL_DIGEST")
    resolution = body.resolution
    if resolution.modified_args is not None and resolution.status != "modified":
        raise errors.InvalidInput(
            "modifiedArgs needs the status modified", code="APPROVAL_INVALID", hint="use status modified"
        )
    run_id = await context.engine.answer(
        approval_id,
        status=resolution.status,
        modified_args=resolution.modified_args,
        reason=resolution.reason,
        remember=resolution.remember,
        by=caller.name,
    )
    return rest.json_response(
        {"approvalId": approval_id, "runId": run_id, "status": resolution.status, "by": caller.name}
    )


async def _list_answered_of_run(context: Context, run_id: str, limit: int, cursor: str | None) -> Response:
    newest_first = list(reversed((await _read_answered_of_run(context.views, run_id)).items()))
    if cursor is not None:
        places = [approval_id for approval_id, _ in newest_first]
        newest_first = newest_first[places.index(cursor) + 1 :] if cursor in places else []
    page = newest_first[:limit]
    next_cursor = page[-1][0] if len(newest_first) > limit else None
    return rest.json_response({"answered": [document for _, document in page], "nextCursor": next_cursor})


async def _check_cursor(context: Context, cursor: str | None) -> None:
    """Raise a 410 if the cursor's approval was deleted: an empty page would look like the end of the list."""
    if cursor is not None and await context.approvals.find_approval_run(cursor) is None:
        raise problems.cursor_gone(cursor)


async def _read_answered(run_views: views.Views, closed: Sequence[tuple[str, str]]) -> list[JsonObject]:
    """Return the answered approvals with these (approval id, run id), in order; those of pruned runs are left out."""
    by_run: dict[str, dict[str, JsonObject]] = {}
    for _, run_id in closed:
        if run_id not in by_run:
            by_run[run_id] = await _read_answered_of_run(run_views, run_id)
    return [by_run[run_id][approval_id] for approval_id, run_id in closed if approval_id in by_run[run_id]]


async def _read_answered_of_run(run_views: views.Views, run_id: str) -> dict[str, JsonObject]:
    """Return the run's answered approvals by id, the oldest question first.

    They are built from the events that requested and resolved them.
    """
    requests: dict[str, Json] = {}
    answers: dict[str, JsonObject] = {}
    try:
        events = await run_views.events_containing(run_id, b'"approval.re')
    except errors.NotFound:
        return {}
    for event in events:
        approval_id = cast("str", event.get("approvalId"))
        if event["type"] == "approval.requested":
            requests[approval_id] = event["approval"]
        elif event["type"] == "approval.resolved" and approval_id in requests:
            answers[approval_id] = {
                "approval": requests[approval_id],
                "resolution": event["resolution"],
                "by": event["by"],
                "digest": event["digest"],
                "withdrawn": event["withdrawn"],
                "answeredAt": event["ts"],
            }
    return {approval_id: answers[approval_id] for approval_id in requests if approval_id in answers}
