"""The HTTP server through which agents reach us: an address and a token for each session, TCP and a unix socket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from openskelo.agents.server import session_server


async def _echo(scope: session_server.Scope, _receive: session_server.Receive, send: session_server.Send) -> None:
    """Answer with the path that the handler sees."""
    body = str(scope["path"]).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


def _play(story: Callable[[session_server.SessionServer], Awaitable[None]]) -> None:
    async def scene() -> None:
        server = session_server.SessionServer()
        try:
            await story(server)
        finally:
            await server.close()

    asyncio.run(asyncio.wait_for(scene(), 120))


async def _get(url: str, headers: dict[str, str], transport: httpx.AsyncHTTPTransport | None = None) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, transport=transport) as client:
        return await client.get(url, headers=headers)


@pytest.mark.parametrize("header", ["Authorization", "x-api-key", "x-goog-api-key", "api-key"])
def test_the_token_opens_the_handlers_of_its_session_in_each_header_that_agents_use(header: str) -> None:
    async def story(server: session_server.SessionServer) -> None:
        address = await server.open({"model": _echo})
        value = f"Bearer {address.token}" if header == "Authorization" else address.token
        answer = await _get(address.url("model/v1/messages"), {header: value})
        assert (answer.status_code, answer.text) == (200, "/v1/messages")
        assert (await _get(address.url("other"), {header: value})).status_code == 404

    _play(story)


def test_without_the_token_with_that_of_another_session_and_after_the_session_there_is_nothing() -> None:
    async def story(server: session_server.SessionServer) -> None:
        address, other = await server.open({"tools": _echo}), await server.open({"tools": _echo})
        assert (await _get(address.url("tools"), {})).status_code == 404
        assert (await _get(address.url("tools"), {"x-api-key": other.token})).status_code == 404
        assert (await _get(other.url("tools"), {"x-api-key": other.token})).status_code == 200
        server.remove(other)
        assert (await _get(other.url("tools"), {"x-api-key": other.token})).status_code == 404

    _play(story)


def test_the_server_listens_on_a_unix_socket_that_goes_with_it() -> None:
    seen: list[Path] = []

    async def story(server: session_server.SessionServer) -> None:
        address = await server.open({"tools": _echo}, relay_port=7)
        assert address.root.startswith("http://127.0.0.1:7/")
        seen.append(await server.socket_path())
        transport = httpx.AsyncHTTPTransport(uds=str(seen[0]))
        answer = await _get(address.url("tools/x"), {"x-api-key": address.token}, transport)
        assert (answer.status_code, answer.text) == (200, "/x")

    _play(story)
    assert not seen[0].parent.exists()


def count_descriptors() -> int:
    """Return how many files and connections this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.slow
def test_half_sent_requests_of_other_users_take_few_descriptors_and_keep_out_no_agent() -> None:
    async def story(server: session_server.SessionServer) -> None:
        address = await server.open({"tools": _echo})
        before = count_descriptors()
        port = urlsplit(address.root).port
        held: list[asyncio.StreamWriter] = []
        for _ in range(400):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
            held.append(writer)
        answer = await _get(address.url("tools"), {"x-api-key": address.token})
        taken = count_descriptors() - before - len(held)
        assert (answer.status_code, taken < 250) == (200, True), taken
        for writer in held:
            writer.close()

    _play(story)
