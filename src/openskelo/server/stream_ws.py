"""`/ws`: the stream over a WebSocket. The server tells; the client may ask for another run, and whether it is heard.

The guard before the app has checked Host, Origin and token when a socket comes here.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Annotated

from fastapi import APIRouter, Query, WebSocket, WebSocketDisconnect

from openskelo import errors
from openskelo.server import client_messages, frames, query, welcome
from openskelo.server import hub as hubs

#: After so many messages that are none, a client is cut off.
MAX_MISTAKES = 100

#: Why a socket is closed, beside the codes of the protocol: as HTTP would say it.
INVALID, NOT_FOUND, BUSY = 4400, 4404, 4409
_GOING_AWAY, _POLICY, _FAILED = 1001, 1008, 1011


def router(hub: hubs.Hub) -> APIRouter:
    """The route."""
    routes = APIRouter()

    @routes.websocket("/ws")
    async def stream(
        websocket: WebSocket,
        run_id: Annotated[str | None, Query(alias="runId")] = None,
        since: Annotated[str | None, Query()] = None,
    ) -> None:
        """The events of a run, or of all: hello, snapshot, then events; `since` goes on without a gap."""
        await websocket.accept()
        session = _Session(websocket, hub)
        with contextlib.suppress(
            WebSocketDisconnect, TimeoutError
        ):  # it left, or takes nothing: there is nobody to tell
            await session.run(run_id, since)

    _ = stream  # the router has it
    return routes


class _Session:
    """One socket: a task that sends what the hub tells, while what the client says is read here."""

    def __init__(self, websocket: WebSocket, hub: hubs.Hub) -> None:
        self._websocket = websocket
        self._hub = hub
        self._welcome = welcome.Welcome(websocket.scope)
        self._sending = asyncio.Lock()
        self._closed = False
        self._mistakes = 0

    async def run(self, run_id: str | None, since: str | None) -> None:
        """Until the client leaves, misbehaves, or the hub closes."""
        try:
            query.check_declared(self._websocket)
            wanted = client_messages.Subscribe(
                run_id=client_messages.run_id(run_id), since=client_messages.since(since)
            )
        except errors.InvalidInput as error:
            await self._end(error)
            return
        reading = asyncio.create_task(self._read())
        try:
            while True:
                sending = asyncio.create_task(self._tell(wanted))
                await asyncio.wait({reading, sending}, return_when=asyncio.FIRST_COMPLETED)
                if sending.done():
                    await sending
                    return
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
                following = await reading
                if following is None:
                    return
                wanted = following
                reading = asyncio.create_task(self._read())
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _tell(self, wanted: client_messages.Subscribe) -> None:
        """Send what the hub tells until there is no more."""
        try:
            async with contextlib.aclosing(self._hub.frames(wanted.run_id, wanted.since)) as told:
                async for frame in told:
                    if not self._welcome.is_welcome():
                        await self._close(_POLICY, "TOKEN_REQUIRED")
                        return
                    await self._send(frame)
        except errors.OpenSkeloError as error:
            await self._end(error)
            return
        await self._close(_GOING_AWAY, "come back and go on with since")

    async def _read(self) -> client_messages.Subscribe | None:
        """Answer what the client says until it wants another run, or (None) is sent away."""
        while True:
            said = await self._websocket.receive()
            if said["type"] == "websocket.disconnect":
                raise WebSocketDisconnect
            text = said.get("text")
            try:
                message = client_messages.parse(said.get("bytes") or b"" if text is None else text)
            except errors.InvalidInput as error:
                self._mistakes += 1
                await self._send(frames.error(error))
                if self._mistakes >= MAX_MISTAKES:
                    await self._close(_POLICY, "too many messages that are none")
                    return None
                continue
            match message:
                case client_messages.Ping():
                    await self._send(frames.pong(message.token))
                case client_messages.Subscribe():
                    return message
                case None:
                    pass

    async def _send(self, frame: frames.Frame) -> None:
        async with self._sending, asyncio.timeout(welcome.SEND_SECONDS):
            if not self._closed:
                await self._websocket.send_text(frame.text)

    async def _close(self, code: int, reason: str) -> None:
        """Say goodbye, after which nothing more is sent."""
        async with self._sending, asyncio.timeout(welcome.SEND_SECONDS):
            if not self._closed:
                self._closed = True
                await self._websocket.close(code, reason)

    async def _end(self, error: errors.OpenSkeloError) -> None:
        """Tell the client why there is nothing for it, and close."""
        await self._send(frames.error(error))
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
