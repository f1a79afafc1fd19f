"""Running the app: a listening socket, uvicorn over it, and an end that loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Awaitable, Callable, Generator
from typing import cast

import uvicorn
from fastapi import FastAPI

from openskelo import errors
from openskelo.server import hub

#: How long open connections may take to end once the server is asked to.
GRACE_SECONDS = 5


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes a free one (InvalidInput when it cannot be had)."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        made = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise errors.InvalidInput(f"{host[:100]!r} is no address of this machine", code="ADDRESS_UNUSABLE") from error
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(2048)
    except OSError as error:
        made.close()
        raise errors.InvalidInput(
            f"cannot listen on {host} port {port}: {error.strerror}",
            code="ADDRESS_UNUSABLE",
            hint="--port 0 takes a free port",
        ) from error
    return made


def address(listening: socket.socket) -> str:
    """The address that a browser on this machine would use."""
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


async def serve(app: FastAPI, listening: socket.socket, *, ready: Callable[[], Awaitable[None] | None]) -> None:
    """Answer until SIGTERM or SIGINT; a second signal does not wait for connections. `ready` is called at the start.

    What the app cannot begin without is raised before anybody is answered (StoreError, InvalidInput).
    """
    config = uvicorn.Config(
        app,
        lifespan="off",  # it is ours, below: what keeps it from beginning is raised as what it is
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE_SECONDS,
        h11_max_incomplete_event_size=32 * 1024,
        ws_max_size=1024 * 1024,
        ws_per_message_deflate=False,  # every client's messages would be compressed anew
        proxy_headers=False,
    )
    server = _Server(config, ready)
    app.state.server = server
    with _signals(server):
        async with app.router.lifespan_context(app):
            await server.serve(sockets=[listening])
    if not server.started:
        raise errors.StoreError("the server could not start; its log says more", code="SERVER_FAILED")


def stop(app: FastAPI) -> None:
    """Ask the server of an app to end, as a signal would."""
    cast("uvicorn.Server", app.state.server).should_exit = True


class _Server(uvicorn.Server):
    """uvicorn's server, which leaves signals to us and says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], Awaitable[None] | None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, then tell."""
        await super().startup(sockets)
        if self.started and (telling := self._ready()) is not None:
            await telling

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, which would never end by themselves, then as uvicorn does."""
        app = cast("FastAPI", self.config.app)
        await cast("hub.Hub", app.state.streams).close()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Not here: the loop's own handlers do not tear down what is under way."""
        yield


@contextlib.contextmanager
def _signals(server: uvicorn.Server) -> Generator[None]:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    handled: list[signal.Signals] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):  # not in the main thread
            loop.add_signal_handler(number, stop)
            handled.append(number)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
