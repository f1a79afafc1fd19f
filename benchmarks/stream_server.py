"""The server that the stream is measured on: `python -m benchmarks.stream_server DATA_DIR DESCRIPTOR`."""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

import fastapi
import uvicorn

from openskelo.server import hub as hubs
from openskelo.server import stream_sse, stream_ws
from openskelo.stores import datadir


async def serve(data_dir: Path, listening: socket.socket) -> None:
    """Serve until the process is ended."""
    hub = hubs.Hub(datadir.open_log(data_dir))
    app = fastapi.FastAPI()
    app.include_router(stream_ws.router(hub))
    app.include_router(stream_sse.router(hub))
    config = uvicorn.Config(app, log_level="warning", lifespan="off", ws_per_message_deflate=False)
    await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), socket.socket(fileno=int(sys.argv[2]))))
