"""The HTTP server through which agents reach us: our tools, the hook that asks for permission, and the model.

One server serves all agents of an engine. Each provider session has an address of its own: a path that cannot be
guessed, and a token. Below the path each handler has a name:

    http://127.0.0.1:PORT/PATH/tools    the MCP server (`toolbox`)
                              /model    the gateway to the model
                              /hook     where the agent asks whether it may call a tool

The server listens on a loopback port and on a unix socket. A confined agent has no network: the socket is mounted into
its sandbox, and a relay in there carries connections to it. So the port in the address of a confined agent is the
relay's. Path and token are worth nothing once the session is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import secrets
import shutil
import socket
import tempfile
from collections.abc import Awaitable, Callable, Generator, Mapping, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qs

from openskelo.structs import frozen

if TYPE_CHECKING:
    import uvicorn

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
#: An ASGI application. The path of its scope is what follows its own name: `/v1/messages`.
Handler: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_START_SECONDS = 10.0
#: How many connections agents may hold. Every user of the machine can open one, and has no token.
_MAX_CONNECTIONS = 128
_LOG = logging.getLogger("openskelo.agents.server.session_server")
#: A handler that returns in the middle of its answer breaks the connection off: the gateway does so on purpose.
_LOG.addFilter(lambda record: "without completing response" not in record.getMessage())
#: Where agents put a token: ours as a bearer token, or in the place of a model's key.
_TOKEN_HEADERS = (b"authorization", b"x-api-key", b"x-goog-api-key", b"api-key")


@frozen
class Address:
    """The address at which one session reaches the server, and the token that it has to show."""

    root: str
    token: str

    def url(self, name: str) -> str:
        """Return the URL of a handler."""
        return f"{self.root}/{name}"


class SessionServer:
    """Serves the sessions of one engine. It starts with the first address."""

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[str, Mapping[str, Handler]]] = {}  # by path: the token and the handlers
        self._server: uvicorn.Server | None = None
        self._task: asyncio.Task[None] | None = None
        self._folder: Path | None = None
        self._port = 0

    async def open(self, handlers: Mapping[str, Handler], *, relay_port: int | None = None) -> Address:
        """Return a new address with these handlers; its port is `relay_port` if the agent comes through a relay."""
        await self._start()
        path, token = secrets.token_urlsafe(16), secrets.token_urlsafe(32)
        self._sessions[path] = (token, handlers)
        return Address(root=f"http://127.0.0.1:{relay_port or self._port}/{path}", token=token)

    def remove(self, address: Address) -> None:
        """Close an address: its token opens nothing from now on."""
        self._sessions.pop(address.root.rpartition("/")[2], None)

    async def socket_path(self) -> Path:
        """Return the unix socket on which the server listens, too."""
        await self._start()
        assert self._folder is not None  # noqa: S101 -- made by `_start`
        return self._folder / "server.sock"

    async def close(self) -> None:
        """Close every address and stop listening."""
        self._sessions.clear()
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            await asyncio.wait({self._task})
            self._server = self._task = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    async def _start(self) -> None:
        if self._server is not None:
            return
        self._folder = Path(tempfile.mkdtemp(prefix="skelo-"))  # only its owner may look into it
        listening = socket.create_server(("127.0.0.1", 0))
        self._port = listening.getsockname()[1]
        local = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        local.bind(str(self._folder / "server.sock"))
        ready = asyncio.Event()
        self._server = _make_http_server(self._serve, ready)
        self._task = asyncio.create_task(self._server.serve([listening, local]), name="skelo-session-server")
        async with asyncio.timeout(_START_SECONDS):
            await ready.wait()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand one HTTP request to its handler: the path names the session and the handler, a header has the token."""
        if scope["type"] != "http":
            return
        path, _, rest = str(scope["path"]).lstrip("/").partition("/")
        name, _, inner = rest.partition("/")
        token, handlers = self._sessions.get(path, ("", {}))
        handler = handlers.get(name)
        if handler is None or not token or not _shows_token(scope, token):
            await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})
            return
        await handler({**scope, "path": f"/{inner}", "raw_path": f"/{inner}".encode()}, receive, send)


def _shows_token(scope: Scope, token: str) -> bool:
    """True if a header, or the parameter `key` of the query, holds the token."""
    shown_tokens = [value.decode("latin-1") for name, value in scope["headers"] if name in _TOKEN_HEADERS]
    shown_tokens += parse_qs(scope["query_string"].decode("latin-1")).get("key", [])
    return any(hmac.compare_digest(value.removeprefix("Bearer ").encode(), token.encode()) for value in shown_tokens)


def _make_http_server(app: Handler, ready: asyncio.Event) -> uvicorn.Server:
    import uvicorn  # noqa: PLC0415 -- only runs with agents need it

    from openskelo import http_connections  # noqa: PLC0415 -- imports uvicorn

    class _Connection(http_connections.Protocol):
        """A connection with a log of its own: that of uvicorn belongs to the server of the dashboard."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.logger = _LOG

    class _Server(uvicorn.Server):
        """uvicorn's server without its signal handlers, which belong to the program."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            for listener in sockets or ():
                http_connections.enlarge_backlog(listener)
            ready.set()

        @contextlib.contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

    config = http_connections.Config(
        app,
        http=_Connection,
        backlog=http_connections.ACCEPTED_AT_ONCE,
        interface="asgi3",
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    config.connections = http_connections.Connections(http_connections.max_connections(_MAX_CONNECTIONS))
    return _Server(config)
