"""The login page: made here, without a script, in a few lines of HTML and CSS that the strict policy allows."""

from __future__ import annotations

import html
import string
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from openskelo.server import desk, problems, sessions

router = APIRouter(include_in_schema=False)

_STYLE = Path(__file__).parent / "login.css"

_PAGE = string.Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<link rel="stylesheet" href="/login.css">
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
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Log in</button>
</form>""")


def page(title: str, body: str, status: int = 200) -> HTMLResponse:
    """A page in the house's dress; `body` is HTML."""
    return HTMLResponse(_PAGE.substitute(title=html.escape(title), body=body), status)


@router.get("/login")
async def show_login() -> Response:
    """The form."""
    return page("Log in - OpenSkelo", _FORM.substitute(wrong=""))


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
    found = here.settings.tokens.find(await _token(request))
    if found is None:
        if guard is not None:
            guard.note_wrong(request.scope)
        return page("Log in - OpenSkelo", _FORM.substitute(wrong='<p class="wrong">Nobody has this token.</p>'), 401)
    answer = RedirectResponse("/", 303)
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


async def _token(request: Request) -> str:
    """The token in a form; read by hand, since one field needs no library."""
    from urllib.parse import parse_qs  # noqa: PLC0415 - logging in is rare

    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise problems.Problem(415, "BODY_TYPE", "the login form is application/x-www-form-urlencoded")
    fields = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=10)
    return fields.get("token", [""])[0].strip()
