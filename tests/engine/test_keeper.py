"""The keeper goes on keeping, whatever it stumbles over."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import openskelo
from openskelo import errors
from openskelo.engine import keeper, local, mail, watching
from openskelo.kernel.json import Json, JsonObject
from openskelo.stores import datadir, log, patience
from openskelo.stores import sqlite as sqlite_log
from tests.engine import stage

ASKING = stage.workflow({"id": "ask", "mode": "approval", "approval": {"prompt": "Go on?", "timeout_sec": 600}})


async def _until_put_aside(engine: local.Engine, run_id: str) -> None:
    async with asyncio.timeout(10):
        while engine.holding.is_driving(run_id):  # noqa: ASYNC110 -- only the clock brings it about
            await asyncio.sleep(0.02)


@pytest.mark.slow
def test_what_one_question_is_broken_by_does_not_end_the_keeping(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            broken = await engine.start(ASKING)
            await engine.wait(broken)
            with sqlite3.connect(engine.project.data_dir / "log.db") as found:
                changed = found.execute("UPDATE approvals SET document = json_set(document, '$.expiresAt', 'soon')")
                assert changed.rowcount == 1
            found.close()
            keeping = keeper.Keeper(engine)
            await keeping.start()
            try:
                await _until_put_aside(engine, broken)
                other = await engine.start(ASKING)
                await engine.wait(other)
                await _until_put_aside(engine, other)
            finally:
                await keeping.stop()

    with caplog.at_level(logging.ERROR, "openskelo.keeper"):
        stage.play(story)
    (told,) = caplog.records  # once, not every second
    assert (told.getMessage(), told.exc_info is not None) == ("keeping runs going failed at learn_times", True)


@pytest.mark.slow
def test_a_run_whose_driver_died_is_found_behind_any_number_that_others_drive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "PAGE", 2)
    once = stage.workflow(stage.block("work"))

    async def never(_: openskelo.Context) -> dict[str, Json]:
        await asyncio.sleep(60)
        return {}

    async def at_once(_: openskelo.Context) -> dict[str, Json]:
        return {}

    async def story() -> tuple[object, list[str]]:
        async with stage.open_engine(tmp_path, work=never) as died:
            left = await died.start(once)
        async with (
            stage.open_engine(tmp_path, work=never) as other,
            stage.open_engine(tmp_path, work=at_once) as engine,
        ):
            busy = [await other.start(once) for _ in range(5)]
            keeping = keeper.Keeper(engine)
            await keeping.start()
            try:
                async with asyncio.timeout(20):
                    while not engine.holding.has_driven(left):  # noqa: ASYNC110 -- only the clock brings it about
                        await asyncio.sleep(0.05)
                return (await engine.wait(left))["ending"], [
                    run_id for run_id in busy if other.holding.is_driving(run_id)
                ]
            finally:
                await keeping.stop()

    ending, busy = stage.play(story)
    assert (ending, len(busy)) == ("ok", 5)


@pytest.mark.slow
def test_runs_that_a_log_held_by_another_program_has_stopped_are_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "BUSY_SECONDS", 0.1)
    monkeypatch.setattr(keeper, "LOOK_SECONDS", 0.05)
    go = asyncio.Event()

    async def work(_: openskelo.Context) -> dict[str, Json]:
        await go.wait()
        return {}

    async def story() -> tuple[str, object]:
        async with stage.engine(tmp_path, work=work) as engine:
            keeping = keeper.Keeper(engine)
            await keeping.start()
            try:
                run_id = await engine.start(stage.workflow(stage.block("work")))
                with contextlib.closing(sqlite3.connect(engine.project.data_dir / "log.db")) as other:
                    other.execute("BEGIN IMMEDIATE")
                    go.set()
                    with pytest.raises(errors.StoreError) as caught:
                        await engine.wait(run_id)
                async with asyncio.timeout(20):
                    while not await watching.has_ended(engine.store, run_id):  # noqa: ASYNC110 -- nobody is told
                        await asyncio.sleep(0.02)
                return caught.value.code, (await engine.wait(run_id))["ending"]
            finally:
                await keeping.stop()

    assert stage.play(story) == ("STORE_BUSY", "ok")


class Claims(sqlite_log.SqliteLog):
    """Counts how often a run was claimed."""

    claims = 0

    async def claim(self, run_id: str) -> bool:
        self.claims += 1
        return await super().claim(run_id)


@pytest.mark.slow
def test_what_was_posted_for_a_run_that_has_ended_moves_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever posted it was killed before it could be told: it goes after a while, and no log is read for it."""
    monkeypatch.setattr(keeper, "LOOK_SECONDS", 0.01)

    async def story() -> tuple[int, list[int]]:
        await datadir.open_log(tmp_path / ".skelo").close()
        store = Claims(tmp_path / ".skelo")
        async with stage.engine(tmp_path, store) as engine:
            run_id = await engine.start(ASKING)
            await engine.cancel(run_id)
            await engine.wait(run_id)
            await store.post(run_id, mail.cancel_body("ann", None))
            keeping = keeper.Keeper(engine)
            await keeping.start()
            await asyncio.sleep(0.3)
            waiting = [len(await store.posted(None))]
            monkeypatch.setattr(keeper, "AGAIN_SECONDS", 0.1)
            async with asyncio.timeout(10):
                while await store.posted(None):  # noqa: ASYNC110 -- nobody is told
                    await asyncio.sleep(0.02)
            await keeping.stop()
            return store.claims, waiting

    assert stage.play(story) == (0, [1])


class Counted(sqlite_log.SqliteLog):
    """Counts the commits that it has to make durable one by one, and how often all notes of a kind are read."""

    commits = 0
    readings = 0

    async def append(self, batch: Sequence[log.Append]) -> None:
        self.commits += 1
        await super().append(batch)

    async def note(self, key: str, document: JsonObject, *, at: int, first: bool = False) -> bool:
        self.commits += 1
        return await super().note(key, document, at=at, first=first)

    async def note_all(self, documents: Mapping[str, JsonObject], *, at: int) -> None:
        self.commits += 1
        await super().note_all(documents, at=at)

    async def notes(self, prefix: str) -> Mapping[str, JsonObject]:
        self.readings += 1
        return await super().notes(prefix)


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
def test_many_runs_are_stopped_and_taken_up_in_few_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, killed: bool
) -> None:
    """On a slow disk a server would neither end nor answer for minutes."""
    monkeypatch.setattr(keeper, "LOOK_SECONDS", 60)
    many = 100

    async def work(_: openskelo.Context) -> dict[str, Json]:
        await asyncio.sleep(60)
        return {}

    async def begun(store: Counted) -> None:
        async with stage.open_engine(tmp_path, store, work=work) as engine:
            keeping = keeper.Keeper(engine)
            await keeping.start()
            for _ in range(many):
                await engine.start(stage.workflow(stage.block("work")))
            store.commits = 0
            if not killed:
                await keeping.stop()
            else:
                await stop(keeping)
            assert store.commits < many / 4

    async def story() -> None:
        await datadir.open_log(tmp_path / ".skelo").close()
        await begun(Counted(tmp_path / ".skelo"))
        store = Counted(tmp_path / ".skelo")
        async with stage.open_engine(tmp_path, store, work=work) as engine:
            keeping = keeper.Keeper(engine)
            await keeping.start()
            while len(engine.holding.driven()) < many:  # noqa: ASYNC110 -- nobody is told
                await asyncio.sleep(0.01)
            assert (store.commits < many / 4, store.readings <= 2) == (True, True)
            await stop(keeping)

    async def stop(keeping: keeper.Keeper) -> None:
        """As if the process were killed, as far as that can be had in one that goes on."""
        task = next(task for task in asyncio.all_tasks() if task.get_name() == "skelo-keeper")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stage.play(story)
