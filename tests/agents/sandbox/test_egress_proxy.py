"""The proxy to the hosts that a project names: which it carries, which it refuses, and what it says about those."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import socket
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import pytest

from openskelo.agents.sandbox import egress_proxy, network_hosts
from openskelo.kernel.json import Json
from tests.agents import repository


async def _say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer any request with what it was."""
    head = await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(head), head))
    await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def _host() -> AsyncGenerator[int]:
    server = await asyncio.start_server(_say, "127.0.0.1", 0)
    async with server:
        yield int(server.sockets[0].getsockname()[1])


@contextlib.asynccontextmanager
async def _proxy(*hosts: str) -> AsyncGenerator[tuple[egress_proxy.EgressProxy, int]]:
    proxy = egress_proxy.EgressProxy(hosts)
    port = await proxy.listen()
    try:
        yield proxy, port
    finally:
        await proxy.close()


async def _ask(port: int, first: str, token: str, then: bytes = b"") -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    shown = base64.b64encode(f"skelo:{token}".encode()).decode()
    head = f"{first} HTTP/1.1\r\nHost: other.example\r\nProxy-Authorization: Basic {shown}\r\n\r\n"
    writer.write(head.encode() + then)
    await writer.drain()
    try:
        return await asyncio.wait_for(reader.read(), 10)
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("entry", "host", "port", "allowed"),
    [
        ("packages.example.org", "packages.example.org", 443, True),
        ("packages.example.org", "packages.example.org", 80, True),
        ("packages.example.org", "packages.example.org", 22, False),
        ("packages.example.org", "evilpackages.example.org", 443, False),
        ("packages.example.org", "packages.example.org.evil.example", 443, False),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "evilexample.org", 443, False),
        ("Example.ORG:8443", "example.org", 8443, True),
        ("example.org:8443", "example.org", 443, False),
        ("127.0.0.1:8000", "127.0.0.1", 8000, True),
        ("[::1]:8000", "::1", 8000, True),
    ],
)
def test_an_entry_names_exactly_its_hosts_and_ports(entry: str, host: str, port: int, allowed: bool) -> None:
    rule = network_hosts.parse_rule(entry)
    assert rule is not None
    assert rule.allows(host, port) is allowed


@pytest.mark.parametrize(
    "entry", ["", "*", "http://x", "a/b", "a b", "localhost", "127.0.0.1", "[::1]", "x:0", "x:70000", "x:y"]
)
def test_what_is_no_host_is_no_entry(entry: str) -> None:
    assert network_hosts.parse_rule(entry) is None


def test_it_carries_requests_to_a_host_of_the_list() -> None:
    async def story() -> None:
        async with _host() as port, _proxy(f"127.0.0.1:{port}") as (proxy, at):
            plain = await _ask(at, f"GET http://127.0.0.1:{port}/a?b=c", proxy.token)
            assert plain.startswith(b"HTTP/1.1 200 OK")
            assert plain.endswith(
                f"GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode()
            )
            tunnel = await _ask(at, f"CONNECT 127.0.0.1:{port}", proxy.token, b"GET / HTTP/1.1\r\n\r\n")
            assert tunnel.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK")
            assert proxy.take_denied() == []

    asyncio.run(story())


@pytest.mark.parametrize(
    ("first", "status"),
    [
        ("CONNECT 127.0.0.1:{port}", b"403"),
        ("GET http://127.0.0.1:{port}/", b"403"),
        ("CONNECT localhost:{port}", b"403"),
        ("CONNECT packages.example.org:22", b"403"),
        ("CONNECT packages.example.org", b"400"),
        ("GET /etc/passwd", b"400"),
        ("GET ftp://packages.example.org/", b"400"),
        ("GET http://[::1", b"400"),
        ("nonsense", b"400"),
    ],
)
def test_it_refuses_what_is_not_on_the_list(first: str, status: bytes) -> None:
    async def story() -> list[str]:
        async with _host() as port, _proxy("packages.example.org") as (proxy, at):
            answer = await _ask(at, first.format(port=port), proxy.token)
            assert answer.startswith(b"HTTP/1.1 " + status), answer
            return proxy.take_denied()

    assert bool(asyncio.run(story())) == (status == b"403")


def test_a_name_of_the_list_that_leads_to_this_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with _host() as port, _proxy(f"evil.example:{port}") as (proxy, at):

            async def resolve(*_args: Any, **_options: Any) -> list[Any]:
                return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

            monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
            answer = await _ask(at, f"CONNECT evil.example:{port}", proxy.token)
            assert answer.startswith(b"HTTP/1.1 403")
            assert proxy.take_denied() == [f"network: refused, evil.example:{port} is an address of a private network"]

    asyncio.run(story())


def test_connections_beyond_a_number_are_closed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress_proxy, "_HEAD_SECONDS", 1.0)

    async def story() -> None:
        async with _host() as port, _proxy(f"127.0.0.1:{port}") as (proxy, at), contextlib.AsyncExitStack() as opened:
            readers: list[asyncio.StreamReader] = []
            for _ in range(200):
                reader, writer = await asyncio.open_connection("127.0.0.1", at)
                opened.callback(writer.close)
                readers.append(reader)
            closed = [asyncio.create_task(_ends(reader)) for reader in readers[egress_proxy.MAX_CONNECTIONS :]]
            assert await asyncio.gather(*closed) == [b""] * (200 - egress_proxy.MAX_CONNECTIONS)
            waiting = [_ends(reader) for reader in readers[: egress_proxy.MAX_CONNECTIONS]]
            assert all(answer.startswith(b"HTTP/1.1 400") for answer in await asyncio.gather(*waiting))
            assert b"200 OK" in await _ask(at, f"GET http://127.0.0.1:{port}/x", proxy.token)

    asyncio.run(story())


async def _ends(reader: asyncio.StreamReader) -> bytes:
    try:
        return await asyncio.wait_for(reader.read(), 60)
    except ConnectionResetError:
        return b""


def test_it_refuses_programs_without_its_token() -> None:
    async def story() -> None:
        async with _host() as port, _proxy(f"127.0.0.1:{port}") as (_, at):
            assert (await _ask(at, f"CONNECT 127.0.0.1:{port}", "guessed")).startswith(b"HTTP/1.1 407")

    asyncio.run(story())


def test_a_socket_leads_to_one_port_of_this_machine(tmp_path: Path) -> None:
    async def story() -> bytes:
        async with _host() as port, _proxy(f"127.0.0.1:{port}") as (proxy, _):
            await proxy.forward(tmp_path / "x.sock", port)
            reader, writer = await asyncio.open_unix_connection(tmp_path / "x.sock")
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            answer = await asyncio.wait_for(reader.read(), 10)
            writer.close()
            return answer

    assert asyncio.run(story()).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"])
def test_a_run_keeps_what_its_agent_was_refused_in_its_log(tmp_path: Path, sandbox: str) -> None:
    network: Json = ["packages.example.org"]
    root = repository.make(tmp_path, sandbox=sandbox, network=network)
    document = repository.play(root, repository.block("@connect evil.example:443", "@say done"))
    assert document["ending"] == "ok", document.get("error")
    node = cast("dict[str, Any]", cast("dict[str, Any]", document["nodes"])["work"])
    assert node["outputs"]["summary"].startswith("[HTTP/1.1 403 Forbidden]")
    run_id = document["runId"]
    assert "network: refused, evil.example:443 is not in `network`" in repository.artifact(root, run_id, "work.log")
