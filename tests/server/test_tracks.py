"""The runs that a server has in memory to show: as many as fit, by their nodes and by what was told of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from openskelo.contract import projection
from openskelo.server import tracks
from openskelo.stores import memory
from tests.engine.stage import play
from tests.server import streaming


@pytest.mark.parametrize(("bound", "most"), [("MAX_NODES", 9), ("MAX_BYTES", 7_000)])
def test_runs_make_room_by_their_nodes_and_by_the_bytes_of_their_facts(
    monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    monkeypatch.setattr(tracks, bound, most)

    async def story() -> None:
        async with streaming.engine(Path(), store=memory.MemoryLog()) as engine:
            found = tracks.Tracks(engine.store, projection.Projection)
            runs = [await engine.start(streaming.chain(3), {"n": 1}) for _ in range(6)]
            await asyncio.gather(*map(engine.wait, runs))
            shown = [(await found.at_head(run_id)).snapshot() for run_id in runs]
            kept = [known for run_id in runs if (known := found.known(run_id)) is not None]
            assert [one.run_id for one in kept] == runs[-2:]
            again = [(await found.at_head(run_id)).snapshot() for run_id in runs]
            assert again == shown
            for run_id in runs:
                found.forget(run_id)
            await found.at_head(runs[0])
            await found.at_head(runs[1])
            assert [found.known(run_id) is not None for run_id in runs[:2]] == [True, True]

    play(story)


def test_one_run_that_is_larger_than_all_may_be_is_shown_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracks, "MAX_BYTES", 10)

    async def story() -> None:
        async with streaming.engine(Path(), store=memory.MemoryLog()) as engine:
            found = tracks.Tracks(engine.store, projection.Projection)
            run_id = await engine.start(streaming.chain(1), {"n": 1})
            await engine.wait(run_id)
            track = await found.at_head(run_id)
            assert track.bytes > 10
            assert await found.at_head(run_id) is track

    play(story)
