"""A stage for stream tests: a real engine, a real hub, a real server on loopback, and clients that write down all."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import fastapi
import httpx
import orjson
import uvicorn
from websockets import exceptions
from websockets.asyncio import client as websockets

import openskelo
from openskelo.executors.handlers import invocation
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import protocol
from openskelo.server import problems
from openskelo.server.stream import hub as hubs
from openskelo.server.stream import routes, run_tracks
from openskelo.stores import api
from tests.wire import patching

Message = dict[str, Any]
Told = AsyncGenerator[tuple[str | None, Message]]


async def give_back(ctx: openskelo.Context) -> JsonObject:
    """The handler that does nothing."""
    return ctx.inputs


def chain(steps: int, kind: str = "integer") -> openskelo.Workflow:
    """So many blocks one after the other, each with the handler `give_back`, which hand on `n`."""
    blocks: list[Json] = []
    source = "inputs"
    for number in range(steps):
        blocks.append(
            {
                "id": f"s{number}",
                "mode": "deterministic",
                "inputs": {"n": {"type": kind, "from": f"{source}.n"}},
                "outputs": {"n": kind},
                "deterministic": {"handler": "local:give_back"},
            }
        )
        source = f"s{number}"
    return openskelo.from_document({"name": "chain", "inputs": {"n": kind}, "blocks": blocks})


@asynccontextmanager
async def engine(
    root: Path,
    *,
    store: api.Store | None = None,
    provider: protocol.Provider | None = None,
    **handlers: invocation.Handler,
) -> AsyncGenerator[openskelo.Engine]:
    """An engine over `root`."""
    project = openskelo.Project(root=root, data_dir=root / ".skelo")
    given: Mapping[str, invocation.Handler] = {"give_back": give_back, **handlers}
    async with await openskelo.Engine.open(project, store=store, handlers=given, provider=provider) as opened:
        yield opened


@asynccontextmanager
async def hub(over: openskelo.Engine) -> AsyncGenerator[hubs.Hub]:
    """A hub that hears what the engine's models say."""
    made = hubs.Hub(run_tracks.RunTracks(over.store), is_running=over.is_under_way)
    deaf = over.listen(made.hear)
    try:
        yield made
    finally:
        deaf()
        await made.close()


def app(of: hubs.Hub) -> fastapi.FastAPI:
    """An app with nothing but the stream."""
    made = fastapi.FastAPI()
    problems.install(made)
    made.include_router(routes.websocket_router(of))
    made.include_router(routes.sse_router(of))
    return made


@asynccontextmanager
async def served(of: hubs.Hub, *, buffer: int | None = None) -> AsyncGenerator[str]:
    """A server on loopback; gives its host and port. `buffer` is how many bytes its sockets hold for a slow client."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        if buffer is not None:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
        config = uvicorn.Config(app(of), log_config=None, lifespan="off", ws_per_message_deflate=False)
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}"
        finally:
            await of.close()
            server.should_exit = True
            await serving


@asynccontextmanager
async def opened(host: str, query: str = "") -> AsyncGenerator[websockets.ClientConnection]:
    """A socket at /ws."""
    async with websockets.connect(f"ws://{host}/ws{query}", proxy=None, max_size=None, open_timeout=100) as socket_:
        yield socket_


async def messages(socket_: websockets.ClientConnection) -> AsyncIterator[Message]:
    """What the server says, pings left out, until it closes the socket."""
    with contextlib.suppress(exceptions.ConnectionClosedError):  # the test asks for the code
        async for text in socket_:
            message = cast("Message", orjson.loads(text))
            if message["type"] != "ping":
                yield message


async def sse(host: str, query: str = "", **headers: str) -> AsyncGenerator[tuple[str | None, Message]]:
    """What `/api/stream` says: each message with its id."""
    async with (
        httpx.AsyncClient(trust_env=False, timeout=10) as client,
        client.stream("GET", f"http://{host}/api/stream{query}", headers=headers) as response,
    ):
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        fields: dict[str, str] = {}
        async for line in response.aiter_lines():
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            else:
                if "data" in fields:
                    message = cast("Message", orjson.loads(fields["data"]))
                    assert message["type"] == fields["event"]
                    yield fields.get("id"), message
                fields = {}


async def until(told: AsyncIterator[Message], done: Callable[[Message], bool]) -> list[Message]:
    """What is told up to and with the first message that is `done`."""
    found: list[Message] = []
    async for message in told:
        found.append(message)
        if done(message):
            return found
    raise AssertionError(f"ended after {[one['type'] for one in found]}")


def at(seq: int) -> Callable[[Message], bool]:
    """Whether a message of one run brings it to `seq`."""
    return lambda message: message.get("seq", -1) >= seq


def ended(run_id: str) -> Callable[[Message], bool]:
    """Whether a message says that a run has ended."""
    return lambda message: any(
        event["type"] == "run.patch" and event["runId"] == run_id and event["patch"].get("phase") == "DONE"
        for event in message.get("events", ())
    )


def events(told: Iterable[Message]) -> list[Message]:
    """All events of these messages, in order."""
    return [event for message in told for event in message.get("events", ())]


def facts(told: Iterable[Message]) -> list[Message]:
    """Those that follow from facts."""
    return [event for event in events(told) if "seq" in event]


def folded(told: Iterable[Message]) -> JsonObject:
    """The run that a client has after these messages: from the last snapshot on, or from nothing."""
    run: JsonObject | None = None
    for message in told:
        match message["type"]:
            case "snapshot":
                run = message["run"]
            case "events" if message["events"]:
                run = patching.fold(run or patching.empty(message["runId"]), facts([message]))
            case _:
                pass
    assert run is not None
    return run


async def head(of: openskelo.Engine, run_id: str) -> int:
    """The seq of a run's last fact."""
    return sum([len(lines) async for lines in of.store.read_events(run_id)])


async def snapshot(of: hubs.Hub, run_id: str) -> JsonObject:
    """The run as a new client sees it."""
    async with contextlib.aclosing(of.frames(run_id)) as frames:
        async for frame in frames:
            if frame.kind == "snapshot":
                return orjson.loads(frame.data)["run"]
    raise AssertionError("no snapshot")
