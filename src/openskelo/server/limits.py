"""Limits on what comes in: the size of bodies, how often one client asks, and how much goes on at a time."""

from __future__ import annotations

import contextlib
import math
import time
from collections import OrderedDict
from collections.abc import Generator

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from openskelo.server import guard, problems
from openskelo.server import settings as server_settings

_CLIENTS = 10_000
#: Where a stream is asked for that is no socket.
STREAM = "/api/stream"


class Limiter:
    """ASGI middleware that says no before anything is read or done."""

    def __init__(self, app: ASGIApp, *, limits: server_settings.Limits) -> None:
        self._app = app
        self._limits = limits
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._requests = 0
        self._streams = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count, refuse, or hand on."""
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "websocket":
                await self._socket(scope, receive, send)
            case _:
                await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._check_rate(guard.client(scope))
            self._check_length(Headers(scope=scope))
            streams = scope["path"] == STREAM
            if (self._streams if streams else self._requests) >= self._most(streams=streams):
                raise _busy()
        except problems.Problem as problem:
            await problems.response(problem)(scope, receive, send)
            return
        with self._counting(streams=streams):
            await self._app(scope, _counted(receive, self._limits.body_bytes), send)

    def _most(self, *, streams: bool) -> int:
        return self._limits.streams if streams else self._limits.requests

    @contextlib.contextmanager
    def _counting(self, *, streams: bool) -> Generator[None]:
        """A stream is no request: it stays open, and must not keep others from asking."""
        self._streams += streams
        self._requests += not streams
        try:
            yield
        finally:
            self._streams -= streams
            self._requests -= not streams

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._streams >= self._limits.streams:
            await receive()
            await send({"type": "websocket.close", "code": 1013, "reason": "SERVER_BUSY"})
            return
        with self._counting(streams=True):
            await self._app(scope, receive, send)

    def _check_rate(self, key: str) -> None:
        """A bucket of requests for each address: it fills at the rate and holds a burst."""
        now = time.monotonic()
        left, at = self._buckets.pop(key, (float(self._limits.burst), now))
        left = min(float(self._limits.burst), left + (now - at) * self._limits.rate)
        self._buckets[key] = (max(0.0, left - 1), now)
        if len(self._buckets) > _CLIENTS:
            self._buckets.popitem(last=False)
        if left < 1:
            wait = max(1, math.ceil((1 - left) / self._limits.rate))
            raise problems.Problem(
                429, "TOO_MANY_REQUESTS", "too many requests from one address", headers={"retry-after": str(wait)}
            )

    def _check_length(self, headers: Headers) -> None:
        length = headers.get("content-length", "0")
        if length.isascii() and length.isdecimal() and int(length[:20]) > self._limits.body_bytes:
            raise _too_large(self._limits.body_bytes)


def _counted(receive: Receive, most: int) -> Receive:
    """The body as it comes in, up to so many bytes: what says no length may still be too long."""
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > most:
            raise _too_large(most)
        return message

    return counted


def _too_large(most: int) -> problems.Problem:
    return problems.Problem(413, "BODY_TOO_LARGE", f"a body has at most {most} bytes", headers={"connection": "close"})


def _busy() -> problems.Problem:
    return problems.Problem(503, "SERVER_BUSY", "too many requests at a time", headers={"retry-after": "1"})
