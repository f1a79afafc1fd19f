"""The pages that browsers get: the login page and the dashboard.

The login page is a few lines of HTML and CSS. Its script takes the token from the fragment of the link that `skelo
serve` prints: a fragment stays in the browser, so no log has it. The dashboard is a build in `web/`, served from that
folder only; without a build, the first page says so.
"""

from __future__ import annotations

import html
import mimetypes
import re
import string
from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import Headers
from starlette.types import Scope

from openskelo.server import problems
from openskelo.server.auth import guard, sessions
from openskelo.server.rest import Context

# -- login ------------------------------------------------------------------------------------------------------------

router = APIRouter(include_in_schema=False)

_STYLESHEET = Path(__file__).parent / "auth" / "login.css"
_SCRIPT = Path(__file__).parent / "auth" / "login.js"

_PAGE = string.Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<link rel="stylesheet" href="/login.css">
<link rel="icon" href="data:,">
$script
</head>
<body>
<main>
<svg viewBox="0 0 48 48" width="40" height="40" aria-hidden="true">
<circle cx="10" cy="24" r="6"/><circle cx="38" cy="10" r="6"/><circle cx="38" cy="38" r="6"/>
<path d="M16 22 32 12M16 26 32 36"/>
</svg>
$body
</main>
</body>
</html>
""")

_FORM = string.Template("""<h1>OpenSkelo</h1>
<p>Open the link that <code>skelo serve</code> has printed, or log in with a token: <code>skelo token add NAME</code>
creates one.</p>
$wrong
<form method="post" action="/login">
<input type="hidden" name="next" value="$next">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Log in</button>
</form>""")


def _page(title: str, body: str, status: int = 200, script: str = "") -> HTMLResponse:
    """Return a page in the style of the login page; `body` and `script` are HTML."""
    return HTMLResponse(_PAGE.substitute(title=html.escape(title), body=body, script=script), status)


def _login_page(target: str, message: str = "", status: int = 200) -> HTMLResponse:
    form = _FORM.substitute(wrong=message, next=html.escape(target))
    return _page("Log in - OpenSkelo", form, status, '<script src="/login.js" defer></script>')


@router.get("/login")
async def show_login(wanted: Annotated[str, Query(alias=guard.NEXT_FIELD)] = "/") -> Response:
    """Return the login form; after the login, the browser goes to the page that it wanted."""
    return _login_page(guard.login_target(wanted))


@router.get("/login.css")
async def get_stylesheet() -> Response:
    """Return the style sheet of the login page."""
    return Response(_STYLESHEET.read_text("utf-8"), media_type="text/css", headers={"cache-control": "max-age=3600"})


@router.get("/login.js")
async def get_script() -> Response:
    """Return the script of the login page."""
    headers = {"cache-control": "max-age=3600"}
    return Response(_SCRIPT.read_text("utf-8"), media_type="text/javascript", headers=headers)


def login_link(address: str, token: str) -> str:
    """Return the link that logs a browser in: the fragment holds the token, which the browser does not send."""
    return f"{address}{guard.LOGIN_PATH}#token={token}"


@router.post("/login")
async def log_in(context: Context, request: Request) -> Response:
    """Start a session with a token; the cookie names the token without containing it."""
    value, target = await _read_form(request)
    token = context.settings.tokens.find(value)
    if token is None:
        if context.guard is not None:
            context.guard.count_wrong_token(request.scope)
        return _login_page(target, '<p class="wrong">This token is not known.</p>', 401)
    response = RedirectResponse(target, 303)
    response.set_cookie(
        context.sessions.cookie_name,
        context.sessions.create(token),
        max_age=sessions.LIFETIME_SECONDS,
        path="/",
        httponly=True,
        samesite="strict",
        secure=context.settings.is_secure,
    )
    return response


@router.post("/logout")
async def log_out(context: Context, request: Request) -> Response:
    """End the session of this browser, also for copies of its cookie."""
    name = context.sessions.cookie_name
    cookie = guard.read_cookie(request.headers, name)
    if cookie is not None:
        context.sessions.end(cookie)
    response = RedirectResponse(guard.LOGIN_PATH, 303)
    response.delete_cookie(name, path="/", httponly=True, samesite="strict", secure=context.settings.is_secure)
    return response


async def _read_form(request: Request) -> tuple[str, str]:
    """Return the token in the form, and where to go after the login."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/x-www-form-urlencoded":
        raise problems.Problem(415, "BODY_TYPE", "the login form must be application/x-www-form-urlencoded")
    try:
        fields = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=10)
    except ValueError as error:
        raise problems.Problem(422, "REQUEST_INVALID", "the login form has at most 10 fields") from error
    return fields.get("token", [""])[0].strip(), guard.login_target(fields.get(guard.NEXT_FIELD, ["/"])[0])


# -- dashboard --------------------------------------------------------------------------------------------------------

#: Where the build of the dashboard is.
FOLDER = Path(__file__).parent / "web"
#: The first parts of the paths of the dashboard's pages.
SECTIONS = ("runs", "approvals", "start", "compare")

_NO_DASHBOARD = """<h1>OpenSkelo</h1>
<p>This server has no dashboard. The API has everything that a dashboard needs:
<a href="/api/runs">/api/runs</a>, <a href="/api/approvals">/api/approvals</a>, <code>/ws</code>, and
<a href="/api/openapi.json">/api/openapi.json</a> describes it.</p>"""

#: A file whose name contains the hash of its content never changes.
_HASHED_NAME = re.compile(r"-[\w-]{8}\.\w+$")
_CACHE_FOREVER = "public, max-age=31536000, immutable"


def mount_dashboard(app: FastAPI, folder: Path = FOLDER) -> None:
    """Serve the build in `folder`; the paths of all its pages return its first page."""
    index = folder / "index.html"
    if not index.is_file():
        app.include_router(_dashboard_router(None))
        return
    app.mount("/assets", _Assets(directory=folder / "assets", check_dir=False))
    app.include_router(_dashboard_router(index))

    async def not_found(request: Request, error: Exception) -> Response:
        """Return the dashboard, which says that there is no such page, to a browser; the problem to a program."""
        is_page = request.method == "GET" and not request.url.path.startswith(("/api/", "/assets/"))
        if is_page and "text/html" in request.headers.get("accept", ""):
            return FileResponse(index, 404, headers={"cache-control": "no-cache"})
        return await problems.handle_http_error(request, error)

    app.add_exception_handler(404, not_found)


class _Assets(StaticFiles):
    """Files of the build; the compressed version if there is one and the browser accepts it."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return the file, with how long it may be cached."""
        response, content_type = await self._find_file(path, scope)
        response.headers["cache-control"] = _CACHE_FOREVER if _HASHED_NAME.search(path) else "no-cache"
        response.headers["vary"] = "accept-encoding"
        if content_type is not None:
            response.headers["content-encoding"] = "gzip"
            response.headers["content-type"] = content_type
        return response

    async def _find_file(self, path: str, scope: Scope) -> tuple[Response, str | None]:
        """Return the file and None, or the compressed file and the type of its content."""
        if "gzip" in Headers(scope=scope).get("accept-encoding", ""):
            gzip_path, _ = self.lookup_path(f"{path}.gz")
            if gzip_path:
                content_type = mimetypes.guess_type(path)[0] or "application/octet-stream"
                return await super().get_response(f"{path}.gz", scope), content_type
        return await super().get_response(path, scope), None


def _dashboard_router(index: Path | None) -> APIRouter:
    pages = APIRouter(include_in_schema=False)

    async def home() -> Response:
        """Return the first page."""
        if index is None:
            return _page("OpenSkelo", _NO_DASHBOARD)
        return FileResponse(index, headers={"cache-control": "no-cache"})

    pages.add_api_route("/", home, methods=["GET"])
    for section in SECTIONS:
        for path in (f"/{section}", f"/{section}/{{rest:path}}"):
            pages.add_api_route(path, home, methods=["GET"])
    return pages
