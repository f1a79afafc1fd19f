"""The guard: ASGI middleware that checks Host, Origin and credentials before every route and socket.

Three checks, in this order: the Host header must name this server (against DNS rebinding), the Origin must be this
server's own (against requests from other sites' pages), and the caller must have a token or a session unless the server
is open. The guard is the only place that lets a caller in; it stores the caller's `Identity` in the request's scope,
where `get_identity` and the role dependencies find it.
"""

from __future__ import annotations

import html
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import cast
from urllib.parse import quote, urlencode, urlsplit

from fastapi import Request
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from openskelo import errors
from openskelo.server import problems
from openskelo.server import settings as server_settings
from openskelo.server.auth import sessions, tokens

#: Paths that need no token.
PUBLIC_PATHS = frozenset({"/api/health", "/login", "/login.css", "/login.js"})
LOGIN_PATH = "/login"
#: The field that says where to go after the login.
NEXT_FIELD = "next"
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_MAX_CLIENTS = 10_000
_MAX_TARGET_CHARACTERS = 2000
_MAX_HOST_CHARACTERS = 60
_HOST = re.compile(r"(\[(?P<address>[^\[\]@]*)\]|(?P<name>[^\[\]@:]*))(:[0-9]*)?")
_IDENTITY_KEY = "openskelo.identity"
_STILL_ALLOWED_KEY = "openskelo.identity.still"
_LOG = logging.getLogger("openskelo.server.auth")

#: A browser that follows another site's link sends no `SameSite=Strict` cookie; reloading from our own page it does.
_RELOAD_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>OpenSkelo</title><link rel="icon" href="data:,">'
    '<meta http-equiv="refresh" content="0;url={address}"></head><body><a href="{address}">Go on</a></body></html>'
)


# -- the caller, for routes -------------------------------------------------------------------------------------------


def get_identity(scope: Scope) -> tokens.Identity:
    """Return the caller of a request or socket that the guard has let in."""
    return cast("tokens.Identity", scope[_IDENTITY_KEY])


def find_name(scope: Mapping[str, object]) -> str | None:
    """Return the name of the caller; None if the guard has let none in."""
    identity = cast("tokens.Identity | None", scope.get(_IDENTITY_KEY))
    return None if identity is None else identity.name


def is_still_allowed(scope: Scope) -> bool:
    """True if the guard would let the caller in again: its token still exists and its session is not over."""
    check = cast("Callable[[], bool] | None", scope.get(_STILL_ALLOWED_KEY))
    return check is None or check()


def _require_role(role: tokens.Role) -> Callable[[Request], tokens.Identity]:
    """Return a dependency that gives the caller, or raises a 403 if its role is lower than `role`."""

    def check_role(request: Request) -> tokens.Identity:
        caller = get_identity(request.scope)
        if not tokens.includes(caller.role, role):
            raise problems.Problem(
                403, "ROLE_NOT_ALLOWED", f"{caller.name} is {caller.role}; this takes {role}", hint="use another token"
            )
        return caller

    return check_role


require_viewer = _require_role("viewer")
require_approver = _require_role("approver")
require_operator = _require_role("operator")


# -- the middleware ---------------------------------------------------------------------------------------------------


class Guard:
    """ASGI middleware that lets requests in or answers them itself."""

    def __init__(
        self, app: ASGIApp, *, settings: server_settings.Settings, browser_sessions: sessions.Sessions
    ) -> None:
        self._app = app
        self._settings = settings
        self._sessions = browser_sessions
        names = (settings.host, *(urlsplit(origin).hostname or "" for origin in settings.origins))
        self._host_names = {name.lower() for name in (*names, *settings.allowed_hosts)}
        self._failures = _FailedLogins(settings.limits.wrong_tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on if the caller may come in; else answer it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            self._check_host(headers)
            self._check_origin(scope, headers)
            caller = self._identify(scope, headers)
        except (problems.Problem, errors.OpenSkeloError) as problem:
            await _reject(problem, scope, receive, send)
            return
        if caller is not None:
            scope[_IDENTITY_KEY] = caller
            scope[_STILL_ALLOWED_KEY] = lambda: self._is_still_allowed(headers, caller)
        elif scope["path"] not in PUBLIC_PATHS:
            await _ask_for_token(scope, headers, receive, send)
            return
        await self._app(scope, receive, send)

    def count_wrong_token(self, scope: Mapping[str, object]) -> None:
        """Count a wrong token from the address of the request; raise a 429 if there were too many within a minute."""
        self._failures.count(client_address(scope))

    def _check_host(self, headers: Headers) -> None:
        """Raise a 403 for a foreign Host: a name that was made to point here would make a foreign page one of ours."""
        host = _host_name(headers.get("host", ""))
        if host in self._host_names:
            return
        if server_settings.is_loopback(self._settings.host):
            if server_settings.is_loopback(host):
                return
        elif server_settings.parse_address(host) is not None or server_settings.is_loopback(host):
            return  # an address cannot be rebound
        name = host[:_MAX_HOST_CHARACTERS]
        raise problems.Problem(
            403,
            "HOST_UNKNOWN",
            f"this server does not go by the name {name!r}",
            hint=f"`skelo serve --allow-host {name or 'NAME'}` adds it; for the address of a proxy, use --origin",
        )

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        """Raise a 403 for a request from another site's page. Programs send neither of these headers."""
        if not all(self._is_own_origin(origin, headers) for origin in headers.getlist("origin")):
            raise problems.Problem(403, "ORIGIN_FOREIGN", "requests from other sites are refused")
        site = headers.get("sec-fetch-site")
        is_page_visit = (
            scope.get("method") == "GET"
            and headers.get("sec-fetch-mode") == "navigate"
            and not scope["path"].startswith("/api/")
        )
        if site in ("cross-site", "same-site") and not is_page_visit:
            raise problems.Problem(403, "ORIGIN_FOREIGN", "requests from other sites are refused")

    def _is_own_origin(self, origin: str, headers: Headers) -> bool:
        if origin in self._settings.origins:
            return True
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.netloc.lower() == headers.get("host", "").lower()

    def _identify(self, scope: Scope, headers: Headers) -> tokens.Identity | None:
        """Return the caller; None if it has shown nothing and the server needs a token."""
        authorization = headers.get("authorization")
        if authorization is not None:
            return self._identify_by_token(scope, authorization)
        cookie = read_cookie(headers, self._sessions.cookie_name)
        caller = None if cookie is None else self._sessions.read(cookie)
        if caller is not None:
            _check_csrf(scope, headers, caller)
            return caller
        if self._settings.without_token:
            return tokens.Identity(name=self._settings.user, role="operator")
        return None

    def _identify_by_token(self, scope: Scope, authorization: str) -> tokens.Identity:
        token = self._find_token(authorization)
        if token is None:
            self.count_wrong_token(scope)
            raise problems.Problem(
                401, "TOKEN_UNKNOWN", "this token is not known", headers={"www-authenticate": 'Bearer realm="skelo"'}
            )
        return tokens.Identity(name=token.name, role=token.role)

    def _is_still_allowed(self, headers: Headers, caller: tokens.Identity) -> bool:
        authorization = headers.get("authorization")
        if authorization is not None:
            return self._find_token(authorization) is not None
        cookie = None if caller.csrf is None else read_cookie(headers, self._sessions.cookie_name)
        return cookie is None or self._sessions.read(cookie) is not None

    def _find_token(self, authorization: str) -> tokens.Token | None:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() == "bearer":
            return self._settings.tokens.find(token.strip())
        return None


class _FailedLogins:
    """Wrong tokens by address: who tries many is told to wait, and leaves a line in the log.

    A right token is never refused: behind a proxy all clients may have one address, and a stranger's guesses must not
    lock the others out. Guessing does not pay, as a token has at least 16 characters.
    """

    def __init__(self, max_per_minute: int) -> None:
        self._max_per_minute = max_per_minute
        self._wrong: OrderedDict[str, list[float]] = OrderedDict()

    def count(self, address: str) -> None:
        """Count a wrong token and log it; raise a 429 if there were too many within the last minute."""
        now = time.monotonic()
        recent = [at for at in self._wrong.pop(address, []) if at > now - 60]
        if len(recent) < self._max_per_minute:
            _LOG.warning("a wrong token from %s", address)
        elif len(recent) == self._max_per_minute:  # once: the time of this one is kept, too
            _LOG.warning("too many wrong tokens from %s; further ones are not logged for a minute", address)
        self._wrong[address] = [*recent, now][: self._max_per_minute + 1]
        if len(self._wrong) > _MAX_CLIENTS:
            self._wrong.popitem(last=False)
        if len(recent) >= self._max_per_minute:
            raise problems.Problem(
                429, "TOO_MANY_REQUESTS", "too many wrong tokens", headers={"retry-after": "60"}, hint="wait a minute"
            )


def client_address(scope: Mapping[str, object]) -> str:
    """Return the address that a request comes from."""
    client = cast("tuple[str, int] | None", scope.get("client"))
    return client[0] if client else "unknown"


def _host_name(host: str) -> str:
    """Return the name in a Host header, without its port; the whole text if it is not a name and a port."""
    parts = _HOST.fullmatch(host)
    return host if parts is None else (parts["address"] or parts["name"]).lower()


def read_cookie(headers: Headers, wanted: str) -> str | None:
    """Return the cookie `wanted`.

    A browser sends the cookies of all programs on this host, so the others may be malformed and are skipped.
    """
    for header in headers.getlist("cookie"):
        for part in header.split(";"):
            name, _, value = part.strip().partition("=")
            if name == wanted:
                return value
    return None


def _check_csrf(scope: Scope, headers: Headers, caller: tokens.Identity) -> None:
    if scope["type"] != "http" or scope["method"] in _SAFE_METHODS or scope["path"] == LOGIN_PATH:
        return
    if caller.csrf is None or headers.get("x-csrf-token") != caller.csrf:
        raise problems.Problem(
            403,
            "CSRF_TOKEN",
            "a change from a browser must carry the session's X-CSRF-Token",
            hint="GET /api/session returns it",
        )


# -- answers of the guard ---------------------------------------------------------------------------------------------


async def _reject(
    problem: problems.Problem | errors.OpenSkeloError, scope: Scope, receive: Receive, send: Send
) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": problem.code})
        return
    await problems.response(problem)(scope, receive, send)


async def _ask_for_token(scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
    """Send a browser to the login page, and a program a 401."""
    is_page = scope.get("method") == "GET" and not scope["path"].startswith(("/api/", "/metrics"))
    if scope["type"] == "http" and is_page and "text/html" in headers.get("accept", ""):
        await _redirect_to_login(scope, headers)(scope, receive, send)
        return
    problem = problems.Problem(
        401,
        "TOKEN_REQUIRED",
        "a token is required",
        hint="send Authorization: Bearer TOKEN, or log in at /login",
        headers={"www-authenticate": 'Bearer realm="skelo"'},
    )
    await _reject(problem, scope, receive, send)


def _redirect_to_login(scope: Scope, headers: Headers) -> Response:
    """Return the answer to a browser without a session.

    If it comes from another site's link, it only lacks the cookie and reloads the page; else it goes to the login page.
    """
    address = _page_address(scope)
    if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        return HTMLResponse(_RELOAD_PAGE.format(address=html.escape(address)), headers={"cache-control": "no-store"})
    target = login_target(address)
    query = "" if target == "/" else f"?{urlencode({NEXT_FIELD: target})}"
    return RedirectResponse(f"{LOGIN_PATH}{query}", 303)


def login_target(wanted: str) -> str:
    """Return where to go after the login: `wanted` if it is a page of this server, else the first page."""
    is_path = wanted.startswith("/") and not wanted.startswith(("//", "/\\", LOGIN_PATH, "/api/"))
    is_clean = len(wanted) <= _MAX_TARGET_CHARACTERS and wanted.isascii() and wanted.isprintable()
    return wanted if is_path and is_clean else "/"


def _page_address(scope: Scope) -> str:
    path = "/" + quote(scope["path"], safe="/:@!$&'()*+,;=~-._").lstrip("/")
    query = scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path
