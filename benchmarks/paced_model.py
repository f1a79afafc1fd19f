"""`python -m benchmarks.paced_model PIECES`: a server that speaks OpenAI's protocol and streams as a model does.

The first piece comes after half a second, each of the others 10 ms after the one before. It prints its port and serves
until its standard input is closed.
"""

from __future__ import annotations

import asyncio
import sys

import orjson

FIRST_SECONDS = 0.5
PIECE_SECONDS = 0.01
_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_MODELS = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"data":[]}'


def _chunk(**fields: object) -> bytes:
    document = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", **fields}
    data = b"data: " + orjson.dumps(document) + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(data), data)


async def _serve(pieces: int) -> None:
    loop = asyncio.get_running_loop()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                break
            lengths = [line.split(b":")[1] for line in head.lower().splitlines() if line.startswith(b"content-length:")]
            await reader.readexactly(int(lengths[0]) if lengths else 0)
            if head.startswith(b"GET"):
                writer.write(_MODELS)
                continue
            start = loop.time() + FIRST_SECONDS
            for index in range(pieces):  # by the clock, so that a late piece does not delay all others
                await asyncio.sleep(max(0.0, start + index * PIECE_SECONDS - loop.time()))
                piece = _chunk(choices=[{"index": 0, "delta": {"content": "word "}}])
                writer.write(_STREAM + piece if index == 0 else piece)
                await writer.drain()
            usage = {"prompt_tokens": 5000, "completion_tokens": pieces, "total_tokens": 5000 + pieces}
            done = b"data: [DONE]\n\n"
            writer.write(_chunk(choices=[], usage=usage) + b"%x\r\n%s\r\n0\r\n\r\n" % (len(done), done))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
