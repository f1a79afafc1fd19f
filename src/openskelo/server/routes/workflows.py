"""Workflows: the files of the project, what is wrong with one, and what a run of it would take."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Response

from openskelo.server import explanation, models, problems, responses, workflow_files
from openskelo.server.bodies import Route
from openskelo.server.desk import VIEWERS, Here

router = APIRouter(prefix="/api/workflows", tags=["workflows"], route_class=Route, dependencies=VIEWERS)
_ERRORS = problems.responses(404, 409, 413, 415)


@router.get("", response_model=models.WorkflowList, responses=problems.responses())
async def list_workflows(desk: Here) -> Response:
    """The workflow files of the project."""
    found = await asyncio.to_thread(workflow_files.listed, desk.engine.project)
    return responses.document({"workflows": found})


@router.post("/validate", response_model=models.Checked, responses=_ERRORS)
async def validate_workflow(desk: Here, body: models.WorkflowBody) -> Response:
    """Every Problem of a workflow, without running anything."""
    workflow, found = await asyncio.to_thread(workflow_files.check, desk.engine.project, body.workflow, body.document)
    return responses.document(
        {
            "valid": workflow is not None,
            "name": None if workflow is None else workflow.name,
            "hash": None if workflow is None else workflow.hash,
            "problems": [one.document() for one in found if one.severity == "error"],
            "warnings": [one.document() for one in found if one.severity == "warning"],
        }
    )


@router.post("/explain", response_model=models.Explanation, responses=_ERRORS)
async def explain_workflow(desk: Here, body: models.ExplainBody) -> Response:
    """A workflow taken apart, and what a run of it would take."""
    workflow = await asyncio.to_thread(workflow_files.get, desk.engine.project, body.workflow, body.document)
    return responses.document(await explanation.of(desk.engine, workflow, items=body.items))
