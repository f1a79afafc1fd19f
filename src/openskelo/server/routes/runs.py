"""Runs: listed, started, shown, changed, deleted; and the commands pause, resume, cancel and fork.

A command reaches the run wherever it is driven; if another process drives it and has not taken the command yet, the
response is 202.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from openskelo import errors
from openskelo.server import idempotency, models, problems, rest, views
from openskelo.server.rest import OPERATORS, VIEWERS, Context, Operator
from openskelo.server.routes import workflows
from openskelo.stores import api
from openskelo.wire.models import run as wire
from openskelo.workflows import live_graph

router = APIRouter(prefix="/api/runs", tags=["runs"], route_class=rest.StrictRoute, dependencies=VIEWERS)


@router.get("", response_model=models.RunPage, responses=problems.responses(410))
async def list_runs(
    context: Context,
    limit: rest.Limit = 50,
    cursor: Annotated[rest.RunId | None, Query(description="`nextCursor` of the previous page")] = None,
    status: Annotated[wire.Status | None, Query()] = None,
    q: Annotated[str | None, Query(max_length=200, description="a text in the run's name or id")] = None,
) -> Response:
    """List runs, newest first."""
    if cursor is not None and await context.runs.find_run(cursor) is None:
        raise problems.cursor_gone(cursor)
    rows = await context.runs.list_runs(limit=limit + 1, status=status, text=q or None, before=cursor)
    next_cursor = rows[limit - 1].run_id if len(rows) > limit else None
    return rest.json_response({"runs": [views.run_summary(row) for row in rows[:limit]], "nextCursor": next_cursor})


@router.post("", status_code=201, response_model=wire.Run, responses=problems.responses(404, 409, 413, 415))
async def start_run(context: Context, caller: Operator, body: models.StartBody, request: Request) -> Response:
    """Start a run of a workflow with its inputs; without a workflow, a live graph.

    The run is stored when the response arrives, and goes on by itself.
    """
    if body.workflow is None and body.document is None:
        workflow = live_graph.empty(body.name or "live graph", body.budgets)
    else:
        workflow = workflows.load_workflow(context.engine.project, body.workflow, body.document)
    keyed_id = idempotency.run_id(request)
    try:
        run_id = await context.engine.start(
            workflow, body.inputs, by=caller.name, mode=body.mode, global_mode=body.global_mode, run_id=keyed_id
        )
    except errors.Refused as error:
        if keyed_id is None or error.code != "RUN_EXISTS":
            raise
        run_id = keyed_id  # an earlier try of this request has started it
    return await _started_response(context, run_id)


async def _started_response(context: Context, run_id: str) -> Response:
    return rest.encoded_response(await context.views.run_with_values(run_id), 201, {"location": f"/api/runs/{run_id}"})


@router.get("/{run_id}", response_model=wire.Run, responses=problems.responses(404))
async def get_run(context: Context, run_id: rest.RunId) -> Response:
    """Return the run as it is now, with its inputs and outputs."""
    return rest.encoded_response(await context.views.run_with_values(run_id))


@router.patch("/{run_id}", response_model=wire.Run, responses=problems.responses(202, 404, 409, 413, 415))
async def change_run(context: Context, caller: Operator, run_id: rest.RunId, body: wire.RunPatch) -> Response:
    """Change the run's modes; or its `status`: pause it, resume it, or complete a live graph."""
    await api.get_run(context.runs, run_id)
    changes_mode = body.mode is not None or body.global_mode is not None
    if changes_mode and body.status == "completed":  # a refusal to complete must not come after a mode was changed
        raise problems.Problem(
            422,
            "REQUEST_INVALID",
            "the modes of a run cannot change while it is completed",
            hint="change either the modes or the status",
        )
    if changes_mode:
        await context.engine.change(run_id, mode=body.mode, global_mode=body.global_mode, by=caller.name)
    match body.status:
        case "paused":
            await context.engine.pause(run_id, by=caller.name)
        case "running":
            await context.engine.go_on(run_id, by=caller.name)
        case "completed":
            await context.engine.graph(run_id).complete(by=caller.name)
        case None:
            pass
    return rest.encoded_response(await context.views.run_with_values(run_id))


@router.delete(
    "/{run_id}",
    status_code=204,
    response_class=Response,
    dependencies=OPERATORS,
    responses=problems.responses(404, 409),
)
async def delete_run(context: Context, run_id: rest.RunId) -> Response:
    """Delete a run that has ended, with its record."""
    await context.sweeper.delete_run(run_id, context.engine.project.data_dir)
    context.streams.forget(run_id)
    return Response(status_code=204)


# -- commands to a run ------------------------------------------------------------------------------------------------

commands_router = APIRouter(
    prefix="/api/runs/{run_id}", tags=["orders"], route_class=rest.StrictRoute, dependencies=VIEWERS
)
_FORK_ERRORS = problems.responses(404, 409, 413, 415)
_COMMAND_ERRORS = problems.responses(202, 404, 409, 413, 415)


@commands_router.post("/pause", response_model=wire.Run, responses=_COMMAND_ERRORS)
async def pause_run(
    context: Context, caller: Operator, run_id: rest.RunId, body: models.PauseBody | None = None
) -> Response:
    """Pause the run: no new work starts, and work in progress ends; with `now` it is cut."""
    reason = body.reason if body is not None and body.reason else "operator"
    now = body is not None and body.now
    await context.engine.pause(run_id, by=caller.name, reason=reason, now=now)
    return rest.encoded_response(await context.views.run_with_values(run_id))


@commands_router.post("/resume", response_model=wire.Run, responses=_COMMAND_ERRORS)
async def resume_run(context: Context, caller: Operator, run_id: rest.RunId) -> Response:
    """Resume a run that was paused or suspended."""
    await context.engine.go_on(run_id, by=caller.name)
    return rest.encoded_response(await context.views.run_with_values(run_id))


@commands_router.post("/cancel", response_model=wire.Run, responses=_COMMAND_ERRORS)
async def cancel_run(
    context: Context, caller: Operator, run_id: rest.RunId, body: models.OrderBody | None = None
) -> Response:
    """Cancel the run and all work in progress in it."""
    await context.engine.cancel(run_id, by=caller.name, reason=None if body is None else body.reason)
    return rest.encoded_response(await context.views.run_with_values(run_id))


@commands_router.post("/fork", status_code=201, response_model=wire.Run, responses=_FORK_ERRORS)
async def fork_run(
    context: Context, caller: Operator, run_id: rest.RunId, body: models.ForkBody, request: Request
) -> Response:
    """Start a new run from a node of this one; the results of the nodes before it are kept."""
    workflow = None if body.workflow is None else workflows.load_workflow(context.engine.project, body.workflow, None)
    keyed_id = idempotency.run_id(request)
    try:
        new = await context.engine.fork(
            run_id,
            node=await context.views.resolve_node_key(run_id, body.node),
            inputs=body.inputs,
            workflow=workflow,
            items=body.items,
            by=caller.name,
            new_id=keyed_id,
        )
    except errors.Refused as error:
        if keyed_id is None or error.code != "RUN_EXISTS":
            raise
        new = keyed_id
    return await _started_response(context, new)
