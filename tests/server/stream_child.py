"""A server of the stream in a process of its own: `python -m tests.server.stream_child DATA_DIR DESCRIPTOR`."""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

import uvicorn

from openskelo.server.stream import hub as hubs
from openskelo.server.stream import run_tracks
from openskelo.stores.sqlite import data_dir as stores_data_dir
from tests.server import streaming


async def serve(data_dir: Path, listening: socket.socket) -> None:
    """Serve until the process is killed."""
    hub = hubs.Hub(run_tracks.RunTracks(stores_data_dir.open_store(data_dir)))
    config = uvicorn.Config(streaming.app(hub), log_level="warning", lifespan="off", ws_per_message_deflate=False)
    await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), socket.socket(fileno=int(sys.argv[2]))))
