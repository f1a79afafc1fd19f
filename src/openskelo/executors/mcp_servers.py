"""The MCP servers of a project: started by the first call, shared by all runs, replaced when lost.

They end with the engine. A call that is cancelled or slow closes its connection, since MCP cannot stop it otherwise.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO, cast

from openskelo import errors
from openskelo.executors.handlers import invocation
from openskelo.handlers import file_access, project_registry, secrets
from openskelo.kernel.json import Json, JsonObject
from openskelo.programs import program, time_limit
from openskelo.project import Project
from openskelo.structs import frozen
from openskelo.values import canonical
from openskelo.values.schema import validator

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client import stdio
    from mcp.types import CallToolResult, ContentBlock

_SAID = 2000


class ServerPool:
    """Calls tools of the servers that a project declares."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._live: dict[str, Connection] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def call(self, server: str, tool: str, args: JsonObject, *, timeout_ms: int | None) -> Json:
        """Return the structured content of the tool's result, or its text if it has none.

        AttemptFailed: MCP_UNKNOWN, MCP_FAILED, EXTRA_MISSING, TOOL_UNKNOWN, ARGS_INVALID, TOOL_FAILED, TIMEOUT. A call
        that is cancelled or takes too long costs the server its connection, and a program its life.
        """
        # A little before the call's time is over: then the failure says that the server was not ready, and why.
        latest = None if timeout_ms is None else asyncio.get_running_loop().time() + timeout_ms * 0.0009
        connection = self._connection(server)
        try:
            async with connection.turn:
                return await time_limit.within(timeout_ms, self._call(connection, tool, args, latest))
        except (asyncio.CancelledError, errors.AttemptFailed) as error:
            if not isinstance(error, errors.AttemptFailed) or error.code in ("TIMEOUT", "MCP_FAILED"):
                self._end_connection(connection)
            raise

    async def close(self) -> None:
        """End every server."""
        for connection in tuple(self._live.values()):
            self._end_connection(connection)
        await asyncio.gather(*self._ending)

    def _connection(self, name: str) -> Connection:
        connection = self._live.get(name)
        if connection is not None and not connection.is_lost:
            return connection
        if connection is not None:
            self._end_connection(connection)
        settings = self._project.registry.mcp.get(name)
        if settings is None:
            raise errors.AttemptFailed(
                f"there is no MCP server {name!r}", code="MCP_UNKNOWN", hint="declare it under `mcp`", retryable=False
            )
        try:
            new_connection = self._live[name] = Connection(settings, self._project)
        except OSError as error:  # there is no room for its temporary file
            raise failed(name, error, "") from error
        return new_connection

    def _end_connection(self, connection: Connection) -> None:
        """End a connection in the background; the next call opens another."""
        if self._live.get(connection.server.name) is connection:
            del self._live[connection.server.name]
            ending = asyncio.create_task(connection.end())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def _call(self, connection: Connection, tool: str, args: JsonObject, latest: float | None) -> Json:
        name = connection.server.name
        client, tools = await connection.ready(latest)
        if tool not in tools:
            raise errors.AttemptFailed(
                f"the MCP server {name!r} has no tool {tool!r}",
                code="TOOL_UNKNOWN",
                hint=f"it lists: {', '.join(sorted(tools)[:20]) or 'none'}",
                retryable=False,
            )
        _check(name, tool, tools[tool], args)
        from mcp import MCPError  # noqa: PLC0415 -- it is loaded by now
        from mcp.types import CONNECTION_CLOSED, PARSE_ERROR, REQUEST_TIMEOUT  # noqa: PLC0415

        try:
            result = await client.call_tool(tool, dict(args))
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise failed(name, error, connection.noise(), happened="unknown") from error
            has_answered = error.code not in (PARSE_ERROR, REQUEST_TIMEOUT)  # which the SDK says of an answer, too
            raise errors.AttemptFailed(
                f"{tool}: {error.message}", code="TOOL_FAILED", happened="no" if has_answered else "unknown"
            ) from error
        except Exception as error:  # the SDK's own, the transport's, or a result that breaks its schema
            raise failed(name, error, connection.noise(), happened="unknown") from error
        return _value(tool, result)


@frozen
class ListedTool:
    """The JSON Schemas that a server lists for a tool: of its arguments, and of its structured result if it has one."""

    args: JsonObject
    returns: JsonObject | None


def _check(server: str, tool: str, listed: ListedTool, args: JsonObject) -> None:
    """Raise AttemptFailed if the server lists a schema that cannot be used (MCP_SCHEMA) or the arguments break it.

    The SDK checks the result against its schema after the call. That schema is tried here, before anything happens.
    """
    try:
        if listed.returns is not None:
            validator.compile(listed.returns)
        violations = validator.compile(listed.args).check(args)
    except errors.InvalidInput as error:
        raise errors.AttemptFailed(
            f"the MCP server {server!r} lists {tool!r} with a schema that cannot be used: {error.message}",
            code="MCP_SCHEMA",
            retryable=False,
        ) from error
    if violations:
        reasons = "; ".join(f"{violation.path or '/'}: {violation.message}" for violation in violations)
        raise errors.AttemptFailed(f"the arguments of {tool!r}: {reasons}", code="ARGS_INVALID", retryable=False)


def _value(tool: str, result: CallToolResult) -> Json:
    content = result.content
    if result.is_error:
        error_text = _text(content) or "no reason given"
        raise errors.AttemptFailed(f"{tool}: {error_text[:_SAID]}", code="TOOL_FAILED")
    if result.structured_content is not None:
        return canonical.admit(result.structured_content)
    if all(block.type == "text" for block in content):
        return _text(content)
    blocks = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in content]
    return {"content": canonical.admit(cast("list[Mapping[str, object]]", blocks))}


def _text(content: Sequence[ContentBlock]) -> str:
    return "\n".join(block.text for block in content if block.type == "text")


# One MCP server: connected when first needed, listed once, and let go of in the task that connected it.


_MOST_PAGES = 100
_TAIL = 500
_MOST_STRAY = 200
#: How long a server may take to end when it is told to, before the engine stops waiting.
_END_SECONDS = 8.0


class Connection:
    """A live connection to a server, and the tools that it lists."""

    def __init__(self, server: project_registry.McpServer, project: Project) -> None:
        self.server = server
        #: One call at a time to a program, which may then be ended without a loss for another call.
        self.turn = asyncio.Semaphore(1 if server.command else 64)
        self._project = project
        # Lives as long as the server.
        self._noise = cast("TextIO", tempfile.TemporaryFile("w+", encoding="utf-8"))  # noqa: SIM115
        #: What it wrote first to its standard output that is no message.
        self._stray: str | None = None
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[tuple[Client, Mapping[str, ListedTool]]] = (
            asyncio.get_running_loop().create_future()
        )
        # The SDK has to close its streams in the task that opened them, so this task outlives every attempt.
        self._keeper = asyncio.create_task(self._keep(), name=f"mcp-{server.name}")

    async def ready(self, latest: float | None) -> tuple[Client, Mapping[str, ListedTool]]:
        """Return the client and the listed tools once the server is connected.

        Raise AttemptFailed: MCP_FAILED, EXTRA_MISSING, SECRET_MISSING, or TIMEOUT after the server's own limit or at
        `latest` (by the clock of the event loop).
        """
        milliseconds_left = self.server.timeout_ms
        if latest is not None:
            milliseconds_left = min(milliseconds_left, max(0, int((latest - asyncio.get_running_loop().time()) * 1000)))
        try:
            return await time_limit.within(milliseconds_left, asyncio.shield(self._ready))
        except errors.AttemptFailed as error:
            if error.code == "TIMEOUT":
                late = f"the MCP server {self.server.name!r} was not ready in time"
                error = errors.AttemptFailed(late, code="TIMEOUT", hint=self.noise() or None)
            raise self._explained(error) from error.__cause__

    def _explained(self, error: errors.AttemptFailed) -> errors.AttemptFailed:
        """Return the failure with the text that the server wrote to its standard output instead of messages, if any."""
        if self._stray is None:
            return error
        return errors.AttemptFailed(
            f"{error.message}; it wrote {self._stray!r} to its standard output, which is not an MCP message",
            code=error.code,
            hint="the server must write everything but MCP messages to standard error",
        )

    @property
    def is_lost(self) -> bool:
        """True if the connection has ended or was never made."""
        return self._keeper.done()

    def noise(self) -> str:
        """Return the last characters that the server wrote to its standard error."""
        self._noise.flush()
        size = os.fstat(self._noise.fileno()).st_size
        return os.pread(self._noise.fileno(), _TAIL, max(0, size - _TAIL)).decode("utf-8", "replace").strip()

    async def end(self) -> None:
        """Close the connection: a program is asked to end, then killed."""
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
                client_and_tools = client, await _listed(client)
                if not self._ready.done():
                    self._ready.set_result(client_and_tools)
                await self._stop.wait()
        except asyncio.CancelledError:
            self._fail(errors.AttemptFailed(f"the MCP server {self.server.name!r} was stopped", code="MCP_FAILED"))
        except errors.AttemptFailed as error:
            self._fail(error)
        except Exception as error:  # every error of the SDK, groups included, is about this server
            self._fail(failed(self.server.name, error, self.noise()))

    def _fail(self, error: errors.AttemptFailed) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)
            self._ready.exception()  # asyncio complains of an exception that no caller retrieves

    @contextlib.asynccontextmanager
    async def _client(self) -> AsyncGenerator[Client]:
        try:
            import mcp  # noqa: PLC0415 -- an extra, and heavy
            from mcp.client import stdio as programs  # noqa: PLC0415
            from mcp.client import streamable_http  # noqa: PLC0415
        except ImportError as error:
            raise errors.Missing(
                "MCP servers need the extra `mcp`", code="EXTRA_MISSING", hint="pip install 'openskelo[mcp]'"
            ) from error
        server = self.server
        _quiet()
        if server.command:
            transport = programs.stdio_client(self._program(), self._noise)
            async with mcp.Client(transport, message_handler=self._hear) as client:
                yield client
            return
        import httpx2  # noqa: PLC0415 -- comes with the extra

        headers = {name: secrets.resolve(text, self._project.secrets) for name, text in server.headers.items()}
        seconds = server.timeout_ms / 1000
        # No proxies and no ~/.netrc: where requests go is what the project says.
        async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=seconds) as connections:
            transport = streamable_http.streamable_http_client(server.url or "", http_client=connections)
            async with mcp.Client(transport) as client:
                yield client

    async def _hear(self, message: object) -> None:
        """Keep the line that the SDK could not read; the SDK passes it inside an error."""
        from pydantic import ValidationError  # noqa: PLC0415 -- the SDK has loaded it

        if isinstance(message, ValidationError) and self._stray is None:
            line = str(message.errors(include_url=False, include_context=False)[0]["input"]).strip()
            self._stray = line if len(line) <= _MOST_STRAY else f"{line[:_MOST_STRAY]}…"

    def _program(self) -> stdio.StdioServerParameters:
        from mcp.client import stdio  # noqa: PLC0415 -- an extra, and heavy

        where = self._project
        folder = file_access.absolute_path(self.server.folder, where)
        file_access.check_program(self.server.command, folder, where)
        environment = {name: secrets.resolve(text, where.secrets) for name, text in self.server.env.items()}
        # It ends with the engine, also if the engine is killed.
        argv = ("-P", "-m", "openskelo.programs.child_process", str(os.getpid()), *self.server.command)
        return stdio.StdioServerParameters(
            command=sys.executable,
            args=list(argv),
            env={**program.minimal_environment(), **environment},
            cwd=folder,
            encoding_error_handler="replace",
        )


def _quiet() -> None:
    """Silence the SDK's log of unreadable lines: they are part of the failure that the user sees."""
    logger = logging.getLogger("mcp")
    if logger.propagate:
        logger.propagate = False
        logger.addHandler(logging.NullHandler())


async def _listed(client: Client) -> Mapping[str, ListedTool]:
    """Return the tools of a server by name, from all pages up to a bound."""
    tools: dict[str, ListedTool] = {}
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools |= {tool.name: ListedTool(args=tool.input_schema, returns=tool.output_schema) for tool in page.tools}
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


def failed(name: str, error: Exception, noise: str, happened: errors.Happened = "no") -> errors.AttemptFailed:
    """Return the failure for an error of the SDK. `happened` says whether a tool may have done its work."""
    cause = _innermost(error)
    failure = errors.AttemptFailed(
        f"the MCP server {name!r} failed: {invocation.describe(cause)}",
        code="MCP_FAILED",
        hint=noise or None,
        happened=happened,
    )
    failure.__cause__ = cause
    return failure


def _innermost(error: Exception) -> Exception:
    """Return the first error inside nested exception groups: the cause."""
    while isinstance(error, ExceptionGroup):
        error = cast("ExceptionGroup[Exception]", error).exceptions[0]
    return error
