"""The way to the login page and back to the page that somebody wanted to see."""

from __future__ import annotations

import html
from urllib.parse import quote, urlencode

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Scope

LOGIN = "/login"
#: The field that says where to go after the login.
NEXT = "next"
_LONGEST = 2000

#: From another site's link a browser brings no `SameSite=Strict` cookie; from a page of ours it does.
_AGAIN = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>OpenSkelo</title><link rel="icon" href="data:,">'
    '<meta http-equiv="refresh" content="0;url={address}"></head><body><a href="{address}">Go on</a></body></html>'
)


def lead(scope: Scope, headers: Headers) -> Response:
    """The answer to a browser that wants a page and has shown nothing: come again as one of ours, or log in first."""
    wanted = _address(scope)
    if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        return HTMLResponse(_AGAIN.format(address=html.escape(wanted)), headers={"cache-control": "no-store"})
    found = target(wanted)
    return RedirectResponse(LOGIN if found == "/" else f"{LOGIN}?{urlencode({NEXT: found})}", 303)


def target(wanted: str) -> str:
    """Where to go after the login: a page of this server, whatever was asked for."""
    is_path = wanted.startswith("/") and not wanted.startswith(("//", "/\\", LOGIN, "/api/"))
    return wanted if is_path and len(wanted) <= _LONGEST and wanted.isascii() and wanted.isprintable() else "/"


def _address(scope: Scope) -> str:
    path = "/" + quote(scope["path"], safe="/:@!$&'()*+,;=~-._").lstrip("/")
    query = scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path
