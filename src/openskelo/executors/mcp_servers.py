"""The MCP servers of a project: started by the first call, shared by all runs, replaced when lost, ended with us."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from openskelo import errors
from openskelo.executors import limit, mcp_server, task
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical, schema

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ContentBlock

_SAID = 2000


class Servers:
    """Calls tools of the servers that a project declares."""

    def __init__(self, project: task.Project) -> None:
        self._project = project
        self._live: dict[str, mcp_server.Connection] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def call(self, server: str, tool: str, args: JsonObject, *, timeout_ms: int | None) -> Json:
        """What the tool gives: its structured content where it has some, else its text.

        AttemptFailed: MCP_UNKNOWN, MCP_FAILED, EXTRA_MISSING, TOOL_UNKNOWN, ARGS_INVALID, TOOL_FAILED, TIMEOUT. A call
        that is cancelled or takes too long costs the server its connection, and a program its life.
        """
        # A little before the call's time is over: then the failure says that the server was not ready, and why.
        latest = None if timeout_ms is None else asyncio.get_running_loop().time() + timeout_ms * 0.0009
        connection = self._connection(server)
        try:
            async with connection.turn:
                return await limit.within(timeout_ms, self._call(connection, tool, args, latest))
        except (asyncio.CancelledError, errors.AttemptFailed) as error:
            if not isinstance(error, errors.AttemptFailed) or error.code in ("TIMEOUT", "MCP_FAILED"):
                self._let_go(connection)
            raise

    async def close(self) -> None:
        """End every server."""
        for connection in tuple(self._live.values()):
            self._let_go(connection)
        await asyncio.gather(*self._ending)

    def _connection(self, name: str) -> mcp_server.Connection:
        found = self._live.get(name)
        if found is not None and not found.is_lost:
            return found
        if found is not None:
            self._let_go(found)
        settings = self._project.registry.mcp.get(name)
        if settings is None:
            raise errors.AttemptFailed(
                f"there is no MCP server {name!r}", code="MCP_UNKNOWN", hint="declare it under `mcp`", retryable=False
            )
        made = self._live[name] = mcp_server.Connection(settings, self._project)
        return made

    def _let_go(self, connection: mcp_server.Connection) -> None:
        """End a connection beside everything else; the next call makes another."""
        if self._live.get(connection.server.name) is connection:
            del self._live[connection.server.name]
            ending = asyncio.create_task(connection.end())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def _call(self, connection: mcp_server.Connection, tool: str, args: JsonObject, latest: float | None) -> Json:
        name = connection.server.name
        client, listed = await connection.ready(latest)
        if tool not in listed:
            raise errors.AttemptFailed(
                f"the MCP server {name!r} has no tool {tool!r}",
                code="TOOL_UNKNOWN",
                hint=f"it lists: {', '.join(sorted(listed)[:20]) or 'none'}",
                retryable=False,
            )
        _check(name, tool, listed[tool], args)
        from mcp import MCPError  # noqa: PLC0415 -- it is loaded by now
        from mcp.types import CONNECTION_CLOSED, PARSE_ERROR, REQUEST_TIMEOUT  # noqa: PLC0415

        try:
            result = await client.call_tool(tool, dict(args))
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise mcp_server.failed(name, error, connection.noise(), happened="unknown") from error
            answered = error.code not in (PARSE_ERROR, REQUEST_TIMEOUT)  # which the SDK says of an answer, too
            raise errors.AttemptFailed(
                f"{tool}: {error.message}", code="TOOL_FAILED", happened="no" if answered else "unknown"
            ) from error
        except Exception as error:  # the SDK's own, the transport's, or a result that breaks its schema
            raise mcp_server.failed(name, error, connection.noise(), happened="unknown") from error
        return _value(tool, result)


def _check(server: str, tool: str, rules: JsonObject, args: JsonObject) -> None:
    """Hold the arguments to the schema that the server lists (AttemptFailed ARGS_INVALID)."""
    try:
        found = schema.compile(rules).check(args)
    except errors.InvalidInput as error:
        raise errors.AttemptFailed(
            f"the MCP server {server!r} lists {tool!r} with a schema that cannot be used: {error.message}",
            code="MCP_SCHEMA",
            retryable=False,
        ) from error
    if found:
        listed = "; ".join(f"{one.path or '/'}: {one.message}" for one in found)
        raise errors.AttemptFailed(f"the arguments of {tool!r}: {listed}", code="ARGS_INVALID", retryable=False)


def _value(tool: str, result: CallToolResult) -> Json:
    content = result.content
    if result.is_error:
        said = _text(content) or "no reason given"
        raise errors.AttemptFailed(f"{tool}: {said[:_SAID]}", code="TOOL_FAILED")
    if result.structured_content is not None:
        return canonical.admit(result.structured_content)
    if all(block.type == "text" for block in content):
        return _text(content)
    blocks = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in content]
    return {"content": canonical.admit(cast("list[Mapping[str, object]]", blocks))}


def _text(content: Sequence[ContentBlock]) -> str:
    return "\n".join(block.text for block in content if block.type == "text")
