"""A model's server of which a test knows every byte: it answers each request with the pieces that it is told."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from tests.agents import repository


@dataclass
class Upstream:
    """What the server answers, and what it was sent.

    `seconds` is the time before each piece; with `turns` the server also takes one of them before each piece.
    """

    pieces: Sequence[bytes] = ()
    head: bytes = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nrequest-id: r1\r\n\r\n"
    seconds: float = 0.0
    turns: asyncio.Semaphore | None = None
    hangs: bool = False
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)  # pyright: ignore[reportUnknownVariableType]
    url: str = ""
    closed_by_client: int = 0
    connections: int = 0
    answered: int = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, and close the connection."""
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
            self.answered += 1

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *rows = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (row.partition(":") for row in rows)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.requests.append((line, headers, body))
        if self.hangs:
            await reader.read()  # until the client gives up
            self.closed_by_client += 1
            return
        writer.write(self.head)
        for piece in self.pieces:
            await asyncio.sleep(self.seconds)
            if self.turns is not None:
                await self.turns.acquire()
            writer.write(piece)
            await writer.drain()


@contextlib.asynccontextmanager
async def serve(upstream: Upstream) -> AsyncGenerator[Upstream]:
    """Yield the server, listening on a loopback port."""
    server = await asyncio.start_server(upstream.answer, "127.0.0.1", 0)
    upstream.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield upstream
    finally:
        server.close()
        await repository.until(lambda: upstream.answered == upstream.connections)


def events(*documents: str, names: bool = False) -> list[bytes]:
    """Return server-sent events with these documents; with `names` each has the name of its type."""
    parts: list[bytes] = []
    for document in documents:
        kind = document.split('"type":"', 1)[1].split('"', 1)[0] if names else ""
        head = f"event: {kind}\n" if names else ""
        parts.append(f"{head}data: {document}\n\n".encode())
    return parts
