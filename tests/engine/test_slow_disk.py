"""On a disk whose syncs take long, runs that go on together share them, and others get their turn in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import openskelo
from openskelo.kernel.json import Json
from openskelo.stores import log, memory
from tests.engine import stage

FLOW = stage.workflow(
    stage.block("first", outputs={"n": "integer"}),
    stage.block("second", inputs={"n": {"type": "integer", "from": "first.n"}}, outputs={"n": "integer"}),
)


class Slow(memory.MemoryLog):
    """Each commit takes as long as on a disk that turns, and the loop stands still meanwhile."""

    commits = 0

    async def append(self, batch: Sequence[log.Append]) -> None:
        self.commits += 1
        time.sleep(0.02)  # noqa: ASYNC251 -- as SQLite's sync does
        await super().append(batch)


async def give(_: openskelo.Context) -> dict[str, Json]:
    return {"n": 1}


async def steps(count: int) -> None:
    """What it takes to read a request, say: a few steps of the loop."""
    for _ in range(count):
        await asyncio.sleep(0)


def test_runs_that_are_begun_by_many_share_the_syncs_of_a_slow_disk(tmp_path: Path) -> None:
    async def client(engine: openskelo.Engine, number: int) -> None:
        for turn in range(4):
            await steps(1 + (number * 7 + turn) % 9)
            run_id = await engine.start(FLOW)
            assert (await engine.wait(run_id))["ending"] == "ok"

    async def story() -> int:
        store = Slow()
        async with stage.engine(tmp_path, store, first=give, second=give) as engine:
            await asyncio.gather(*(client(engine, number) for number in range(20)))
            return store.commits

    assert stage.play(story) < 30  # of 80 runs, each of which is made durable three times


def test_a_single_run_waits_for_nobody_on_a_slow_disk(tmp_path: Path) -> None:
    async def story() -> int:
        store = Slow()
        async with stage.engine(tmp_path, store, first=give, second=give) as engine:
            assert (await engine.wait(await engine.start(FLOW)))["ending"] == "ok"
            return store.commits

    assert stage.play(story) == 3
