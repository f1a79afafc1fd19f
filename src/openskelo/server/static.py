"""The dashboard, if the package has a build of it; else a page that says so. Files come from one folder only."""

from __future__ import annotations

import mimetypes
import re
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import Headers
from starlette.types import Scope

from openskelo.server import pages, problems

#: Where a build of the dashboard is put when the package is made.
FOLDER = Path(__file__).parent / "web"
#: The first parts of the addresses of its pages.
SECTIONS = ("runs", "approvals", "start", "compare")

_NONE = """<h1>OpenSkelo</h1>
<p>This server runs, and has no dashboard in it. Everything a dashboard needs is there:
<a href="/api/runs">/api/runs</a>, <a href="/api/approvals">/api/approvals</a>, <code>/ws</code>, and
<a href="/api/openapi.json">/api/openapi.json</a> describes it.</p>"""

#: A file whose name has the hash of what is in it is never another one.
_HASHED = re.compile(r"-[\w-]{8}\.\w+$")
_FOR_EVER = "public, max-age=31536000, immutable"


def mount(app: FastAPI, folder: Path = FOLDER) -> None:
    """Serve the build in `folder`; paths of the dashboard's own pages all give its first page."""
    index = folder / "index.html"
    if not index.is_file():
        app.include_router(_router(None))
        return
    app.mount("/assets", Assets(directory=folder / "assets", check_dir=False))
    app.include_router(_router(index))

    async def not_found(request: Request, error: Exception) -> Response:
        """Whoever types an address that is none gets the dashboard, which says so; a program gets the problem."""
        is_page = request.method == "GET" and not request.url.path.startswith(("/api/", "/assets/"))
        if is_page and "text/html" in request.headers.get("accept", ""):
            return FileResponse(index, 404, headers={"cache-control": "no-cache"})
        return await problems.plain(request, error)

    app.add_exception_handler(404, not_found)


class Assets(StaticFiles):
    """Files of the build, compressed where the build has made a compressed one and the browser takes it."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, with how long it may be kept."""
        found, kind = await self._file(path, scope)
        found.headers["cache-control"] = _FOR_EVER if _HASHED.search(path) else "no-cache"
        found.headers["vary"] = "accept-encoding"
        if kind is not None:
            found.headers["content-encoding"] = "gzip"
            found.headers["content-type"] = kind
        return found

    async def _file(self, path: str, scope: Scope) -> tuple[Response, str | None]:
        """The file as it is, or the compressed one and the type of what is inside."""
        if "gzip" in Headers(scope=scope).get("accept-encoding", ""):
            packed, _ = self.lookup_path(f"{path}.gz")
            if packed:
                kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
                return await super().get_response(f"{path}.gz", scope), kind
        return await super().get_response(path, scope), None


def _router(index: Path | None) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    async def home() -> Response:
        """The first page."""
        if index is None:
            return pages.page("OpenSkelo", _NONE)
        return FileResponse(index, headers={"cache-control": "no-cache"})

    router.add_api_route("/", home, methods=["GET"])
    for section in SECTIONS:
        for path in (f"/{section}", f"/{section}/{{rest:path}}"):
            router.add_api_route(path, home, methods=["GET"])
    return router
