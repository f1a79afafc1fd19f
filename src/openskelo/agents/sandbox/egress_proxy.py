"""The way out of a sandbox to hosts that the project names: an HTTP proxy of ours, outside of the sandbox.

Agents find it by HTTP_PROXY and HTTPS_PROXY. It carries CONNECT (for TLS) and plain HTTP requests to hosts on a list
and refuses all others with 403. It looks up names itself and connects to the address that it has checked, so that a
name cannot lead to this machine or its private network: such an address has to be in the list as it is.

The list is kept by name and address. What an allowed host does with a request is beyond it.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from openskelo.agents.sandbox import network_hosts
from openskelo.structs import frozen

_HTTP_PORT = 80
_HEAD_BYTES = 64 * 1024
_HEAD_SECONDS = 10.0
_CONNECT_SECONDS = 30.0
_PIECE = 64 * 1024
#: Each connection takes two descriptors, also that of a program without the token.
MAX_CONNECTIONS = 64
#: How many refusals of one session are kept.
_MAX_DENIED = 100


class Refused(Exception):
    """A request that is answered with this status."""

    def __init__(self, status: str, denied: str | None = None) -> None:
        super().__init__(status)
        self.status = status
        self.denied = denied


class EgressProxy:
    """The proxy of one session. Each refusal is a line in `denied`."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._rules = [rule for rule in map(network_hosts.parse_rule, hosts) if rule is not None]
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._dropped = 0
        self.denied: list[str] = []
        self.token = secrets.token_urlsafe(16)

    async def listen_at(self, path: Path) -> None:
        """Take requests on a unix socket."""
        self._servers.append(await asyncio.start_unix_server(self._accept(self._serve), path, limit=_HEAD_BYTES))

    async def listen(self) -> int:
        """Take requests on a free loopback port, and return it."""
        server = await asyncio.start_server(self._accept(self._serve), "127.0.0.1", 0, limit=_HEAD_BYTES)
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def forward(self, path: Path, port: int) -> None:
        """Carry connections from a unix socket to a loopback port."""

        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError):
                there, back = await asyncio.open_connection("127.0.0.1", port)
                await _join(reader, writer, there, back)

        self._servers.append(await asyncio.start_unix_server(self._accept(carry), path))

    def url(self, port: int) -> str:
        """Return the address of the proxy for HTTP_PROXY, on this loopback port."""
        return f"http://skelo:{self.token}@127.0.0.1:{port}"

    def take_denied(self) -> list[str]:
        """Return the refusals since the last call, as lines for the log of the attempt."""
        lines, self.denied = self.denied, []
        if self._dropped:
            lines.append(f"and {self._dropped} more connections were refused")
            self._dropped = 0
        return lines

    async def close(self) -> None:
        """Stop listening, and cut what is connected."""
        for server in self._servers:
            server.close()
        for task in tuple(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(
        self, serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        """Return the callback of a server that serves each connection in a task which `close` ends.

        Connections beyond MAX_CONNECTIONS are closed at once.
        """

        async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await serve(reader, writer)
            except OSError:
                pass  # one side hung up
            finally:
                writer.close()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if len(self._connections) >= MAX_CONNECTIONS:
                writer.transport.abort()
                return
            task = asyncio.create_task(served(reader, writer))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

        return connected

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request: connect the two sides, or refuse."""
        try:
            request = await _read_request(reader)
            self._check_token(request)
            there, back = await self._connect(request)
        except Refused as refusal:
            self._note(refusal.denied)
            writer.write(f"HTTP/1.1 {refusal.status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
            await writer.drain()
            return
        if request.method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            back.write(request.forwarded())
        await _join(reader, writer, there, back)

    def _check_token(self, request: _Request) -> None:
        expected_value = b"Basic " + base64.b64encode(f"skelo:{self.token}".encode())
        if not hmac.compare_digest(request.authorization, expected_value):
            raise Refused("407 Proxy Authentication Required")

    async def _connect(self, request: _Request) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the host of the request; raise Refused if the list, or its address, does not allow it."""
        name = f"{request.host}:{request.port}"
        rule = next((rule for rule in self._rules if rule.allows(request.host, request.port)), None)
        if rule is None:
            raise Refused("403 Forbidden", denied=f"{name} is not in `network`")
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                loop = asyncio.get_running_loop()
                address_infos = await loop.getaddrinfo(request.host, request.port, type=socket.SOCK_STREAM)
                addresses = [str(entry[4][0]) for entry in address_infos]
                if not rule.is_address:
                    addresses = [address for address in addresses if ipaddress.ip_address(address).is_global]
                    if not addresses:
                        raise Refused("403 Forbidden", denied=f"{name} is an address of a private network")
                return await asyncio.open_connection(addresses[0], request.port)
        except (OSError, TimeoutError) as error:
            raise Refused("502 Bad Gateway") from error

    def _note(self, denied: str | None) -> None:
        line = f"network: refused, {denied}"
        if denied is None or line in self.denied:
            return
        if len(self.denied) >= _MAX_DENIED:
            self._dropped += 1
            return
        self.denied.append(line)


@frozen
class _Request:
    """The head of a request to the proxy."""

    method: str
    host: str
    port: int
    target: str
    version: str
    headers: tuple[bytes, ...]
    authorization: bytes

    def forwarded(self) -> bytes:
        """Return the head for the host itself: without what was for the proxy, and with one request only."""
        kept_lines = [
            line for line in self.headers if not line.lower().startswith((b"proxy-", b"connection:", b"host:"))
        ]
        host = f"{self.host}:{self.port}" if self.port != _HTTP_PORT else self.host
        first = f"{self.method} {self.target} {self.version}\r\nHost: {host}\r\nConnection: close".encode("latin-1")
        return b"\r\n".join((first, *kept_lines)) + b"\r\n\r\n"


async def _read_request(reader: asyncio.StreamReader) -> _Request:
    """Read the head of a request; raise Refused if it is not a request."""
    try:
        async with asyncio.timeout(_HEAD_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError) as error:
        raise Refused("400 Bad Request") from error
    first, *headers = head[:-4].split(b"\r\n")
    words = first.decode("latin-1").split(" ")
    if len(words) != 3:
        raise Refused("400 Bad Request")
    method, target, version = words
    try:
        place = urlsplit(f"//{target}" if method == "CONNECT" else target)
        port = place.port or (0 if method == "CONNECT" else _HTTP_PORT)
    except ValueError as error:
        raise Refused("400 Bad Request") from error
    is_known = method == "CONNECT" or place.scheme == "http"
    if not is_known or not place.hostname or not port:
        raise Refused("400 Bad Request")
    fields = dict(line.split(b":", 1) for line in headers if b":" in line)
    authorization = next(
        (value.strip() for name, value in fields.items() if name.lower() == b"proxy-authorization"), b""
    )
    path = (place.path or "/") + (f"?{place.query}" if place.query else "")
    return _Request(
        method=method,
        host=place.hostname.rstrip("."),
        port=port,
        target=path,
        version=version,
        headers=tuple(headers),
        authorization=authorization,
    )


async def _join(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, there: asyncio.StreamReader, back: asyncio.StreamWriter
) -> None:
    """Carry bytes both ways until both sides have ended."""
    try:
        await asyncio.gather(_copy(reader, back), _copy(there, writer))
    finally:
        back.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
    with contextlib.suppress(OSError, RuntimeError):
        writer.write_eof()
