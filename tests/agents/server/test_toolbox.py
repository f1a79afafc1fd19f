"""The tools that an agent gets from us: an MCP server on a loopback port, with a token for each session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import httpx

from openskelo.agents import sessions
from openskelo.agents.server import session_server, toolbox
from openskelo.kernel.json import JsonObject

SCHEMA: JsonObject = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}


async def _ask(
    address: session_server.Address, method: str, params: JsonObject, token: str | None = None
) -> httpx.Response:
    headers = {
        "Authorization": f"Bearer {token or address.token}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }
    async with httpx.AsyncClient(trust_env=False) as client:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return await client.post(address.url("tools"), json=body, headers=headers)


async def _complete(address: session_server.Address, arguments: JsonObject, tool: str = "complete") -> tuple[bool, str]:
    """Return whether a call was refused, and what the agent is told."""
    answer = await _ask(address, "tools/call", {"name": tool, "arguments": arguments})
    result = answer.json()["result"]
    return bool(result.get("isError")), result["content"][0]["text"]


def _play(story: Callable[[sessions.ResultTool, session_server.Address], Awaitable[None]]) -> None:
    async def scene() -> None:
        server, result = session_server.SessionServer(), sessions.ResultTool(SCHEMA)
        tools = toolbox.Toolbox([result.as_tool()])
        await tools.start()
        try:
            await story(result, await server.open({"tools": tools.handle}))
        finally:
            await server.close()
            await tools.stop()

    asyncio.run(asyncio.wait_for(scene(), 120))


def test_a_wrong_result_is_refused_with_what_is_wrong_and_a_right_one_is_taken() -> None:
    async def story(result: sessions.ResultTool, address: session_server.Address) -> None:
        result.begin_turn()
        is_refused, words = await _complete(address, {"count": "two"})
        assert is_refused
        assert words.startswith("/count: ")
        assert result.result is None
        assert await _complete(address, {"count": 2}) == (False, "The result is recorded. End your turn now.")
        assert result.result == {"count": 2}

    _play(story)


def test_a_second_result_in_one_turn_is_refused_and_the_next_turn_takes_one_again() -> None:
    async def story(result: sessions.ResultTool, address: session_server.Address) -> None:
        result.begin_turn()
        await _complete(address, {"count": 2})
        refusal = "the result of this turn is recorded already, and stays as it is: end your turn"
        assert await _complete(address, {"count": 3}) == (True, refusal)
        assert result.result == {"count": 2}
        result.end_turn()
        result.begin_turn()
        assert (await _complete(address, {"count": 3}))[0] is False
        assert result.result == {"count": 3}

    _play(story)


def test_a_result_outside_of_a_turn_and_an_unknown_tool_are_refused() -> None:
    async def story(result: sessions.ResultTool, address: session_server.Address) -> None:
        assert await _complete(address, {"count": 2}) == (True, "no turn is under way")
        assert await _complete(address, {}, tool="other") == (True, "there is no such tool")
        assert result.result is None

    _play(story)


def test_the_tools_are_listed_with_their_schemas() -> None:
    async def story(_result: sessions.ResultTool, address: session_server.Address) -> None:
        listed = (await _ask(address, "tools/list", {})).json()["result"]["tools"]
        assert [(tool["name"], tool["inputSchema"]) for tool in listed] == [("complete", SCHEMA)]

    _play(story)
