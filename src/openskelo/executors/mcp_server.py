"""One MCP server: connected when first needed, listed once, and let go of in the task that connected it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, TextIO, cast

from openskelo import errors
from openskelo.executors import calling, limit, process, task
from openskelo.handlers import place, registry, secret
from openskelo.kernel.json import JsonObject

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client import stdio

_MOST_PAGES = 100
_TAIL = 500
_MOST_STRAY = 200
#: How long a server may take to end when it is told to, before nobody waits for it any more.
_END_SECONDS = 8.0


class Connection:
    """A live connection to a server, and the tools that it lists: the JSON Schema of each one's arguments."""

    def __init__(self, server: registry.McpServer, project: task.Project) -> None:
        self.server = server
        #: One call at a time to a program, which may then be ended without a loss for anybody else.
        self.turn = asyncio.Semaphore(1 if server.command else 64)
        self._project = project
        # Lives as long as the server.
        self._noise = cast("TextIO", tempfile.TemporaryFile("w+", encoding="utf-8"))  # noqa: SIM115
        #: What it wrote first to its standard output that is no message.
        self._stray: str | None = None
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[tuple[Client, Mapping[str, JsonObject]]] = (
            asyncio.get_running_loop().create_future()
        )
        # Whatever the SDK opens has to be closed by the task that opened it: this one, and nobody's attempt.
        self._keeper = asyncio.create_task(self._keep(), name=f"mcp-{server.name}")

    async def ready(self, latest: float | None) -> tuple[Client, Mapping[str, JsonObject]]:
        """The client and the listed tools, once connected; AttemptFailed MCP_FAILED, EXTRA_MISSING, SECRET_MISSING,
        and TIMEOUT after the server's own limit, or at `latest` by the loop's clock."""
        left = self.server.timeout_ms
        if latest is not None:
            left = min(left, max(0, int((latest - asyncio.get_running_loop().time()) * 1000)))
        try:
            return await limit.within(left, asyncio.shield(self._ready))
        except errors.AttemptFailed as error:
            if error.code == "TIMEOUT":
                late = f"the MCP server {self.server.name!r} was not ready in time"
                error = errors.AttemptFailed(late, code="TIMEOUT", hint=self.noise() or None)
            raise self._explained(error) from None

    def _explained(self, error: errors.AttemptFailed) -> errors.AttemptFailed:
        """A failure to connect, with what the server wrote where only messages belong, if it did."""
        if self._stray is None:
            return error
        return errors.AttemptFailed(
            f"{error.message}; it wrote {self._stray!r} to its standard output, which is no MCP message",
            code=error.code,
            hint="let it write to standard error whatever is no message",
        )

    @property
    def is_lost(self) -> bool:
        """Whether it has ended, or never began."""
        return self._keeper.done()

    def noise(self) -> str:
        """The end of what the server wrote to its standard error."""
        self._noise.flush()
        size = os.fstat(self._noise.fileno()).st_size
        return os.pread(self._noise.fileno(), _TAIL, max(0, size - _TAIL)).decode("utf-8", "replace").strip()

    async def end(self) -> None:
        """Let go: a program is told to end, then made to."""
        self._stop.set()
        if not self._ready.done():
            self._keeper.cancel()
        await asyncio.wait({self._keeper}, timeout=_END_SECONDS)
        if not self._keeper.done():
            self._keeper.cancel()
            await asyncio.wait({self._keeper}, timeout=_END_SECONDS)
        self._noise.close()

    async def _keep(self) -> None:
        try:
            async with self._client() as client:
                found = client, await _listed(client)
                if not self._ready.done():
                    self._ready.set_result(found)
                await self._stop.wait()
        except asyncio.CancelledError:
            self._fail(errors.AttemptFailed(f"the MCP server {self.server.name!r} was stopped", code="MCP_FAILED"))
        except errors.AttemptFailed as error:
            self._fail(error)
        except Exception as error:  # whatever the SDK raises, groups included, is about this server
            self._fail(failed(self.server.name, error, self.noise()))

    def _fail(self, error: errors.AttemptFailed) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)
            self._ready.exception()  # nobody may be waiting

    @contextlib.asynccontextmanager
    async def _client(self) -> AsyncGenerator[Client]:
        try:
            import mcp  # noqa: PLC0415 -- an extra, and heavy
            from mcp.client import stdio as programs  # noqa: PLC0415
            from mcp.client import streamable_http  # noqa: PLC0415
        except ImportError as error:
            raise errors.AttemptFailed(
                "MCP servers need the extra `mcp`",
                code="EXTRA_MISSING",
                hint="pip install 'openskelo[mcp]'",
                retryable=False,
            ) from error
        server = self.server
        _quiet()
        if server.command:
            transport = programs.stdio_client(self._program(), self._noise)
            async with mcp.Client(transport, message_handler=self._hear) as client:
                yield client
            return
        import httpx2  # noqa: PLC0415 -- comes with the extra

        headers = {name: secret.resolve(text, self._project.secrets) for name, text in server.headers.items()}
        seconds = server.timeout_ms / 1000
        # No proxies and no ~/.netrc: where requests go is what the project says.
        async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=seconds) as connections:
            transport = streamable_http.streamable_http_client(server.url or "", http_client=connections)
            async with mcp.Client(transport) as client:
                yield client

    async def _hear(self, message: object) -> None:
        """What the SDK could not read comes here as the error about it, which has the line."""
        from pydantic import ValidationError  # noqa: PLC0415 -- the SDK has loaded it

        if isinstance(message, ValidationError) and self._stray is None:
            line = str(message.errors(include_url=False, include_context=False)[0]["input"]).strip()
            self._stray = line if len(line) <= _MOST_STRAY else f"{line[:_MOST_STRAY]}…"

    def _program(self) -> stdio.StdioServerParameters:
        from mcp.client import stdio  # noqa: PLC0415 -- an extra, and heavy

        where = self._project
        folder = place.absolute(self.server.folder, where)
        named = {name: secret.resolve(text, where.secrets) for name, text in self.server.env.items()}
        # It dies with us, also when nobody is left to tell it so.
        argv = ("-P", "-m", "openskelo.executors.bound", str(os.getpid()), *self.server.command)
        return stdio.StdioServerParameters(
            command=sys.executable,
            args=list(argv),
            env={**process.minimal_environment(), **named},
            cwd=folder,
            encoding_error_handler="replace",
        )


def _quiet() -> None:
    """The SDK logs what it cannot read with a traceback, for a terminal to show; here it is part of the failure."""
    logger = logging.getLogger("mcp")
    if logger.propagate:
        logger.propagate = False
        logger.addHandler(logging.NullHandler())


async def _listed(client: Client) -> Mapping[str, JsonObject]:
    """The JSON Schema of the arguments of each tool, by its name; all pages, within reason."""
    found: dict[str, JsonObject] = {}
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found |= {tool.name: tool.input_schema for tool in page.tools}
        cursor = page.next_cursor
        if cursor is None:
            break
    return found


def failed(name: str, error: Exception, noise: str, happened: errors.Happened = "no") -> errors.AttemptFailed:
    """The failure for whatever the SDK raised about a server; once a tool was called, it may have done its work."""
    said = calling.describe(_innermost(error))
    return errors.AttemptFailed(
        f"the MCP server {name!r} failed: {said}", code="MCP_FAILED", hint=noise or None, happened=happened
    )


def _innermost(error: Exception) -> Exception:
    """The first error that is no group of others: what went wrong, not where it was noticed."""
    while isinstance(error, ExceptionGroup):
        error = cast("ExceptionGroup[Exception]", error).exceptions[0]
    return error
