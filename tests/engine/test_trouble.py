"""Runs under way while the data dir is in trouble: everybody is told, soon, and the runs can be taken up later."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from pathlib import Path

import pytest

import openskelo
from openskelo.kernel.json import JsonObject
from openskelo.stores.sqlite import connection as sqlite_connection
from tests.engine import stage

FLOW = stage.workflow(stage.block("first"), stage.block("second", after=["first"]))


async def work(_ctx: openskelo.Context) -> JsonObject:
    await asyncio.sleep(0.3)
    return {}


async def codes(engine: openskelo.Engine, run_ids: list[str]) -> list[str]:
    """How each run's wait ends."""
    found = await asyncio.gather(*map(engine.wait, run_ids), return_exceptions=True)
    return [one.code if isinstance(one, openskelo.OpenSkeloError) else str(one) for one in found]


async def go_on(root: Path, run_ids: list[str]) -> list[object]:
    async with stage.engine(root, first=work, second=work) as engine:
        await asyncio.gather(*map(engine.resume, run_ids))
        return [(await engine.wait(run_id))["ending"] for run_id in run_ids]


def test_runs_stop_when_the_data_dir_is_moved_away_and_go_on_where_it_is(tmp_path: Path) -> None:
    async def story() -> None:
        data_dir = tmp_path / ".skelo"
        async with stage.open_engine(tmp_path, first=work, second=work) as engine:
            run_ids = [await engine.start(FLOW) for _ in range(3)]
            data_dir.rename(tmp_path / "elsewhere")
            assert await codes(engine, run_ids) == ["STORE_GONE"] * 3
            with pytest.raises(openskelo.StoreError) as told:
                await engine.start(FLOW)
            assert told.value.code == "STORE_GONE"
        assert not data_dir.exists()
        (tmp_path / "elsewhere").rename(data_dir)
        assert await go_on(tmp_path, run_ids) == ["ok"] * 3

    stage.play(story)


def test_the_other_work_of_a_run_that_stops_is_stopped(tmp_path: Path) -> None:
    async def story() -> None:
        stopped, begun = asyncio.Event(), asyncio.Event()

        async def endless(_ctx: openskelo.Context) -> JsonObject:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()
            raise AssertionError

        async def moving(_ctx: openskelo.Context) -> JsonObject:
            await begun.wait()
            (tmp_path / ".skelo").rename(tmp_path / "elsewhere")
            return {}

        flow = stage.workflow(stage.block("first"), stage.block("second"))
        async with stage.open_engine(tmp_path, first=moving, second=endless) as engine:
            assert await codes(engine, [await engine.start(flow)]) == ["STORE_GONE"]
            async with asyncio.timeout(120):
                await stopped.wait()  # before the engine is closed

    stage.play(story)


def test_many_runs_wait_no_longer_than_one_for_a_log_that_somebody_else_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_connection, "BUSY_SECONDS", 1.0)

    async def story(many: int) -> float:
        async with stage.open_engine(tmp_path, first=work, second=work) as engine:
            run_ids = [await engine.start(FLOW) for _ in range(many)]
            with contextlib.closing(sqlite3.connect(tmp_path / ".skelo" / "log.db", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                started = time.monotonic()
                assert await codes(engine, run_ids) == ["STORE_BUSY"] * many
                took = time.monotonic() - started
                other.execute("ROLLBACK")
            await asyncio.gather(*map(engine.resume, run_ids))
            assert [(await engine.wait(run_id))["ending"] for run_id in run_ids] == ["ok"] * many
            return took

    one, twelve = (stage.play(lambda many=many: story(many)) for many in (1, 12))
    assert twelve < 4 * one
