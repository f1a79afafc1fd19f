"""Artifacts: what a run has kept, and the bytes themselves."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Header, Response

from openskelo import errors
from openskelo.contract.wire import artifact as wire
from openskelo.kernel.json import JsonObject
from openskelo.server import desk, models, problems, responses
from openskelo.server.bodies import Route
from openskelo.server.desk import VIEWERS, Here
from openskelo.server.params import ArtifactId, RunId

router = APIRouter(prefix="/api/runs/{run_id}/artifacts", tags=["artifacts"], route_class=Route, dependencies=VIEWERS)
_BYTES = {"content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}}


@router.get("", response_model=models.ArtifactList, responses=problems.responses(404))
async def list_artifacts(desk: Here, run_id: RunId) -> Response:
    """What the run has kept, oldest first."""
    return responses.document({"artifacts": list((await _artifacts(desk, run_id)).values())})


@router.get("/{artifact_id}", response_model=wire.Artifact, responses=problems.responses(404))
async def get_artifact(desk: Here, run_id: RunId, artifact_id: ArtifactId) -> Response:
    """What is known of an artifact beside its bytes."""
    return responses.document(await _artifact(desk, run_id, artifact_id))


@router.get(
    "/{artifact_id}/content",
    response_class=Response,
    responses={
        200: {"description": "The bytes", **_BYTES},
        206: {"description": "The range of them that was asked for", **_BYTES},
        **problems.responses(404, 416),
    },
)
async def get_content(
    desk: Here,
    run_id: RunId,
    artifact_id: ArtifactId,
    wanted: Annotated[str | None, Header(alias="Range", description="such as `bytes=0-99`")] = None,
) -> Response:
    """The artifact's bytes, with the type they were kept with."""
    return await desk.contents.response(await _artifact(desk, run_id, artifact_id), wanted)


async def _artifacts(found: desk.Desk, run_id: str) -> JsonObject:
    return cast("JsonObject", (await found.views.snapshot(run_id))["artifacts"])


async def _artifact(found: desk.Desk, run_id: str, artifact_id: str) -> JsonObject:
    artifacts = await _artifacts(found, run_id)
    if artifact_id not in artifacts:
        raise errors.NotFound(f"run {run_id} has no artifact {artifact_id}", code="ARTIFACT_NOT_FOUND")
    return cast("JsonObject", artifacts[artifact_id])
