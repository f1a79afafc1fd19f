"""An engine over a store that fails at every call, before and after its commits, by seed.

The engine outlives every failure; what it says has started has; and once the store works again every run ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import sqlite3
import uuid
from collections import Counter
from collections.abc import Awaitable, Sequence
from pathlib import Path
from random import Random
from typing import TypeVar, cast

import pytest

import openskelo
from openskelo import errors
from openskelo.engine import run_start
from openskelo.engine.takeover import supervisor
from openskelo.executors.handlers import invocation
from openskelo.history.run_document import ApprovalDocument
from openskelo.kernel.json import Json, JsonObject
from openskelo.stores import api, memory
from openskelo.stores.sqlite import connection as sqlite_connection
from openskelo.stores.sqlite import data_dir
from tests.engine import faulty_store, stage

T = TypeVar("T")
RUNS = 4
CALLS = 30


def flow() -> openskelo.Workflow:
    """Work, an approval, and an effect that happens once."""
    review: JsonObject = {
        "id": "review",
        "mode": "approval",
        "after": ["first"],
        "outputs": {"approved": "boolean"},
        "approval": {"prompt": "Go on?"},
    }
    return stage.workflow(stage.block("first"), review, stage.block("last", after=["review"], effect="once"))


class World:
    """What the callers of one engine were told, and what the outside has seen."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.started: list[str] = []
        self.refused: dict[str, errors.OpenSkeloError] = {}  # what the caller of a start that failed was told
        self.effects: Counter[str] = Counter()

    async def first(self, _ctx: openskelo.Context) -> JsonObject:
        await asyncio.sleep(0)
        return {}

    async def last(self, ctx: openskelo.Context) -> JsonObject:
        self.effects[ctx.run_id] += 1
        return {}


async def _told(call: Awaitable[T]) -> T | None:
    """Return the result, None if the caller is told of a failure. A call that never returns fails the test."""
    try:
        async with asyncio.timeout(10):
            return await call
    except errors.OpenSkeloError:
        return None


async def _start(engine: openskelo.Engine, world: World) -> None:
    """Start a run, and note what the caller is told."""
    run_id = str(uuid.UUID(int=world.chance.getrandbits(128), version=4))
    try:
        async with asyncio.timeout(10):
            world.started.append(await engine.start(flow(), run_id=run_id))
    except errors.OpenSkeloError as error:
        world.refused[run_id] = error


def _check_told(world: World, rows: Sequence[api.RunRow]) -> None:
    """What has started is listed; a start that failed has started no run, or its hint says how to find it."""
    known = {row.run_id for row in rows}
    assert set(world.started) <= known
    assert [
        run_id for run_id, told in world.refused.items() if run_id in known and run_id not in (told.hint or "")
    ] == []


async def _trouble(engine: openskelo.Engine, world: World) -> None:
    """Let callers do what they do, whatever the store does."""
    for _ in range(CALLS):
        known = [row.run_id for row in await _told(engine.store.list_runs()) or ()]
        match world.chance.choice(["start", "resume", "answer", "release", "pause"]):
            case "start" if len(world.started) < RUNS:
                await _start(engine, world)
            case "answer":
                for asked in await _told(engine.approvals()) or []:
                    await _told(_answer(engine, world, asked))
            case "release":
                await _told(engine.ownership.release_idle())
            case "pause" if known:
                await _told(engine.pause(world.chance.choice(known)))
            case _ if known:
                await _told(engine.resume(world.chance.choice(known)))
            case _:
                pass


async def _answer(engine: openskelo.Engine, world: World, asked: ApprovalDocument) -> None:
    """Say yes, and about an uncertain effect say what the outside has seen."""
    happened = asked["kind"] == "uncertain" and world.effects[asked["runId"]] > 0
    await engine.answer(asked["id"], status="modified" if happened else "approved", by="ann")


async def _finish(engine: openskelo.Engine, world: World, run_id: str) -> None:
    """Bring a run to its end, now that the store works."""
    while (await engine.show(run_id))["ending"] is None:
        await engine.resume(run_id)
        for asked in stage.approvals(await engine.wait(run_id)):
            await _answer(engine, world, asked)
    assert (await engine.show(run_id))["ending"] == "ok"


def play(seed: int, inner: api.Store, root: Path) -> faulty_store.FaultyStore:
    """Trouble the engine under one seed, then let every run end."""
    world = World(seed)
    store, faulty = faulty_store.wrap(inner, world.chance, 0.08)

    async def story() -> None:
        async with stage.engine(root, store, first=world.first, last=world.last) as engine:
            await _trouble(engine, world)
            faulty.likelihood = 0.0
            engine.check_driving()
            rows = await engine.store.list_runs()
            _check_told(world, rows)
            for row in rows:
                if row.ending is None:
                    await _finish(engine, world, row.run_id)
            assert world.effects == Counter(row.run_id for row in rows)
            for row in rows:  # an engine that drives nothing gives up all claims
                while await engine.store.is_driver_alive(row.run_id):  # noqa: ASYNC110  it does so by itself
                    await asyncio.sleep(0.01)

    stage.play(story)
    return faulty


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(first, first + 25) for first in range(0, 100, 25)], ids=str)
def test_an_engine_outlives_a_store_in_memory_that_fails_anywhere(seeds: range, tmp_path: Path) -> None:
    faults: Counter[tuple[str, str]] = Counter()
    for seed in seeds:
        faults += play(seed, memory.MemoryStore(), tmp_path).faults
    assert {("append", "before"), ("append", "after"), ("claim_run", "after"), ("release_run", "before")} <= set(faults)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_an_engine_outlives_an_sqlite_store_that_fails_anywhere(seed: int, tmp_path: Path) -> None:
    assert play(seed, data_dir.open_store(tmp_path / "data"), tmp_path).faults


async def _keep_going(engines: Sequence[openskelo.Engine], world: World) -> None:
    """Start runs and answer what they ask, until every run has ended; supervisors do the rest."""
    rows = await _told(engines[0].store.list_runs())
    while rows is None or len(world.started) < RUNS or any(row.ending is None for row in rows):
        engine = world.chance.choice(engines)
        if len(world.started) < RUNS:
            await _start(engine, world)
        for asked in await _told(engine.approvals()) or []:
            await _told(_answer(engine, world, asked))
        await asyncio.sleep(0.01)
        rows = await _told(engine.store.list_runs())


def supervise(seed: int, root: Path, processes: int, monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, str]]:
    """Let supervisors bring every run to its end over stores that fail all the time."""
    monkeypatch.setattr(supervisor, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(supervisor, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(run_start, "KEPT_RUNS", 1)
    world = World(seed)
    project = openskelo.Project(root=root, data_dir=root / ".skelo", read_roots=(root,))
    stores = [faulty_store.wrap(data_dir.open_store(project.data_dir), world.chance, 0.0) for _ in range(processes)]

    async def story() -> None:
        async with contextlib.AsyncExitStack() as closing:
            engines: list[openskelo.Engine] = []
            for store, faulty in stores:
                handlers: dict[str, invocation.Handler] = {"first": world.first, "last": world.last}
                engine = await openskelo.Engine.open(
                    project, store=store, handlers=handlers, share_runs=processes > 1, recover=True
                )
                engines.append(await closing.enter_async_context(engine))
                closing.callback(setattr, faulty, "likelihood", 0.0)
            for _, faulty in stores:
                faulty.likelihood = 0.05
            await _keep_going(engines, world)
            for _, faulty in stores:
                faulty.likelihood = 0.0
            for engine in engines:
                engine.check_driving()
            rows = await engines[0].store.list_runs()
            _check_told(world, rows)
            assert {row.ending for row in rows} == {"ok"}
            assert world.effects == Counter(row.run_id for row in rows)

    stage.play(story)
    faults: Counter[tuple[str, str]] = Counter()
    for _, faulty in stores:
        faults += faulty.faults
    return faults


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_supervisor_ends_all_runs_of_a_store_that_fails_anywhere(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert supervise(seed, tmp_path, 1, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_engines_that_share_runs_end_them_over_stores_that_fail_anywhere(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert supervise(seed, tmp_path, 2, monkeypatch)


def test_a_run_whose_commit_lost_its_answer_has_started(tmp_path: Path) -> None:
    async def story() -> None:
        world = World(0)
        inner = memory.MemoryStore()

        class Lost(memory.MemoryStore):
            lost = 0

            async def append(self, batch: object) -> None:
                await inner.append(cast("list[api.Append]", batch))
                if not self.lost:
                    self.lost += 1
                    raise errors.StoreError("no answer", code="STORE_IO")

        store = Lost(inner._data)  # pyright: ignore[reportPrivateUsage] -- two stores over one data
        async with stage.engine(tmp_path, store, first=world.first, last=world.last) as engine:
            run_id = await engine.start(flow())
            document = await engine.wait(run_id)
            assert (store.lost, document["status"], len(stage.approvals(document))) == (1, "paused", 1)

    stage.play(story)


def test_a_run_that_was_dropped_for_a_busy_store_is_soon_free_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_connection, "BUSY_SECONDS", 0.3)

    async def story() -> None:
        go = asyncio.Event()

        async def first(_ctx: openskelo.Context) -> JsonObject:
            await go.wait()
            return {}

        async with stage.open_engine(tmp_path, first=first) as engine:
            run_id = await engine.start(stage.workflow(stage.block("first")))
            with contextlib.closing(
                sqlite3.connect(tmp_path / ".skelo" / "log.db", isolation_level=None, check_same_thread=False)
            ) as other:
                other.execute("BEGIN IMMEDIATE")
                go.set()
                with pytest.raises(errors.StoreError) as told:
                    await engine.wait(run_id)
                assert told.value.code == "STORE_BUSY"
                other.execute("ROLLBACK")
            async with stage.open_engine(tmp_path, first=first) as elsewhere:
                async with asyncio.timeout(10):
                    while await elsewhere.store.is_driver_alive(run_id):  # noqa: ASYNC110  another engine's claim
                        await asyncio.sleep(0.02)
                await elsewhere.resume(run_id)
                assert (await elsewhere.wait(run_id))["ending"] == "ok"

    stage.play(story)


def test_a_run_that_ends_while_it_is_about_to_be_released_is_left_alone(tmp_path: Path) -> None:
    async def story() -> None:
        world = World(0)
        async with stage.engine(tmp_path, first=world.first, last=world.last) as engine:
            run_id = await engine.start(flow())
            await engine.wait(run_id)
            async with engine._driver.turn_lock:  # pyright: ignore[reportPrivateUsage] -- the moment of the race
                releasing = asyncio.create_task(engine.ownership.release_idle())
                cancelling = asyncio.create_task(engine.cancel(run_id))
                for _ in range(20):
                    await asyncio.sleep(0)
                driven = engine._driver.runs.get(run_id)  # pyright: ignore[reportPrivateUsage]
                assert driven is not None
                engine._driver.runs.remove(driven)  # pyright: ignore[reportPrivateUsage]
            assert await releasing == {}
            cancelling.cancel()
            await asyncio.gather(cancelling, return_exceptions=True)

    stage.play(story)


def test_files_that_another_process_holds_stop_no_run_while_a_claim_is_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_connection, "BUSY_SECONDS", 100.0)  # longer than the whole story may take

    async def work(_: openskelo.Context) -> dict[str, Json]:
        return {}

    async def story() -> list[str]:
        async with stage.engine(tmp_path, work=work) as engine:
            asks = stage.block("asks", mode="approval", approval={"prompt": "Go?"})
            waiting = await engine.start(stage.workflow(asks))
            await engine.wait(waiting)
            await engine.store.flush()
            with (tmp_path / ".skelo" / "events" / "end").open("rb") as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                releasing = asyncio.create_task(engine.ownership.release_idle())
                for _ in range(20):
                    await asyncio.sleep(0)
                async with asyncio.timeout(60):
                    other = await engine.start(stage.workflow(stage.block("work")))
                    assert (await engine.wait(other))["ending"] == "ok"
                    return list(await releasing)

    assert len(stage.play(story)) == 1
