"""Orders to a run: pause, resume, cancel, fork. They reach it wherever it is driven."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from openskelo import errors
from openskelo.contract.wire import run as wire
from openskelo.server import idempotency, models, problems, responses, workflow_files
from openskelo.server.bodies import Route
from openskelo.server.desk import VIEWERS, Here, Operator
from openskelo.server.params import RunId
from openskelo.server.routes import runs

router = APIRouter(prefix="/api/runs/{run_id}", tags=["orders"], route_class=Route, dependencies=VIEWERS)
_ERRORS = problems.responses(404, 409, 413, 415)
_POSTED = problems.responses(202, 404, 409, 413, 415)


@router.post("/pause", response_model=wire.Run, responses=_POSTED)
async def pause_run(desk: Here, who: Operator, run_id: RunId, body: models.OrderBody | None = None) -> Response:
    """Let nothing new start; what is under way ends."""
    reason = body.reason if body is not None and body.reason else "operator"
    await desk.engine.pause(run_id, by=who.name, reason=reason)
    return responses.text(await desk.views.whole(run_id))


@router.post("/resume", response_model=wire.Run, responses=_POSTED)
async def resume_run(desk: Here, who: Operator, run_id: RunId) -> Response:
    """Go on with a run that was paused or suspended."""
    await desk.engine.go_on(run_id, by=who.name)
    return responses.text(await desk.views.whole(run_id))


@router.post("/cancel", response_model=wire.Run, responses=_POSTED)
async def cancel_run(desk: Here, who: Operator, run_id: RunId, body: models.OrderBody | None = None) -> Response:
    """End the run and everything under way in it."""
    await desk.engine.cancel(run_id, by=who.name, reason=None if body is None else body.reason)
    return responses.text(await desk.views.whole(run_id))


@router.post("/fork", status_code=201, response_model=wire.Run, responses=_ERRORS)
async def fork_run(desk: Here, who: Operator, run_id: RunId, body: models.ForkBody, request: Request) -> Response:
    """Begin a new run from a node of this one; what came before the node is kept."""
    workflow = None if body.workflow is None else workflow_files.get(desk.engine.project, body.workflow, None)
    wanted = idempotency.run_id(request)
    try:
        new = await desk.engine.fork(
            run_id,
            node=await desk.views.key_of(run_id, body.node),
            inputs=body.inputs,
            workflow=workflow,
            items=body.items,
            by=who.name,
            new_id=wanted,
        )
    except errors.Refused as error:
        if wanted is None or error.code != "RUN_EXISTS":
            raise
        new = wanted
    return await runs.begun(desk, new)
