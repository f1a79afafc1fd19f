"""A full disk stops a run with a clear error and loses nothing; with room again it goes on to its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from pathlib import Path

import pytest

import openskelo
from openskelo import errors
from openskelo.engine.takeover import supervisor
from openskelo.kernel.json import Json
from openskelo.stores import api
from tests.crash import disk as disks
from tests.engine import stage
from tests.record import verifying

NUMBER: dict[str, Json] = {"n": "integer"}


@pytest.fixture
def disk(tmp_path: Path) -> Generator[disks.Disk]:
    with disks.small(tmp_path / "disk") as made:
        yield made


class Steps:
    """Three steps that count their calls; the second one leaves a full disk behind when it is told to."""

    def __init__(self, disk: disks.Disk) -> None:
        self.disk = disk
        self.calls: list[str] = []
        self.fills = True
        self.go = asyncio.Event()
        self.go.set()

    async def first(self, ctx: openskelo.Context) -> dict[str, Json]:
        self.calls.append("first")
        return {"n": 1}

    async def second(self, ctx: openskelo.Context) -> dict[str, Json]:
        self.calls.append("second")
        await self.go.wait()
        if self.fills:
            self.fills = False
            self.disk.fill()
        return {"n": 2}

    async def third(self, ctx: openskelo.Context) -> dict[str, Json]:
        self.calls.append("third")
        ctx.log(ctx.run_id * 1600)  # more than the room that a log of some length has made ahead
        return {"n": 3}

    async def open(self) -> openskelo.Engine:
        folder = self.disk.folder
        project = openskelo.Project(root=folder, data_dir=folder / ".skelo")
        handlers = {"first": self.first, "second": self.second, "third": self.third}
        return await openskelo.Engine.open(project, handlers=handlers)


def flow() -> openskelo.Workflow:
    return stage.workflow(
        stage.block("first", outputs=NUMBER),
        stage.block("second", inputs={"n": {"type": "integer", "from": "first.n"}}, outputs=NUMBER),
        stage.block("third", inputs={"n": {"type": "integer", "from": "second.n"}}, outputs=NUMBER),
    )


async def record(engine: openskelo.Engine, run_id: str) -> list[bytes]:
    return [line async for lines in engine.store.read_events(run_id) for line in lines]


async def assert_whole(engine: openskelo.Engine, run_id: str, beginning: list[bytes]) -> None:
    """The run ended well, and its record verifies, goes on from where it was, and is in its file."""
    document = await engine.wait(run_id)
    assert (document["ending"], document["outputs"]) == ("ok", {"n": 3})
    lines = await record(engine, run_id)
    verified = verifying.lines(lines)
    assert (verified.intact, verified.ended) == (True, True)
    assert lines[: len(beginning)] == beginning
    await engine.store.flush()
    assert await engine.store.read_event_files(run_id) == lines


def test_a_run_that_met_a_full_disk_goes_on_in_the_same_engine(disk: disks.Disk) -> None:
    async def story() -> None:
        steps = Steps(disk)
        async with await steps.open() as engine:
            run_id = await engine.start(flow())
            with pytest.raises(errors.StoreError) as caught:
                await engine.wait(run_id)
            assert caught.value.code in disk.codes
            kept = await record(engine, run_id)
            for _ in range(2):
                with pytest.raises(errors.StoreError) as caught:
                    await engine.resume(run_id)
                assert caught.value.code in disk.codes
            assert await record(engine, run_id) == kept
            disk.free()
            await engine.resume(run_id)
            await assert_whole(engine, run_id, kept)
        assert steps.calls == ["first", "second", "second", "third"]

    stage.play(story)


def test_a_run_that_met_a_full_disk_goes_on_in_another_engine(disk: disks.Disk) -> None:
    async def full(steps: Steps) -> tuple[str, list[bytes]]:
        engine = await steps.open()
        run_id = await engine.start(flow())
        with pytest.raises(errors.StoreError):
            await engine.wait(run_id)
        kept = await record(engine, run_id)
        with pytest.raises(errors.StoreError) as caught:
            await engine.close()  # closes all the same, and says that the run's file is behind its log
        assert caught.value.code in disk.codes
        return run_id, kept

    async def go_on(steps: Steps, run_id: str, kept: list[bytes]) -> None:
        async with await steps.open() as engine:
            await engine.resume(run_id)
            await assert_whole(engine, run_id, kept)
        assert steps.calls == ["first", "second", "second", "third"]

    steps = Steps(disk)
    run_id, kept = stage.play(lambda: full(steps))
    disk.free()
    stage.play(lambda: go_on(steps, run_id, kept))


def test_nothing_begins_on_a_full_disk(disk: disks.Disk) -> None:
    async def story() -> None:
        steps = Steps(disk)
        steps.fills = False
        disk.fill()
        with pytest.raises(errors.StoreError) as caught:
            await steps.open()
        assert caught.value.code in disk.codes
        disk.free()
        async with await steps.open() as engine:
            disk.fill()
            for _ in range(2):
                with pytest.raises(errors.StoreError) as caught:
                    await engine.start(flow())
                assert caught.value.code in disk.codes
            disk.free()
            assert await engine.store.list_runs() == []
            run_id = await engine.start(flow())
            await assert_whole(engine, run_id, [])
        assert steps.calls == ["first", "second", "third"]

    stage.play(story)


def test_a_run_in_the_same_engine_outlives_a_moment_without_room(disk: disks.Disk) -> None:
    """Many runs at once: each one either ended well or was stopped by the full disk, and then can be resumed."""

    async def story() -> None:
        steps = Steps(disk)
        async with await steps.open() as engine:
            steps.go.clear()
            started = [await engine.start(flow()) for _ in range(12)]
            steps.go.set()
            waited = await asyncio.gather(*map(engine.wait, started), return_exceptions=True)
            stopped = [error for error in waited if isinstance(error, errors.StoreError)]
            assert stopped
            assert {error.code for error in stopped} <= disk.codes
            disk.free()
            for run_id in started:
                await engine.resume(run_id)
            for run_id in started:
                await assert_whole(engine, run_id, [])
            again = await engine.start(flow())
            await assert_whole(engine, again, [])

    stage.play(story)


def test_an_effect_whose_result_found_no_room_is_asked_about(disk: disks.Disk) -> None:
    """A result of this size is a file of its own, written before the commit. A retry would be a silent repetition."""
    sent: list[str] = []

    async def send(ctx: openskelo.Context) -> dict[str, Json]:
        sent.append(ctx.idempotency_key)
        disk.fill()
        return {"text": "x" * 40_000}

    flow = stage.workflow(stage.block("send", outputs={"text": "string"}, effect="once", retry={"max_attempts": 3}))

    async def story() -> None:
        project = openskelo.Project(root=disk.folder, data_dir=disk.folder / ".skelo")
        async with await openskelo.Engine.open(project, handlers={"send": send}) as engine:
            run_id = await engine.start(flow)
            with pytest.raises(errors.StoreError) as caught:
                await engine.wait(run_id)
            assert caught.value.code in disk.codes
            disk.free()
            await engine.resume(run_id)
            (asked,) = stage.approvals(await engine.wait(run_id))
            assert asked["kind"] == "uncertain"
            values: dict[str, Json] = {"text": "y" * 40_000}
            await engine.answer(asked["id"], status="modified", modified_args=values, by="ann")
            assert (await engine.wait(run_id))["outputs"] == values
        assert len(sent) == 1

    stage.play(story)


async def use_up(store: api.Store) -> None:
    """Leave no room in what the log has made ahead, either."""
    with contextlib.suppress(errors.StoreError):
        while True:
            await store.save_note("filler", {"text": "x" * 3000}, at=0)


@pytest.mark.slow
def test_a_keeper_goes_on_with_what_a_full_disk_has_stopped(disk: disks.Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks for it: the runs of a server end well once there is room again, though no claim could be given up."""
    monkeypatch.setattr(supervisor, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(supervisor, "RETRY_SECONDS", 0.1)

    async def story() -> None:
        steps = Steps(disk)
        steps.fills = False
        steps.go.clear()
        async with await steps.open() as engine:
            keeping = supervisor.Supervisor(engine)
            await keeping.start()
            started = [await engine.start(flow()) for _ in range(12)]
            disk.fill()
            await use_up(engine.store)
            steps.go.set()
            waited = await asyncio.gather(*map(engine.wait, started), return_exceptions=True)
            stopped = [error.code for error in waited if isinstance(error, errors.StoreError)]
            assert (len(stopped), set(stopped) <= disk.codes) == (12, True)
            disk.free()
            while await engine.store.list_runs(status="running"):  # noqa: ASYNC110 -- nobody is told
                await asyncio.sleep(0.05)
            for run_id in started:
                await assert_whole(engine, run_id, [])
            await keeping.stop()

    stage.play(story)
