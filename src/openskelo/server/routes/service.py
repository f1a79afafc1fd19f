"""The server itself: its health, its version, and the caller's session."""

from __future__ import annotations

from importlib import metadata

from fastapi import APIRouter, Response

from openskelo.server import models, problems, rest
from openskelo.server.rest import VIEWERS, Context, Viewer
from openskelo.wire import projection

#: No note has this prefix.
_NO_NOTES = "health:"

router = APIRouter(prefix="/api", tags=["service"], route_class=rest.StrictRoute)


@router.get("/health", response_model=models.Health, responses=problems.responses())
async def get_health(context: Context) -> Response:
    """Check that the server answers, drives runs, and can read and write its store. Needs no token."""
    context.engine.check_driving()
    await context.runs.list_runs(limit=1)
    # Changes nothing and syncs nothing, but fails where a commit would: a data dir that is gone can still be read.
    await context.notes.delete_notes(_NO_NOTES, before=0)
    return rest.json_response({"status": "ok"})


@router.get("/version", dependencies=VIEWERS, response_model=models.Version, responses=problems.responses())
async def get_version() -> Response:
    """Return the version of the program and of the contract."""
    return rest.json_response(
        {"version": metadata.version("openskelo"), "contractVersion": projection.CONTRACT_VERSION}
    )


@router.get("/session", response_model=models.Session, responses=problems.responses())
async def get_session(caller: Viewer) -> Response:
    """Return the caller's name and role, and the CSRF token that a browser's changes must carry."""
    return rest.json_response({"name": caller.name, "role": caller.role, "csrfToken": caller.csrf})
