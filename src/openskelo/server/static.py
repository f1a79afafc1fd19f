"""The dashboard, if the package has a build of it; else a page that says so. Files come from one folder only."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, FastAPI, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from openskelo.server import pages

#: Where a build of the dashboard is put when the package is made.
FOLDER = Path(__file__).parent / "web"

_NONE = """<h1>OpenSkelo</h1>
<p>This server runs, and has no dashboard in it. Everything a dashboard needs is there:
<a href="/api/runs">/api/runs</a>, <a href="/api/approvals">/api/approvals</a>, <code>/ws</code>, and
<a href="/api/openapi.json">/api/openapi.json</a> describes it.</p>"""


def mount(app: FastAPI, folder: Path = FOLDER) -> None:
    """Serve the build in `folder`; paths of the dashboard's own pages all give its first page."""
    index = folder / "index.html"
    if not index.is_file():
        app.include_router(_router(None))
        return
    app.mount("/assets", StaticFiles(directory=folder / "assets", check_dir=False))
    app.include_router(_router(index))


def _router(index: Path | None) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    async def home() -> Response:
        """The first page."""
        if index is None:
            return pages.page("OpenSkelo", _NONE)
        return FileResponse(index, headers={"cache-control": "no-cache"})

    router.add_api_route("/", home, methods=["GET"])
    for section in ("runs", "approvals", "start", "compare"):
        for path in (f"/{section}", f"/{section}/{{rest:path}}"):
            router.add_api_route(path, home, methods=["GET"])
    return router
