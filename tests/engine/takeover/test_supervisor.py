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
from openskelo.engine import local
from openskelo.engine.commands import command_codec
from openskelo.engine.takeover import supervisor
from openskelo.kernel import commands
from openskelo.kernel.json import Json, JsonObject
from openskelo.stores import api
from openskelo.stores.sqlite import connection as sqlite_connection
from openskelo.stores.sqlite import data_dir
from openskelo.stores.sqlite import sqlite_store as sqlite_log
from tests.engine import stage

ASKING = stage.workflow({"id": "ask", "mode": "approval", "approval": {"prompt": "Go on?", "timeout_sec": 600}})


async def _until_put_aside(engine: local.Engine, run_id: str) -> None:
    async with asyncio.timeout(10):
        while engine.ownership.is_driving(run_id):  # noqa: ASYNC110 -- only the clock brings it about
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
            keeping = supervisor.Supervisor(engine)
            await keeping.start()
            try:
                await _until_put_aside(engine, broken)
                other = await engine.start(ASKING)
                await engine.wait(other)
                await _until_put_aside(engine, other)
            finally:
                await keeping.stop()

    with caplog.at_level(logging.ERROR, "openskelo.supervisor"):
        stage.play(story)
    (told,) = caplog.records  # once, not every second
    assert (told.getMessage(), told.exc_info is not None) == ("the supervisor failed at learn_expiries", True)


@pytest.mark.slow
def test_a_run_whose_driver_died_is_found_behind_any_number_that_others_drive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "PAGE", 2)
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
            keeping = supervisor.Supervisor(engine)
            await keeping.start()
            try:
                async with asyncio.timeout(120):
                    while (await engine.show(left))["ending"] is None:  # noqa: ASYNC110 -- only the clock brings it about
                        await asyncio.sleep(0.05)
                return (await engine.wait(left))["ending"], [
                    run_id for run_id in busy if other.ownership.is_driving(run_id)
                ]
            finally:
                await keeping.stop()

    ending, busy = stage.play(story)
    assert (ending, len(busy)) == ("ok", 5)


@pytest.mark.slow
def test_runs_that_a_log_held_by_another_program_has_stopped_are_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_connection, "BUSY_SECONDS", 0.1)
    monkeypatch.setattr(supervisor, "CHECK_SECONDS", 0.05)
    go = asyncio.Event()

    async def work(_: openskelo.Context) -> dict[str, Json]:
        await go.wait()
        return {}

    async def story() -> tuple[str, object]:
        async with stage.engine(tmp_path, work=work) as engine:
            keeping = supervisor.Supervisor(engine)
            await keeping.start()
            try:
                run_id = await engine.start(stage.workflow(stage.block("work")))
                with contextlib.closing(sqlite3.connect(engine.project.data_dir / "log.db")) as other:
                    other.execute("BEGIN IMMEDIATE")
                    go.set()
                    with pytest.raises(errors.StoreError) as caught:
                        await engine.wait(run_id)
                async with asyncio.timeout(120):
                    while (await engine.show(run_id))["ending"] is None:  # noqa: ASYNC110 -- only the clock brings it about
                        await asyncio.sleep(0.02)
                return caught.value.code, (await engine.wait(run_id))["ending"]
            finally:
                await keeping.stop()

    assert stage.play(story) == ("STORE_BUSY", "ok")


class Claims(sqlite_log.SqliteStore):
    """Counts how often a run was claimed."""

    claims = 0

    async def claim_run(self, run_id: str) -> bool:
        self.claims += 1
        return await super().claim_run(run_id)


@pytest.mark.slow
def test_what_was_posted_for_a_run_that_has_ended_moves_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever posted it was killed before it could be told: it goes after a while, and no log is read for it."""
    monkeypatch.setattr(supervisor, "CHECK_SECONDS", 0.01)

    async def story() -> tuple[int, list[int]]:
        await data_dir.open_store(tmp_path / ".skelo").close()
        store = Claims(tmp_path / ".skelo")
        async with stage.engine(tmp_path, store) as engine:
            run_id = await engine.start(ASKING)
            await engine.cancel(run_id)
            await engine.wait(run_id)
            await store.queue_command(run_id, command_codec.encode_command(commands.CancelRun(at=0, by="ann")))
            keeping = supervisor.Supervisor(engine)
            await keeping.start()
            await asyncio.sleep(0.3)
            waiting = [len(await store.list_commands(None))]
            monkeypatch.setattr(supervisor, "RETRY_SECONDS", 0.1)
            async with asyncio.timeout(10):
                while await store.list_commands(None):  # noqa: ASYNC110 -- nobody is told
                    await asyncio.sleep(0.02)
            await keeping.stop()
            return store.claims, waiting

    assert stage.play(story) == (0, [1])


class Counted(sqlite_log.SqliteStore):
    """Counts the commits that it has to make durable one by one, and how often all notes of a kind are read."""

    commits = 0
    readings = 0

    async def append(self, batch: Sequence[api.Append]) -> None:
        self.commits += 1
        await super().append(batch)

    async def save_note(self, key: str, document: JsonObject, *, at: int, first: bool = False) -> bool:
        self.commits += 1
        return await super().save_note(key, document, at=at, first=first)

    async def save_notes(self, documents: Mapping[str, JsonObject], *, at: int) -> None:
        self.commits += 1
        await super().save_notes(documents, at=at)

    async def list_notes(self, prefix: str) -> Mapping[str, JsonObject]:
        self.readings += 1
        return await super().list_notes(prefix)


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
def test_many_runs_are_stopped_and_taken_up_in_few_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, killed: bool
) -> None:
    """On a slow disk a server would neither end nor answer for minutes."""
    monkeypatch.setattr(supervisor, "CHECK_SECONDS", 60)
    many = 100

    async def work(_: openskelo.Context) -> dict[str, Json]:
        await asyncio.sleep(60)
        return {}

    async def begun(store: Counted) -> None:
        async with stage.open_engine(tmp_path, store, work=work) as engine:
            keeping = supervisor.Supervisor(engine)
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
        await data_dir.open_store(tmp_path / ".skelo").close()
        await begun(Counted(tmp_path / ".skelo"))
        store = Counted(tmp_path / ".skelo")
        async with stage.open_engine(tmp_path, store, work=work) as engine:
            keeping = supervisor.Supervisor(engine)
            await keeping.start()
            while len(engine.ownership.unpaused_runs()) < many:  # noqa: ASYNC110 -- nobody is told
                await asyncio.sleep(0.01)
            assert (store.commits < many / 4, store.readings <= 2) == (True, True)
            await stop(keeping)

    async def stop(keeping: supervisor.Supervisor) -> None:
        """As if the process were killed, as far as that can be had in one that goes on."""
        task = next(task for task in asyncio.all_tasks() if task.get_name() == "skelo-supervisor")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stage.play(story)
