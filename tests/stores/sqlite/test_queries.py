"""Counting the runs of a large data dir: in parts, and each of them once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from openskelo.stores import api
from openskelo.stores.conformance import fixtures
from openskelo.stores.sqlite import data_dir, queries

_RUNS = [f"3f0e8f0a-0000-4000-8000-{number:012}" for number in range(9)]


def test_many_runs_are_counted_in_parts_and_each_of_them_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "RUNS_PER_COUNT", 2)

    async def scenario() -> None:
        store = data_dir.open_store(tmp_path / "data")
        try:
            for number, run_id in enumerate(_RUNS):
                ending = ("ok", "failed", None)[number % 3]
                listed = fixtures.row(run_id, number, status="running" if ending is None else "ended", ending=ending)
                await store.append([fixtures.append(0, b"1", run_id=run_id, row=listed)])
            for run_id in _RUNS[3:5]:  # a whole part, and more
                await store.delete_run(run_id)
            counting = asyncio.create_task(store.count_totals())
            turns = 0
            while not counting.done():
                turns += 1
                await asyncio.sleep(0)
            wanted = api.Totals(runs={("ended", "ok"): 2, ("ended", "failed"): 2, ("running", None): 3})
            assert (await counting, turns) == (wanted, 1 + len(_RUNS[::2]))
        finally:
            await store.close()

    asyncio.run(scenario())
