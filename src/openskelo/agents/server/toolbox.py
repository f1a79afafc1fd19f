"""The tools that we give an agent, as an MCP server.

Each provider session has a server of its own, which it reaches through the `session_server`. A tool is a name, a JSON
Schema and a coroutine; a call that breaks the schema is answered with what is wrong, so that the agent can correct it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import orjson

from openskelo import errors
from openskelo.agents.sandbox import inside_sandbox
from openskelo.agents.server import session_server
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen
from openskelo.values.schema import validator

if TYPE_CHECKING:
    from mcp import types
    from mcp.server import ServerRequestContext

#: What agents call the server; most show its tools as `mcp__skelo__NAME`.
SERVER_NAME = "skelo"


class ToolFailed(Exception):
    """A tool refuses a call; the message tells the agent what to do."""


@frozen
class Tool:
    """One tool."""

    name: str
    description: str
    schema: JsonObject
    #: Returns the answer for the agent, or raises ToolFailed.
    call: Callable[[JsonObject], Awaitable[Json]]


class Toolbox:
    """The tools of one session, as an MCP server. `handle` answers its requests while it is started."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415 -- an extra

        self._manager = StreamableHTTPSessionManager(_make_server(tools), json_response=True, stateless=True)
        self._ready, self._over = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Answer requests from now on."""
        self._task = asyncio.create_task(self._run(), name="skelo-toolbox")
        await self._ready.wait()

    async def stop(self) -> None:
        """Answer no more requests."""
        self._over.set()
        if self._task is not None:
            await asyncio.wait({self._task})

    async def handle(
        self, scope: session_server.Scope, receive: session_server.Receive, send: session_server.Send
    ) -> None:
        """Answer one HTTP request."""
        await self._manager.handle_request(scope, receive, send)

    async def _run(self) -> None:
        async with self._manager.run():
            self._ready.set()
            await self._over.wait()


def as_acp_server(address: session_server.Address, command: Sequence[str], *, has_http: bool) -> JsonObject:
    """Return the entry of the tools for the `mcpServers` of an ACP session.

    An agent without MCP over HTTP starts `command`, which carries the messages of its pipes to the same address.
    """
    if not has_http:
        token = {"name": inside_sandbox.TOOLS_TOKEN, "value": address.token}
        return {"name": SERVER_NAME, "command": command[0], "args": list(command[1:]), "env": [token]}
    return {
        "type": "http",
        "name": SERVER_NAME,
        "url": address.url("tools"),
        "headers": [{"name": "Authorization", "value": f"Bearer {address.token}"}],
    }


def _make_server(tools: Sequence[Tool]) -> Any:
    """Return the MCP server of one endpoint."""
    from mcp import types  # noqa: PLC0415 -- an extra
    from mcp.server.lowlevel import Server  # noqa: PLC0415

    by_name = {tool.name: tool for tool in tools}
    mcp_tools = [
        types.Tool(name=tool.name, description=tool.description, input_schema=cast("dict[str, Any]", tool.schema))
        for tool in tools
    ]

    async def list_tools(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=mcp_tools)

    async def call_tool(
        _context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            text, is_error = await _call(by_name.get(params.name), params.arguments or {}), False
        except ToolFailed as failure:
            text, is_error = str(failure), True
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)

    return Server(SERVER_NAME, on_list_tools=list_tools, on_call_tool=call_tool)


async def _call(tool: Tool | None, arguments: dict[str, Any]) -> str:
    if tool is None:
        raise ToolFailed("there is no such tool")
    try:
        problems = validator.compile(tool.schema).check(cast("JsonObject", arguments))
    except errors.InvalidInput as error:
        raise ToolFailed(error.message) from error
    if problems:
        raise ToolFailed("; ".join(f"{problem.path or '/'}: {problem.message}" for problem in problems))
    answer = await tool.call(cast("JsonObject", arguments))
    return answer if isinstance(answer, str) else orjson.dumps(answer).decode()
