"""Runs: listed, begun, shown, changed, deleted."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from openskelo import errors
from openskelo.contract.wire import run as wire
from openskelo.engine import pruning
from openskelo.server import idempotency, models, problems, responses, views, workflow_files
from openskelo.server.bodies import Route
from openskelo.server.desk import OPERATORS, VIEWERS, Here, Operator
from openskelo.server.params import Limit, RunId
from openskelo.workflows import live

router = APIRouter(prefix="/api/runs", tags=["runs"], route_class=Route, dependencies=VIEWERS)


@router.get("", response_model=models.RunPage, responses=problems.responses(410))
async def list_runs(
    desk: Here,
    limit: Limit = 50,
    cursor: Annotated[RunId | None, Query(description="`nextCursor` of the page before")] = None,
    status: Annotated[wire.Status | None, Query()] = None,
    q: Annotated[str | None, Query(max_length=200, description="a text in the name or the id")] = None,
) -> Response:
    """Runs, newest first."""
    if cursor is not None and await desk.engine.store.row(cursor) is None:
        raise problems.gone(cursor)
    rows = await desk.engine.store.rows(limit=limit + 1, status=status, text=q or None, before=cursor)
    more = rows[limit - 1].run_id if len(rows) > limit else None
    return responses.document({"runs": [views.summary(row) for row in rows[:limit]], "nextCursor": more})


@router.post("", status_code=201, response_model=wire.Run, responses=problems.responses(404, 409, 413, 415))
async def start_run(desk: Here, who: Operator, body: models.StartBody, request: Request) -> Response:
    """Begin a run of a workflow with its inputs, or without one a live graph.

    It is durable when this answers, and goes on by itself.
    """
    if body.workflow is None and body.document is None:
        workflow = live.empty(body.name or "live graph", body.budgets)
    else:
        workflow = workflow_files.get(desk.engine.project, body.workflow, body.document)
    wanted = idempotency.run_id(request)
    try:
        run_id = await desk.engine.start(
            workflow, body.inputs, by=who.name, mode=body.mode, global_mode=body.global_mode, run_id=wanted
        )
    except errors.Refused as error:
        if wanted is None or error.code != "RUN_EXISTS":
            raise
        run_id = wanted  # this very request had begun it before it was cut
    return await begun(desk, run_id)


async def begun(desk: Here, run_id: str) -> Response:
    """The answer that tells of a new run."""
    return responses.text(await desk.views.whole(run_id), 201, {"location": f"/api/runs/{run_id}"})


@router.get("/{run_id}", response_model=wire.Run, responses=problems.responses(404))
async def get_run(desk: Here, run_id: RunId) -> Response:
    """The run as it is now, with its inputs and outputs."""
    return responses.text(await desk.views.whole(run_id))


@router.patch("/{run_id}", response_model=wire.Run, responses=problems.responses(202, 404, 409, 413, 415))
async def change_run(desk: Here, who: Operator, run_id: RunId, body: wire.RunPatch) -> Response:
    """Change the run's modes, or pause, resume and (a live graph) complete it by its `status`."""
    row = await desk.engine.store.row(run_id)
    if row is None:
        raise errors.NotFound(f"there is no run {run_id}", code="RUN_NOT_FOUND", hint="GET /api/runs lists them")
    modes = body.mode is not None or body.global_mode is not None
    if modes and body.status == "completed":  # whether it can be completed is only known when one tries
        raise problems.Problem(
            422, "REQUEST_INVALID", "a run that is completed has no modes to change", hint="change one of them"
        )
    if modes:
        await desk.engine.change(run_id, mode=body.mode, global_mode=body.global_mode, by=who.name)
    match body.status:
        case "paused":
            await desk.engine.pause(run_id, by=who.name)
        case "running":
            await desk.engine.go_on(run_id, by=who.name)
        case "completed":
            await desk.engine.graph(run_id).complete(by=who.name)
        case None:
            pass
    return responses.text(await desk.views.whole(run_id))


@router.delete(
    "/{run_id}",
    status_code=204,
    response_class=Response,
    dependencies=OPERATORS,
    responses=problems.responses(404, 409),
)
async def delete_run(desk: Here, run_id: RunId) -> Response:
    """Remove a run that has ended, with its record: what is left cannot be verified any more."""
    await pruning.delete(desk.engine.store, run_id, desk.engine.project.data_dir)
    await desk.sweeper.owe(run_id)
    desk.engine.forget(run_id)
    desk.views.forget(run_id)
    desk.streams.forget(run_id)
    return Response(status_code=204)
