"""`GET /api/stream`: the stream as server-sent events, for browsers' EventSource and for curl."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Annotated, cast

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from openskelo.server import client_messages, problems, welcome
from openskelo.server import hub as hubs


def router(hub: hubs.Hub) -> APIRouter:
    """The route. Errors before the first byte leave as what they are (NotFound, InvalidInput, Busy)."""
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
        """The events of a run, or of all: `hello`, `snapshot`, then `events`.

        `since`, or the `Last-Event-ID` with which a browser comes back, goes on without a gap.
        """
        run = client_messages.run_id(run_id)
        after = client_messages.since(last_event_id or since)
        await hub.check(run)
        return _Stream(
            _blocks(hub, run, after, welcome.Welcome(request.scope)),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    _ = stream  # the router has it
    return routes


async def _blocks(
    hub: hubs.Hub, run_id: str | None, since: int | None, welcomed: welcome.Welcome
) -> AsyncGenerator[bytes]:
    yield b"retry: 1000\n\n"
    async with contextlib.aclosing(hub.frames(run_id, since)) as frames:
        async for frame in frames:
            if not welcomed.is_welcome():
                return  # it comes back, and is told why it is not let in
            yield frame.block


class _Stream(StreamingResponse):
    """An answer that goes on for as long as its client takes it; whoever does not is cut off."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until there is no more, the client has left, or has taken nothing for too long."""

        async def in_time(message: Message) -> None:
            async with asyncio.timeout(welcome.SEND_SECONDS):
                await send(message)

        try:
            with contextlib.suppress(ClientDisconnect, TimeoutError):  # there is nobody to tell
                await super().__call__(scope, receive, in_time)
        finally:
            await cast("AsyncGenerator[bytes]", self.body_iterator).aclose()  # nothing waits for it any more
