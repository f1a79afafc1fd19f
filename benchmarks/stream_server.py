"""The server that the stream is measured on, as `skelo serve` sets it up: `… DATA_DIR DESCRIPTOR`."""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

import openskelo
from openskelo.server import app, serving, settings
from openskelo.server.auth import tokens


async def serve(data_dir: Path, listening: socket.socket) -> None:
    """Serve until the process is ended."""
    project = openskelo.Project(root=data_dir.parent, data_dir=data_dir)
    async with await openskelo.Engine.open(project) as engine:
        made = app.create(engine, settings.Settings(tokens=tokens.Tokens(data_dir / "tokens.json"), without_token=True))
        await serving.serve(made, listening, ready=lambda: None)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), socket.socket(fileno=int(sys.argv[2]))))
