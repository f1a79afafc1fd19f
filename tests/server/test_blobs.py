"""What deleted runs leave behind goes, in one sweep for many, and whatever happens to the server meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path
from typing import cast

import pytest

import openskelo
from openskelo import errors
from openskelo.history import prune
from openskelo.kernel.json import Json, JsonObject
from openskelo.server import blobs as server_blobs
from openskelo.stores import api
from openskelo.stores.sqlite import data_dir, sqlite_store
from tests.engine import stage


class Counting(sqlite_store.SqliteStore):
    """Counts its sweeps, of which each reads the whole log; the first `full` find no room."""

    sweeps = 0
    full = 0

    async def sweep_blobs(self, *, forget: Collection[str] = ()) -> api.SweepResult:
        self.sweeps += 1
        if self.sweeps <= self.full:
            raise errors.StoreFull("no space left for the log")
        return await super().sweep_blobs(forget=forget)


async def counting(root: Path) -> Counting:
    await data_dir.open_store(root / ".skelo").close()
    return Counting(root / ".skelo")


async def deleted(engine: openskelo.Engine, count: int) -> tuple[list[str], list[str]]:
    """The ids of runs that were begun and deleted, and the blobs that only they named."""
    runs: list[str] = []
    blobs: list[str] = []
    for number in range(count):
        flow = stage.workflow(stage.block("work", metadata={"number": number}))
        runs.append(run_id := await engine.start(flow))
        assert (await engine.wait(run_id))["ending"] == "ok"
        (created, *_) = [event async for event in engine.follow(run_id)]
        blobs.append(str(cast("JsonObject", created["data"])["definition"]))
    for run_id in runs:
        await prune.delete_run(engine.store, run_id)
    return runs, blobs


async def work(_: openskelo.Context) -> dict[str, Json]:
    return {}


async def left(store: api.Store, blobs: list[str]) -> int:
    """How many of the blobs are still there."""
    found = 0
    for name in blobs:
        try:
            found += len(await store.read_blob(name)) > 0
        except errors.NotFound:
            continue
    return found


async def until_swept(store: api.Store, blobs: list[str]) -> None:
    while await left(store, blobs):  # noqa: ASYNC110 -- nobody is told
        await asyncio.sleep(0.02)
    while await store.list_notes(""):  # noqa: ASYNC110 -- nobody is told
        await asyncio.sleep(0.02)


def test_many_deleted_runs_are_swept_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_blobs, "GATHER_SECONDS", 0.2)

    async def story() -> int:
        store = await counting(tmp_path)
        async with stage.engine(tmp_path, store, work=work) as engine:
            runs, blobs = await deleted(engine, 10)
            assert await left(store, blobs) == 10
            sweeps = server_blobs.Sweeper(store)
            async with sweeps.running():
                for run_id in runs:
                    await sweeps.schedule(run_id)
                await until_swept(store, blobs)
            return store.sweeps

    assert stage.play(story) == 1


def test_what_a_server_owed_is_swept_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_blobs, "GATHER_SECONDS", 0.0)

    async def story() -> int:
        store = await counting(tmp_path)
        async with stage.engine(tmp_path, store, work=work) as engine:
            (run_id,), blobs = await deleted(engine, 1)
            await server_blobs.Sweeper(store).schedule(run_id)
            async with server_blobs.Sweeper(store).running():
                await until_swept(store, blobs)
            return store.sweeps

    assert stage.play(story) == 1


def test_a_sweep_that_found_no_room_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_blobs, "GATHER_SECONDS", 0.0)
    monkeypatch.setattr(server_blobs, "RETRY_SECONDS", 0.01)

    async def story() -> int:
        store = await counting(tmp_path)
        store.full = 2
        async with stage.engine(tmp_path, store, work=work) as engine:
            (run_id,), blobs = await deleted(engine, 1)
            sweeps = server_blobs.Sweeper(store)
            async with sweeps.running():
                await sweeps.schedule(run_id)
                await until_swept(store, blobs)
            return store.sweeps

    assert stage.play(story) == 3
