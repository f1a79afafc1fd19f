"""ASGI middleware around the app: the access log, security headers, and limits.

A request passes them in this order, then the guard (`auth/guard.py`), then its route. Limits come before the guard, so
that a flood of requests costs as little as possible.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Generator
from typing import Literal, TypeAlias

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from openskelo import http_connections
from openskelo.kernel.json import Json
from openskelo.server import problems
from openskelo.server import settings as server_settings
from openskelo.server.auth import guard

# -- access log -------------------------------------------------------------------------------------------------------

_ACCESS_LOG = logging.getLogger("openskelo.access")


class AccessLog:
    """Writes a line for each request and each socket: who, what, the status and how long it took.

    The query is left out, as it may hold what a person looked for.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and log its answer when it is complete."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        status = 0
        start_time = time.perf_counter()

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            match message["type"]:
                case "http.response.start":
                    status = message["status"]
                case "websocket.accept":
                    status = 101
                case "websocket.close" if status == 0:
                    status = 403
                case _:
                    pass
            await send(message)

        try:
            await self._app(scope, receive, send_and_note_status)
        finally:
            _log_access(scope, status, int((time.perf_counter() - start_time) * 1000))


def _log_access(scope: Scope, status: int, milliseconds: int) -> None:
    fields: dict[str, Json] = {
        "client": guard.client_address(scope),
        "user": guard.find_name(scope),
        "method": scope.get("method", "WEBSOCKET"),
        "path": scope["path"],
        "status": status,
        "ms": milliseconds,
    }
    path = scope["path"].encode("unicode_escape").decode()  # one line, also if the client sends line breaks
    _ACCESS_LOG.info(
        "%s %s %s %s %d %d ms",
        *(fields["client"], fields["user"] or "-", fields["method"], path, status, milliseconds),
        extra={"fields": fields},
    )


# -- security headers -------------------------------------------------------------------------------------------------

#: Pages come from this server and talk to it only; nothing is inline, framed, or loaded from elsewhere.
CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer, browsers send the login form with `Origin: null`
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class SecurityHeaders:
    """Adds security headers to every response; a route's own header of the same name stays."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add headers to the response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/api/"):
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        await self._app(scope, receive, send_with_headers)


# -- limits -----------------------------------------------------------------------------------------------------------

#: The path of streams that are not sockets.
STREAM_PATH = "/api/stream"
#: Not limited: whoever watches the server must not take a busy one for a broken one.
HEALTH_PATH = "/api/health"
#: A log-in's form is the only body that is read before the caller is known. So it is small, and log-ins count apart:
#: slow ones keep out other log-ins only.
LOGIN_LIMITS = server_settings.Limits(requests=32, body_bytes=16 * 1024, body_seconds=5.0)
#: How many bodies that are too large are read to their end at a time: that is before the caller is known, too.
MAX_DROPS = 32

_Kind: TypeAlias = Literal["request", "stream", "log-in", "health", "drop"]


class Limiter:
    """Refuses requests beyond the limits before anything is read: body size, and requests at a time.

    Each kind of request counts apart. Streams stay open and must not keep requests out.
    """

    def __init__(self, app: ASGIApp, *, limits: server_settings.Limits) -> None:
        self._app = app
        self._limits = limits
        self._max_open: dict[_Kind, int] = {
            "request": limits.requests,
            "stream": limits.streams,
            "log-in": LOGIN_LIMITS.requests,
            "drop": MAX_DROPS,
        }
        self._open: Counter[_Kind] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        match scope["type"]:
            case "http":
                await self._limit_request(scope, receive, send)
            case "websocket":
                await self._limit_socket(scope, receive, send)
            case _:
                await self._app(scope, receive, send)

    async def _limit_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = _kind_of(scope)
        limits = LOGIN_LIMITS if kind == "log-in" else self._limits
        try:
            await self._check_content_length(Headers(scope=scope), receive, limits)
            self._check_capacity(kind)
        except problems.Problem as problem:
            await problems.response(problem)(scope, receive, send)
            return
        with self._count(kind):
            await self._app(scope, self._limit_body(receive, limits), send)

    async def _limit_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._is_full("stream"):
            await receive()
            await send({"type": "websocket.close", "code": 1013, "reason": "SERVER_BUSY"})
            return
        with self._count("stream"):
            await self._app(scope, receive, send)

    def _check_capacity(self, kind: _Kind) -> None:
        if self._is_full(kind):
            raise problems.Problem(503, "SERVER_BUSY", "too many requests at a time", headers={"retry-after": "1"})

    def _is_full(self, kind: _Kind) -> bool:
        return kind in self._max_open and self._open[kind] >= self._max_open[kind]

    @contextlib.contextmanager
    def _count(self, kind: _Kind) -> Generator[None]:
        self._open[kind] += 1
        try:
            yield
        finally:
            self._open[kind] -= 1

    async def _check_content_length(self, headers: Headers, receive: Receive, limits: server_settings.Limits) -> None:
        length = headers.get("content-length", "0")
        if length.isascii() and length.isdecimal() and int(length[:20]) > limits.body_bytes:
            if "expect" not in headers:  # a client that expects `100 Continue` has not sent the body
                await self._drop_body(receive)
            raise _body_too_large(limits.body_bytes)

    def _limit_body(self, receive: Receive, limits: server_settings.Limits) -> Receive:
        """Return a `receive` that raises a 413 for a body that is too large, and a 408 for one that takes too long."""
        size = 0
        is_complete = False
        deadline = asyncio.get_running_loop().time() + limits.body_seconds

        async def receive_limited() -> Message:
            nonlocal size, is_complete
            if is_complete:
                return await receive()  # waits for the end of the connection
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise _body_too_late(limits.body_seconds) from None
            is_complete = not message.get("more_body", False)
            size += len(message.get("body", b""))
            if size > limits.body_bytes:
                if not is_complete:
                    await self._drop_body(receive)
                raise _body_too_large(limits.body_bytes)
            return message

        return receive_limited

    async def _drop_body(self, receive: Receive) -> None:
        """Read the rest of a body, within limits: a client that is still sending would see a reset, not the answer."""
        if self._is_full("drop"):
            return
        size = 0
        with self._count("drop"), contextlib.suppress(TimeoutError):
            async with asyncio.timeout(http_connections.HEAD_SECONDS):
                while size <= http_connections.MAX_DROPPED_BYTES:
                    message = await receive()
                    size += len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return


def _kind_of(scope: Scope) -> _Kind:
    match scope["method"], scope["path"]:
        case _, str(path) if path == STREAM_PATH:
            return "stream"
        case _, str(path) if path == HEALTH_PATH:
            return "health"
        case "POST", str(path) if path == guard.LOGIN_PATH:
            return "log-in"
        case _:
            return "request"


def _body_too_large(max_bytes: int) -> problems.Problem:
    return problems.Problem(413, "BODY_TOO_LARGE", f"a body has at most {max_bytes} bytes")


def _body_too_late(seconds: float) -> problems.Problem:
    message = f"the body did not arrive within {seconds:g} seconds"
    return problems.Problem(408, "BODY_TOO_LATE", message, headers={"connection": "close"})
