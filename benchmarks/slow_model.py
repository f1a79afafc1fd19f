"""`python -m benchmarks.slow_model SECONDS`: a server that speaks OpenAI's protocol and thinks for so long.

It prints its port and serves until its standard input is closed.
"""

from __future__ import annotations

import asyncio
import sys

import orjson

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def _chunk(delta: object, finish: str | None = None, **more: object) -> bytes:
    document = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "slow",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        **more,
    }
    return b"data: " + orjson.dumps(document) + b"\n\n"


_SAID = (
    _chunk({"role": "assistant", "content": '{"n":1}'}),
    _chunk({}, "stop"),
    _chunk({}, None, choices=[], usage={"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}),
    b"data: [DONE]\n\n",
)


async def _serve(seconds: float) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        lengths = [line.split(b":")[1] for line in head.lower().splitlines() if line.startswith(b"content-length:")]
        await reader.readexactly(int(lengths[0]) if lengths else 0)
        await asyncio.sleep(seconds)
        writer.write(_HEAD + b"".join(_SAID))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=500)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1])))
