"""Start a live graph with one coding agent, and print how to talk to it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import openskelo
from openskelo.engine.commands.graph_commands import Change
from openskelo.workflows import live_graph

HERE = Path(__file__).parent


async def start(engine: openskelo.Engine) -> str:
    """Return the id of a new live graph whose only node is the agent `pair`."""
    run_id = await engine.start(live_graph.empty("pair", {"max_steps": 200}), by="pair.py")
    await engine.graph(run_id).add_node("Pair", kind="agent", more=Change(agent="pair", role="partner"))
    return run_id


async def main() -> None:
    async with await openskelo.Engine.open(openskelo.project_at(HERE)) as engine:
        run_id = await start(engine)
    print(f"skelo chat {run_id} pair")


if __name__ == "__main__":
    asyncio.run(main())
