"""The server itself: whether it is well, which version it is, and who asks."""

from __future__ import annotations

from importlib import metadata

from fastapi import APIRouter, Response

from openskelo.contract import projection
from openskelo.server import models, problems, responses
from openskelo.server.bodies import Route
from openskelo.server.desk import VIEWERS, Here, Viewer

router = APIRouter(prefix="/api", tags=["service"], route_class=Route)


@router.get("/health", response_model=models.Health, responses=problems.responses())
async def get_health(desk: Here) -> Response:
    """Whether the server answers and its data dir can be read. Needs no token."""
    await desk.engine.store.rows(limit=1)
    return responses.document({"status": "ok"})


@router.get("/version", dependencies=VIEWERS, response_model=models.Version, responses=problems.responses())
async def get_version() -> Response:
    """The program's version and the contract's."""
    return responses.document(
        {"version": metadata.version("openskelo"), "contractVersion": projection.CONTRACT_VERSION}
    )


@router.get("/session", response_model=models.Session, responses=problems.responses())
async def get_session(who: Viewer) -> Response:
    """Who asks, as what, and what a browser's changes must carry along."""
    return responses.document({"name": who.name, "role": who.role, "csrfToken": who.csrf})
