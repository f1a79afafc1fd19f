"""The guard before every route and socket: no foreign page, no rebound name, nobody without a token where one is due.

It is the one place that lets anybody in: routes and sockets find in `identity.of(scope)` whom they talk to.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import cast
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from openskelo.server import entrance, identity, problems, sessions, tokens
from openskelo.server import settings as server_settings

#: What anybody may see.
PUBLIC = frozenset({"/api/health", "/login", "/login.css"})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_CLIENTS = 10_000


class Guard:
    """ASGI middleware that lets in or turns away."""

    def __init__(self, app: ASGIApp, *, settings: server_settings.Settings, known: sessions.Sessions) -> None:
        self._app = app
        self._settings = settings
        self._sessions = known
        self._names = {urlsplit(origin).hostname for origin in settings.origins} | {settings.host.lower()}
        self._wrong: OrderedDict[str, list[float]] = OrderedDict()
        self._right: OrderedDict[tuple[str, str], None] = OrderedDict()  # addresses, and whose token came from there

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on what may come in; answer everything else here."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            self._check_host(headers)
            self._check_origin(scope, headers)
            who = self._who(scope, headers)
        except problems.Problem as problem:
            await _turn_away(problem, scope, receive, send)
            return
        if who is None:
            if scope["path"] not in PUBLIC:
                await _ask_for_token(scope, headers, receive, send)
                return
        else:
            identity.put(scope, who, lambda: self._is_welcome(headers, who))
        await self._app(scope, receive, send)

    def _check_host(self, headers: Headers) -> None:
        """A name that somebody let point here must not make a foreign page one of ours (DNS rebinding)."""
        host = _name(headers.get("host", ""))
        if host in self._names:
            return
        found = server_settings.address(host)
        if server_settings.is_loopback(self._settings.host):
            if server_settings.is_loopback(host):
                return
        elif found is not None or server_settings.is_loopback(host):
            return  # an address cannot be rebound
        raise problems.Problem(
            403, "HOST_UNKNOWN", "this server does not go by that name", hint="`skelo serve --origin` adds one"
        )

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        """Only pages of this server may ask it for anything; programs send neither of these headers."""
        origin = headers.get("origin")
        if origin is not None and not self._is_own(origin, headers):
            raise problems.Problem(403, "ORIGIN_FOREIGN", "requests from other sites are not answered")
        site = headers.get("sec-fetch-site")
        visit = (
            scope.get("method") == "GET"
            and headers.get("sec-fetch-mode") == "navigate"
            and not scope["path"].startswith("/api/")
        )
        if site in ("cross-site", "same-site") and not visit:
            raise problems.Problem(403, "ORIGIN_FOREIGN", "requests from other sites are not answered")

    def _is_own(self, origin: str, headers: Headers) -> bool:
        if origin in self._settings.origins:
            return True
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.netloc.lower() == headers.get("host", "").lower()

    def _who(self, scope: Scope, headers: Headers) -> identity.Identity | None:
        bearer = headers.get("authorization")
        if bearer is not None:
            return self._by_token(scope, bearer)
        cookie = _cookie(headers, self._sessions.cookie)
        found = None if cookie is None else self._sessions.read(cookie)
        if found is not None:
            self._check_csrf(scope, headers, found)
            return found
        if self._settings.is_open:
            return identity.Identity(name=self._settings.user, role="operator")
        return None

    def _is_welcome(self, headers: Headers, who: identity.Identity) -> bool:
        bearer = headers.get("authorization")
        if bearer is not None:
            return self._find(bearer) is not None
        cookie = None if who.csrf is None else _cookie(headers, self._sessions.cookie)
        return cookie is None or self._sessions.read(cookie) is not None

    def _find(self, header: str) -> tokens.Token | None:
        kind, _, token = header.partition(" ")
        return self._settings.tokens.find(token.strip()) if kind.lower() == "bearer" else None

    def _by_token(self, scope: Scope, header: str) -> identity.Identity:
        found = self._find(header)
        if found is None or (client(scope), found.hash) not in self._right:
            self.check_patience(scope)
        if found is None:
            self.note_wrong(scope)
            raise problems.Problem(
                401, "TOKEN_UNKNOWN", "nobody has this token", headers={"www-authenticate": 'Bearer realm="skelo"'}
            )
        self._note_right(scope, found)
        return identity.Identity(name=found.name, role=found.role)

    def _check_csrf(self, scope: Scope, headers: Headers, who: identity.Identity) -> None:
        if scope["type"] != "http" or scope["method"] in _SAFE or scope["path"] == "/login":
            return
        if who.csrf is None or headers.get("x-csrf-token") != who.csrf:
            raise problems.Problem(
                403,
                "CSRF_TOKEN",
                "a change from a browser must carry the session's X-CSRF-Token",
                hint="GET /api/session gives it",
            )

    def check_patience(self, scope: Mapping[str, object]) -> None:
        """Refuse (429) an address that has shown too many wrong tokens within the last minute."""
        times = self._wrong.get(client(scope), [])
        recent = [at for at in times if at > time.monotonic() - 60]
        if len(recent) >= self._settings.limits.wrong_tokens:
            raise problems.Problem(
                429, "TOO_MANY_REQUESTS", "too many wrong tokens", headers={"retry-after": "60"}, hint="wait a minute"
            )

    def note_wrong(self, scope: Mapping[str, object]) -> None:
        """Remember that an address has shown a wrong token."""
        key = client(scope)
        kept = [*self._wrong.pop(key, []), time.monotonic()]
        self._wrong[key] = kept[-self._settings.limits.wrong_tokens :]
        if len(self._wrong) > _CLIENTS:
            self._wrong.popitem(last=False)

    def _note_right(self, scope: Mapping[str, object], token: tokens.Token) -> None:
        """Remember who came from an address: strangers behind the same proxy must not lock them out."""
        self._right[client(scope), token.hash] = None
        self._right.move_to_end((client(scope), token.hash))
        if len(self._right) > _CLIENTS:
            self._right.popitem(last=False)


def client(scope: Mapping[str, object]) -> str:
    """The address that a request comes from."""
    found = cast("tuple[str, int] | None", scope.get("client"))
    return found[0] if found else "unknown"


def _name(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host.partition("]")[0].removeprefix("[").lower()
    return host.partition(":")[0].lower()


def _cookie(headers: Headers, wanted: str) -> str | None:
    """Our cookie, whatever others are beside it: a browser sends those of all programs on this host, however odd."""
    for given in headers.getlist("cookie"):
        for part in given.split(";"):
            name, _, value = part.strip().partition("=")
            if name == wanted:
                return value
    return None


async def _turn_away(problem: problems.Problem, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": problem.code})
        return
    await problems.response(problem)(scope, receive, send)


async def _ask_for_token(scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
    """A person's browser is led to the login page; a program is told."""
    is_page = scope.get("method") == "GET" and not scope["path"].startswith(("/api/", "/metrics"))
    if scope["type"] == "http" and is_page and "text/html" in headers.get("accept", ""):
        await entrance.lead(scope, headers)(scope, receive, send)
        return
    problem = problems.Problem(
        401,
        "TOKEN_REQUIRED",
        "this takes a token",
        hint="send Authorization: Bearer TOKEN, or log in at /login",
        headers={"www-authenticate": 'Bearer realm="skelo"'},
    )
    await _turn_away(problem, scope, receive, send)
