"""`GET /api/stream`: the stream as server-sent events, for browsers' EventSource and for curl."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse

from openskelo.server import client_messages, problems
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
        return StreamingResponse(
            _blocks(hub, run, after),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    _ = stream  # the router has it
    return routes


async def _blocks(hub: hubs.Hub, run_id: str | None, since: int | None) -> AsyncGenerator[bytes]:
    yield b"retry: 1000\n\n"
    async with contextlib.aclosing(hub.frames(run_id, since)) as frames:
        async for frame in frames:
            yield frame.block
