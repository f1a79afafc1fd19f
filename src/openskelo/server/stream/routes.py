"""The stream's two endpoints: `/ws` (WebSocket) and `GET /api/stream` (server-sent events).

Both send the hub's messages to one client, check now and then that the client would still be let in, and cut off a
client that takes nothing. A WebSocket client may also send messages: ping, and subscribe to another run. The guard has
checked Host, Origin and token before a request or socket comes here.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from typing import Annotated, cast

from fastapi import APIRouter, Header, Query, Request, WebSocket, WebSocketDisconnect
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from openskelo import errors
from openskelo.server import problems, rest
from openskelo.server.auth import guard
from openskelo.server.stream import hub as hubs
from openskelo.server.stream import messages

#: A client that takes nothing for this long is cut off; it may come back and resume.
SEND_SECONDS = 30.0
#: How often the server checks that a client would still be let in: a stream outlives tokens and sessions.
ACCESS_CHECK_SECONDS = 1.0
#: A socket is closed after this many invalid messages.
MAX_INVALID_MESSAGES = 100
#: Close codes of a socket, after the HTTP statuses of the same meaning.
INVALID, NOT_FOUND, BUSY = 4400, 4404, 4409
_GOING_AWAY, _POLICY, _FAILED = 1001, 1008, 1011


class AccessCheck:
    """A check whether the client of one stream may stay. It asks the guard at most once per `ACCESS_CHECK_SECONDS`."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._next_check = time.monotonic() + ACCESS_CHECK_SECONDS

    def is_allowed(self) -> bool:
        """True if the client may get more messages."""
        now = time.monotonic()
        if now < self._next_check:
            return True
        self._next_check = now + ACCESS_CHECK_SECONDS
        return guard.is_still_allowed(self._scope)


# -- server-sent events -----------------------------------------------------------------------------------------------


def sse_router(hub: hubs.Hub) -> APIRouter:
    """Return the router of `GET /api/stream`, for browsers' EventSource and for curl."""
    routes = APIRouter()

    @routes.get(
        "/api/stream",
        response_class=StreamingResponse,
        tags=["stream"],
        responses={200: {"content": {"text/event-stream": {}}}, **problems.responses(404, 409)},
    )
    async def stream(
        request: Request,
        run_id: Annotated[str | None, Query(alias="runId")] = None,
        since: Annotated[str | None, Query()] = None,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> StreamingResponse:
        """Stream the events of a run, or of all runs: `hello`, `snapshot`, then `events`.

        `since`, or the `Last-Event-ID` that a browser sends when it reconnects, resumes without a gap.
        """
        run = messages.parse_run_id(run_id)
        after = messages.parse_since(last_event_id or since)
        await hub.check(run)
        return _EventStream(
            _sse_blocks(hub, run, after, AccessCheck(request.scope)),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    _ = stream  # the decorator has registered it
    return routes


async def _sse_blocks(
    hub: hubs.Hub, run_id: str | None, since: int | None, access: AccessCheck
) -> AsyncGenerator[bytes]:
    yield b"retry: 1000\n\n"
    async with contextlib.aclosing(hub.frames(run_id, since)) as frames:
        async for frame in frames:
            if not access.is_allowed():
                return  # the client reconnects, and the guard answers it
            yield frame.sse_block


class _EventStream(StreamingResponse):
    """A response that goes on while its client takes it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the stream ends, the client leaves, or it takes nothing for too long."""

        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(SEND_SECONDS):
                await send(message)

        try:
            with contextlib.suppress(ClientDisconnect, TimeoutError):
                await super().__call__(scope, receive, send_in_time)
        finally:
            await cast("AsyncGenerator[bytes]", self.body_iterator).aclose()


# -- WebSocket --------------------------------------------------------------------------------------------------------


def websocket_router(hub: hubs.Hub) -> APIRouter:
    """Return the router of `/ws`."""
    routes = APIRouter()

    @routes.websocket("/ws")
    async def stream(
        websocket: WebSocket,
        run_id: Annotated[str | None, Query(alias="runId")] = None,
        since: Annotated[str | None, Query()] = None,
    ) -> None:
        """Stream the events of a run, or of all: hello, snapshot, then events; `since` resumes without a gap."""
        await websocket.accept()
        with contextlib.suppress(WebSocketDisconnect, TimeoutError):  # the client left, or takes nothing
            await _SocketSession(websocket, hub).run(run_id, since)

    _ = stream  # the decorator has registered it
    return routes


class _SocketSession:
    """One socket: a task sends the hub's messages while another reads what the client sends."""

    def __init__(self, websocket: WebSocket, hub: hubs.Hub) -> None:
        self._websocket = websocket
        self._hub = hub
        self._access = AccessCheck(websocket.scope)
        self._send_lock = asyncio.Lock()
        self._closed = False
        self._invalid_messages = 0

    async def run(self, run_id: str | None, since: str | None) -> None:
        """Serve the socket until the client leaves, sends too many invalid messages, or the hub closes."""
        try:
            rest.check_query(self._websocket)
            subscription = messages.Subscribe(run_id=messages.parse_run_id(run_id), since=messages.parse_since(since))
        except errors.InvalidInput as error:
            await self._close_with_error(error)
            return
        reading = asyncio.create_task(self._read_subscription())
        try:
            while True:
                sending = asyncio.create_task(self._send_stream(subscription))
                await asyncio.wait({reading, sending}, return_when=asyncio.FIRST_COMPLETED)
                if sending.done():
                    await sending
                    return
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
                next_subscription = await reading
                if next_subscription is None:
                    return
                subscription = next_subscription
                reading = asyncio.create_task(self._read_subscription())
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _send_stream(self, subscription: messages.Subscribe) -> None:
        """Send the hub's messages until there are no more."""
        try:
            async with contextlib.aclosing(self._hub.frames(subscription.run_id, subscription.since)) as frames:
                async for frame in frames:
                    if not self._access.is_allowed():
                        await self._close(_POLICY, "TOKEN_REQUIRED")
                        return
                    await self._send(frame)
        except errors.OpenSkeloError as error:
            await self._close_with_error(error)
            return
        await self._close(_GOING_AWAY, "reconnect and resume with since")

    async def _read_subscription(self) -> messages.Subscribe | None:
        """Answer the client's messages until it subscribes to another run; return None after closing the socket."""
        while True:
            socket_message = await self._websocket.receive()
            if socket_message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect
            text = socket_message.get("text")
            try:
                message = messages.parse_client_message(socket_message.get("bytes") or b"" if text is None else text)
            except errors.InvalidInput as error:
                self._invalid_messages += 1
                await self._send(messages.error(error))
                if self._invalid_messages >= MAX_INVALID_MESSAGES:
                    await self._close(_POLICY, "too many invalid messages")
                    return None
                continue
            match message:
                case messages.Ping():
                    await self._send(messages.pong(message.id))
                case messages.Subscribe():
                    return message
                case None:
                    pass

    async def _send(self, frame: messages.Frame) -> None:
        async with self._send_lock, asyncio.timeout(SEND_SECONDS):
            if not self._closed:
                await self._websocket.send_text(frame.text)

    async def _close(self, code: int, reason: str) -> None:
        """Close the socket; nothing is sent afterwards."""
        async with self._send_lock, asyncio.timeout(SEND_SECONDS):
            if not self._closed:
                self._closed = True
                await self._websocket.close(code, reason)

    async def _close_with_error(self, error: errors.OpenSkeloError) -> None:
        """Send the error, and close the socket with its code."""
        await self._send(messages.error(error))
        match error:
            case errors.InvalidInput():
                code = INVALID
            case errors.NotFound():
                code = NOT_FOUND
            case errors.Busy():
                code = BUSY
            case _:
                code = _FAILED
        await self._close(code, error.code)
