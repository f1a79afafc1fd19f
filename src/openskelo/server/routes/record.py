"""The record of a run: its events, receipts and artifacts, whether it is intact, and how another run differs."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Annotated, cast

import orjson
from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import FileResponse
from starlette import background

from openskelo import errors
from openskelo.kernel.json import JsonObject
from openskelo.server import models, output_files, problems, rest
from openskelo.server.rest import VIEWERS, Context
from openskelo.server.routes import workflows
from openskelo.wire.models import node as wire

router = APIRouter(prefix="/api/runs/{run_id}", tags=["record"], route_class=rest.StrictRoute, dependencies=VIEWERS)
_BYTES_CONTENT = {"content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}}
_BUNDLE_TYPE = "application/jsonl"
Facts = Annotated[int, Query(ge=1, le=2000, description="the events of at most this many facts")]


@router.get("/events", response_model=models.EventPage | models.FactPage, responses=problems.responses(404))
async def list_events(
    context: Context,
    run_id: rest.RunId,
    since: rest.Since = 0,
    limit: Facts = 200,
    facts: Annotated[bool, Query(description="the lines of the log instead of wire events")] = False,
    node: Annotated[rest.NodeId | None, Query(description="only what is about this node")] = None,
) -> Response:
    """List the run's events in order, the same as in its stream; with `facts`, the lines of its log."""
    if facts:
        page = await context.views.facts(run_id, since, limit, node)
        return rest.list_response("facts", page.events, {"nextSeq": page.next_seq})
    page = await context.views.events(run_id, since, limit, node)
    return rest.list_response("events", page.events, {"nextSeq": page.next_seq})


@router.get("/workflow", response_model=models.Explanation, responses=problems.responses(404))
async def explain_run(
    context: Context,
    run_id: rest.RunId,
    items: Annotated[
        int, Query(ge=0, le=1_000_000, description="the number of items that a foreach is counted with")
    ] = 10,
) -> Response:
    """Return the outline of the workflow that the run has pinned, and the estimate for a run of it."""
    workflow = (await context.views.load(run_id)).workflow
    return rest.json_response(await workflows.explain_pinned(context.engine, workflow, items=items))


@router.get("/receipts", response_model=models.Receipts, responses=problems.responses(404))
async def list_receipts(context: Context, run_id: rest.RunId) -> Response:
    """List the receipts of the run's attempts, in order."""
    return rest.json_response(await context.engine.history.receipts(run_id))


@router.get("/verify", response_model=models.Verification, responses=problems.responses(404))
async def verify_run(context: Context, run_id: rest.RunId) -> Response:
    """Check that the run's record is complete and unaltered: its events, blobs, event files and signature."""
    return rest.json_response((await context.engine.history.verify(run_id)).document())


@router.get(
    "/export",
    response_class=Response,
    responses={200: {"description": "The bundle", "content": {_BUNDLE_TYPE: {}}}, **problems.responses(404)},
)
async def export_run(context: Context, run_id: rest.RunId) -> Response:
    """Return the run as one file that `skelo verify` checks anywhere, as `skelo export` writes it."""
    folder = await asyncio.to_thread(tempfile.mkdtemp)
    remove = background.BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    name = f"{run_id}.skelo.jsonl"
    try:
        result = await context.engine.history.export(run_id, Path(folder) / name)
    except BaseException:
        await remove()
        raise
    return FileResponse(result.path, media_type=_BUNDLE_TYPE, filename=name, background=remove)


# -- files that outputs name ------------------------------------------------------------------------------------------


@router.get("/files", response_model=models.OutputFiles, responses=problems.responses(404))
async def list_files(context: Context, run_id: rest.RunId) -> Response:
    """List the files that the run's outputs name, in the folders that data may write to."""
    outputs = await context.views.outputs(run_id)
    files = await asyncio.to_thread(output_files.find, context.engine.project, outputs)
    return rest.json_response({"files": [file.document() for file in files]})


@router.get(
    "/files/content",
    response_class=Response,
    responses={200: {"description": "The bytes", **_BYTES_CONTENT}, **problems.responses(404)},
)
async def get_file(
    context: Context,
    run_id: rest.RunId,
    path: Annotated[str, Query(min_length=1, max_length=500, description="a file as the outputs name it")],
) -> Response:
    """Return the bytes of a file that the run's outputs name."""
    outputs = await context.views.outputs(run_id)
    return await asyncio.to_thread(output_files.respond, context.engine.project, outputs, path)


# -- comparison -------------------------------------------------------------------------------------------------------


@router.get("/diff", response_model=models.Comparison, responses=problems.responses(404))
async def diff_runs(
    context: Context, run_id: rest.RunId, other: Annotated[rest.RunId, Query(description="the run to compare with")]
) -> Response:
    """Compare the run with another one, node by node, as `skelo diff --json` does."""
    if run_id == other:
        raise errors.InvalidInput(
            f"run {run_id} cannot be compared with itself", code="RUN_SAME", hint="set `other` to the id of another run"
        )
    comparison = await context.engine.history.diff(run_id, other)
    # In a thread: the document of runs with many nodes is long, and other requests must not wait for it.
    return rest.encoded_response(await asyncio.to_thread(lambda: orjson.dumps(comparison.document())))


# -- artifacts --------------------------------------------------------------------------------------------------------

artifacts_router = APIRouter(
    prefix="/api/runs/{run_id}/artifacts", tags=["artifacts"], route_class=rest.StrictRoute, dependencies=VIEWERS
)


@artifacts_router.get("", response_model=models.ArtifactList, responses=problems.responses(404))
async def list_artifacts(context: Context, run_id: rest.RunId) -> Response:
    """List the run's artifacts, oldest first."""
    return rest.json_response({"artifacts": list((await _get_artifacts(context, run_id)).values())})


@artifacts_router.get("/{artifact_id}", response_model=wire.Artifact, responses=problems.responses(404))
async def get_artifact(context: Context, run_id: rest.RunId, artifact_id: rest.ArtifactId) -> Response:
    """Return an artifact's document, without its bytes."""
    return rest.json_response(await _get_artifact(context, run_id, artifact_id))


@artifacts_router.get(
    "/{artifact_id}/content",
    response_class=Response,
    responses={
        200: {"description": "The bytes", **_BYTES_CONTENT},
        206: {"description": "The requested range of the bytes", **_BYTES_CONTENT},
        **problems.responses(404, 416),
    },
)
async def get_content(
    context: Context,
    run_id: rest.RunId,
    artifact_id: rest.ArtifactId,
    range_header: Annotated[str | None, Header(alias="Range", description="such as `bytes=0-99`")] = None,
) -> Response:
    """Return the artifact's bytes, with the media type they were stored with."""
    return await context.artifacts.respond(await _get_artifact(context, run_id, artifact_id), range_header)


async def _get_artifacts(context: Context, run_id: str) -> JsonObject:
    return cast("JsonObject", (await context.views.snapshot(run_id))["artifacts"])


async def _get_artifact(context: Context, run_id: str, artifact_id: str) -> JsonObject:
    artifacts = await _get_artifacts(context, run_id)
    if artifact_id not in artifacts:
        raise errors.NotFound(f"run {run_id} has no artifact {artifact_id}", code="ARTIFACT_NOT_FOUND")
    return cast("JsonObject", artifacts[artifact_id])
