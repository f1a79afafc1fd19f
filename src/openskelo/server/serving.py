"""Running the app: a listening socket, uvicorn on top of it, a clean shutdown, and the other processes of a server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Generator
from typing import cast

import uvicorn
from fastapi import FastAPI

from openskelo import errors, http_connections
from openskelo.programs import child_process
from openskelo.project import Project
from openskelo.server import rest
from openskelo.server.stream import hub

#: How long open connections may take to end once the server is asked to stop.
GRACE_SECONDS = 5


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free port. Raise InvalidInput if the address cannot be used."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = addresses[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise errors.InvalidInput(
            f"{host[:100]!r} is not an address of this machine", code="ADDRESS_UNUSABLE"
        ) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(http_connections.BACKLOG)
    except OSError as error:
        listener.close()
        raise errors.InvalidInput(
            f"cannot listen on {host} port {port}: {error.strerror}",
            code="ADDRESS_UNUSABLE",
            hint="--port 0 takes a free port",
        ) from error
    return listener


def address(listener: socket.socket) -> str:
    """Return the address that a browser on this machine would use."""
    host, port = listener.getsockname()[:2]
    url_host = f"[{host}]" if ":" in host else host
    return f"http://{url_host}:{port}"


async def serve(app: FastAPI, listener: socket.socket, *, ready: Callable[[], Awaitable[None] | None]) -> None:
    """Serve until SIGTERM or SIGINT; a second signal does not wait for connections. Call `ready` once it is listening.

    Raise StoreError or InvalidInput, before any request is answered, if the app cannot start.
    """
    settings = cast("rest.ServerContext", app.state.context).settings
    config = http_connections.Config(
        app,
        http=http_connections.Protocol,
        backlog=http_connections.ACCEPTED_AT_ONCE,
        lifespan="off",  # run below instead, so that its errors are raised here as they are
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE_SECONDS,
        h11_max_incomplete_event_size=32 * 1024,
        ws_max_size=1024 * 1024,
        ws_per_message_deflate=False,  # each message would be compressed once per client
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
    )
    config.connections = http_connections.Connections(http_connections.max_connections(settings.limits.connections))
    server = _Server(config, ready)
    app.state.server = server
    with _handle_signals(server):
        async with app.router.lifespan_context(app):
            await server.serve(sockets=[listener])
    if not server.started:
        raise errors.StoreError("the server could not start; see its log", code="SERVER_FAILED")


def stop(app: FastAPI) -> None:
    """Ask the server of an app to stop, as a signal would."""
    cast("uvicorn.Server", app.state.server).should_exit = True


class _Server(uvicorn.Server):
    """uvicorn's server, without its signal handlers, and with a callback for when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], Awaitable[None] | None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, then call `ready`."""
        await super().startup(sockets)
        if not self.started:
            return
        for listener in sockets or ():
            http_connections.enlarge_backlog(listener)
        pending = self._ready()
        if pending is not None:
            await pending

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, which would never end by themselves, then stop as uvicorn does."""
        app = cast("FastAPI", self.config.app)
        await cast("hub.Hub", app.state.streams).close()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture none: the event loop's own handlers let requests in progress end."""
        yield


@contextlib.contextmanager
def _handle_signals(server: uvicorn.Server) -> Generator[None]:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    handled_signals: list[signal.Signals] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):  # not in the main thread
            loop.add_signal_handler(number, stop)
            handled_signals.append(number)
    try:
        yield
    finally:
        for number in handled_signals:
            loop.remove_signal_handler(number)


# -- worker processes -------------------------------------------------------------------------------------------------
#
# The workers of `skelo serve --processes N`: child processes that run `skelo worker` on the same data dir.


#: The pause before an ended worker is started again, at first and at most.
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
#: How long a worker may take to suspend its runs. `once` effects have to finish.
STOP_SECONDS = 30.0
_LOG = logging.getLogger("openskelo.workers")


class WorkerProcesses:
    """Keeps `count` workers running on a project's data dir from `start` until `stop`."""

    def __init__(self, project: Project, count: int, *, log_format: str = "text") -> None:
        self._project = project
        self._count = count
        self._log_format = log_format
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start the workers."""
        self._tasks = [asyncio.create_task(self._keep_running()) for _ in range(self._count)]

    async def stop(self) -> None:
        """Let the workers suspend their runs and exit."""
        self._stopping.set()
        await asyncio.gather(*self._tasks)

    async def _keep_running(self) -> None:
        """Run one worker, and another one each time it ends, until `stop`."""
        loop = asyncio.get_running_loop()
        pause = FIRST_PAUSE_SECONDS
        while not self._stopping.is_set():
            start_time = loop.time()
            try:
                reason = await self._run_one()
            except OSError as error:
                reason = f"could not be started: {error.strerror}"
            if self._stopping.is_set():
                return
            if loop.time() - start_time > LONGEST_PAUSE_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            _LOG.warning("a worker %s; another one is started in %.0f s", reason, pause)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _run_one(self) -> str:
        """Run one worker until it ends by itself or by `stop`; return how it ended."""
        worker = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "openskelo.cli.main", "worker", "--log", self._log_format),
            *("--data-dir", str(self._project.data_dir)),
            cwd=self._project.root,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=child_process.bound_to(os.getpid()),  # it makes two system calls and takes no lock
        )
        exit_task = asyncio.create_task(worker.wait())
        stop_wanted = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({exit_task, stop_wanted}, return_when=asyncio.FIRST_COMPLETED)
            if not exit_task.done():
                await _stop(worker, exit_task)
        finally:
            stop_wanted.cancel()
            if not exit_task.done():  # this task was cancelled
                worker.kill()
        return f"has ended with {child_process.describe_end(worker.returncode)}"


async def _stop(worker: asyncio.subprocess.Process, ended: asyncio.Task[int]) -> None:
    with contextlib.suppress(ProcessLookupError):
        worker.terminate()
    done_tasks, _ = await asyncio.wait({ended}, timeout=STOP_SECONDS)
    if not done_tasks:
        _LOG.warning("a worker did not stop within %.0f s and is killed; its runs can be resumed", STOP_SECONDS)
        worker.kill()
        await ended
