"""The login page: made here, without a script, in a few lines of HTML and CSS that the strict policy allows."""

from __future__ import annotations

import html
import string
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from openskelo.server import desk, entrance, problems, sessions

router = APIRouter(include_in_schema=False)

_STYLE = Path(__file__).parent / "login.css"

_PAGE = string.Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<link rel="stylesheet" href="/login.css">
<link rel="icon" href="data:,">
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
<p>Log in with a token. <code>skelo token add NAME</code> makes one.</p>
$wrong
<form method="post" action="/login">
<input type="hidden" name="next" value="$next">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Log in</button>
</form>""")


def page(title: str, body: str, status: int = 200) -> HTMLResponse:
    """A page in the house's dress; `body` is HTML."""
    return HTMLResponse(_PAGE.substitute(title=html.escape(title), body=body), status)


@router.get("/login")
async def show_login(wanted: Annotated[str, Query(alias=entrance.NEXT)] = "/") -> Response:
    """The form; after it, a person is where they wanted to be."""
    return _login(entrance.target(wanted))


@router.get("/login.css")
async def style() -> Response:
    """How pages look."""
    return Response(_STYLE.read_text("utf-8"), media_type="text/css", headers={"cache-control": "max-age=3600"})


@router.post("/login")
async def log_in(here: desk.Here, request: Request) -> Response:
    """Begin a session with a token; the cookie names it without holding it."""
    guard = here.guard
    if guard is not None:
        guard.check_patience(request.scope)
    token, wanted = await _fields(request)
    found = here.settings.tokens.find(token)
    if found is None:
        if guard is not None:
            guard.note_wrong(request.scope)
        return _login(wanted, '<p class="wrong">Nobody has this token.</p>', 401)
    answer = RedirectResponse(wanted, 303)
    answer.set_cookie(
        here.sessions.cookie,
        here.sessions.begin(found),
        max_age=sessions.LIFETIME_SECONDS,
        path="/",
        httponly=True,
        samesite="strict",
        secure=here.settings.is_secure,
    )
    return answer


@router.post("/logout")
async def log_out(here: desk.Here) -> Response:
    """End the session in this browser."""
    answer = RedirectResponse("/login", 303)
    name = here.sessions.cookie
    answer.delete_cookie(name, path="/", httponly=True, samesite="strict", secure=here.settings.is_secure)
    return answer


def _login(wanted: str, wrong: str = "", status: int = 200) -> HTMLResponse:
    return page("Log in - OpenSkelo", _FORM.substitute(wrong=wrong, next=html.escape(wanted)), status)


async def _fields(request: Request) -> tuple[str, str]:
    """The token in a form, and where to go with it; read by hand, since two fields need no library."""
    from urllib.parse import parse_qs  # noqa: PLC0415 - logging in is rare

    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise problems.Problem(415, "BODY_TYPE", "the login form is application/x-www-form-urlencoded")
    fields = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=10)
    return fields.get("token", [""])[0].strip(), entrance.target(fields.get(entrance.NEXT, ["/"])[0])
