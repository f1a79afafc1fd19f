"""Trouble with the processes of an engine: none is left behind, and none is lost over what somebody else does wrong."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

import openskelo
from openskelo.engine import keeper
from openskelo.engine.fleet import mate, mates
from openskelo.executors import task
from openskelo.kernel.json import Json
from tests.engine import stage
from tests.engine.fleet import test_fleet, work
from tests.engine.fleet.test_fleet import HELD, PID, WHERE, children, fleet, held_by, pid_of, speaking, until


@pytest.mark.parametrize("turns", [1, 2, 3, 4, 5, 6, 8])
def test_opening_that_is_given_up_leaves_no_process(tmp_path: Path, turns: int) -> None:
    async def story() -> None:
        before = children()
        opening = asyncio.ensure_future(openskelo.Engine.open(openskelo.project_at(tmp_path), processes=3))
        for _ in range(turns):
            await asyncio.sleep(0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        assert children() <= before
        assert len(asyncio.all_tasks()) == 1

    stage.play(story)


@pytest.mark.parametrize("what", ["socket.socketpair", "subprocess.Popen"])
def test_a_system_that_has_nothing_left_for_another_process_is_told_with_a_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    async def story() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(what, refuse)
            with pytest.raises(openskelo.OpenSkeloError) as told:
                await openskelo.Engine.open(openskelo.project_at(tmp_path), processes=2)
        assert (told.value.code, told.value.message) == (
            "ENGINE_PROCESSES",
            "another process cannot be started: Too many open files",
        )
        assert len(asyncio.all_tasks()) == 1

    stage.play(story)


def forked() -> subprocess.Popen[bytes]:
    """A process that has every socket of this one open, as a fork has."""
    opened = {path.name: str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}
    sockets = [int(name) for name, target in opened.items() if target.startswith("socket:")]
    return subprocess.Popen(["sleep", "60"], pass_fds=sockets)


def test_a_fork_of_the_program_does_not_hold_up_the_end_of_its_processes(tmp_path: Path) -> None:
    async def story() -> None:
        async with fleet(tmp_path):
            fork = forked()
            closing_at = time.monotonic()
        assert time.monotonic() - closing_at < 10
        assert fork.poll() is None
        fork.kill()
        fork.wait()

    stage.play(story)


def test_a_process_that_is_about_to_be_replaced_when_the_engine_closes_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mates, "STEADY_SECONDS", 0.0)

    async def story() -> None:
        before = children()
        async with fleet(tmp_path) as engine:
            (first,) = children() - before
            os.kill(first, signal.SIGKILL)
            await until(lambda: bool(children() - before - {first}))
            assert (await engine.wait(await engine.start(WHERE)))["ending"] == "ok"
        assert children() <= before
        assert len(asyncio.all_tasks()) == 1

    stage.play(story)


def test_a_process_that_cannot_be_replaced_at_once_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(mates, "STEADY_SECONDS", 0.0)
    monkeypatch.setattr(mates, "AGAIN_SECONDS", (0.05, 0.3))

    def told() -> list[str]:
        return [record.getMessage() for record in caplog.records if record.name == "openskelo.fleet"]

    async def story() -> None:
        before = children()
        async with fleet(tmp_path) as engine:
            (first,) = children() - before
            with monkeypatch.context() as patched:
                patched.setattr(sys, "executable", str(tmp_path / "no-such-python"))
                os.kill(first, signal.SIGKILL)
                await until(lambda: len(told()) == 3)
            await until(lambda: len(told()) == 4)
            run_id = await engine.start(WHERE)
            assert pid_of(await engine.wait(run_id), "where") not in (os.getpid(), first)
        assert children() <= before

    with caplog.at_level(logging.INFO, "openskelo.fleet"):
        stage.play(story)
    why = "ENGINE_PROCESSES another process cannot be started: No such file or directory"
    assert told() == [
        "a process that drove 0 runs was lost (signal SIGKILL): they go on here",
        f"it was not replaced ({why}), again in 0.05 s",
        f"it was not replaced ({why}), again in 0.3 s",
        "it was replaced: 2 processes drive runs",
    ]


def test_without_a_process_that_cannot_be_replaced_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(mates, "STEADY_SECONDS", 0.0)
    monkeypatch.setattr(mates, "AGAIN_SECONDS", (0.01,))

    async def story() -> None:
        before = children()
        async with fleet(tmp_path) as engine:
            (first,) = children() - before
            monkeypatch.setattr(sys, "executable", str(tmp_path / "no-such-python"))
            os.kill(first, signal.SIGKILL)
            await until(lambda: "one process drives runs" in caplog.text)
            assert pid_of(await engine.wait(await engine.start(WHERE)), "where") == os.getpid()

    stage.play(story)
    why = "ENGINE_PROCESSES another process cannot be started: No such file or directory"
    assert [record.getMessage() for record in caplog.records if record.name == "openskelo.fleet"][1:] == [
        f"it was not replaced ({why}), again in 0.01 s",
        f"it was not replaced ({why}), it is not tried again: one process drives runs",
    ]


def test_a_process_that_did_not_last_is_not_replaced_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        before = children()
        async with fleet(tmp_path, 3):
            os.kill(min(children() - before), signal.SIGKILL)
            await until(lambda: "not replaced" in caplog.text)

    stage.play(story)
    (told,) = [record.getMessage() for record in caplog.records if "not replaced" in record.getMessage()]
    assert re.fullmatch(r"it had lasted \d+ s, and is not replaced: 2 processes drive runs", told)


def test_a_path_with_entries_that_python_skips_or_cannot_write_is_handed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, tmp_path, b"/bytes", "/not-\udcff-utf-8"])

    async def story() -> None:
        async with fleet(tmp_path) as engine:
            assert pid_of(await engine.wait(await engine.start(WHERE)), "where") != os.getpid()

    stage.play(story)


def test_a_signal_to_all_processes_of_a_service_leaves_the_stopping_to_the_engine(tmp_path: Path) -> None:
    async def story() -> None:
        async with fleet(tmp_path) as engine:
            run_id = await engine.start(HELD, {"folder": str(tmp_path)})
            await until(lambda: bool(held_by(tmp_path).get(run_id)))
            there = held_by(tmp_path)[run_id]
            for number in (signal.SIGTERM, signal.SIGINT):
                os.kill(there, number)
            await asyncio.sleep(0.1)
            (tmp_path / "go").touch()
            document = await engine.wait(run_id)
            assert (document["ending"], pid_of(document, "hold")) == ("ok", there)

    stage.play(story)


def test_whoever_gives_up_waiting_leaves_nothing_in_the_other_process(tmp_path: Path) -> None:
    flow = stage.workflow(stage.block("tasks", outputs=PID))

    async def story() -> None:
        async with fleet(tmp_path, tasks=work.tasks) as engine:
            run_id = await engine.start(HELD, {"folder": str(tmp_path)})
            assert not engine.holding.is_driving(run_id)
            for _ in range(50):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.002):
                        await engine.wait(run_id)
            asked = await asyncio.gather(engine.start(flow), engine.start(flow))
            (there,) = [one for one in asked if not engine.holding.has_driven(one)]
            assert pid_of(await engine.wait(there), "tasks") < 20
            (tmp_path / "go").touch()
            assert (await engine.wait(run_id))["ending"] == "ok"

    stage.play(story)


def test_runs_of_a_process_that_is_lost_while_all_are_suspended_are_suspended(tmp_path: Path) -> None:
    async def story() -> None:
        async with fleet(tmp_path) as engine:
            run_ids = await asyncio.gather(*(engine.start(HELD, {"folder": str(tmp_path)}) for _ in range(4)))
            await until(lambda: len(held_by(tmp_path)) == 4 and all(held_by(tmp_path).values()))
            (lost,) = set(held_by(tmp_path).values()) - {os.getpid()}
            os.kill(lost, signal.SIGSTOP)
            suspending = asyncio.ensure_future(engine.suspend(by="ann"))
            await asyncio.sleep(0.1)
            os.kill(lost, signal.SIGKILL)
            await suspending
            assert [(await engine.wait(run_id))["status"] for run_id in run_ids] == ["paused"] * 4
            for run_id in run_ids:
                assert (await stage.types(engine, run_id)).count("run.paused") == 1

    stage.play(story)


def test_a_process_that_hangs_is_ended_while_all_are_suspended_and_its_work_is_not_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(mate, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(mate, "HANGS_SECONDS", 0.3)

    async def story() -> None:
        async with fleet(tmp_path) as engine:
            run_ids = await asyncio.gather(*(engine.start(HELD, {"folder": str(tmp_path)}) for _ in range(4)))
            await until(lambda: len(held_by(tmp_path)) == 4 and all(held_by(tmp_path).values()))
            held = held_by(tmp_path)
            (hanging,) = set(held.values()) - {os.getpid()}
            os.kill(hanging, signal.SIGSTOP)
            await engine.suspend(by="ann")
            assert [(await engine.wait(run_id))["status"] for run_id in run_ids] == ["paused"] * 4
            assert held_by(tmp_path) == held
            told = [await stage.types(engine, run_id) for run_id in run_ids if held[run_id] == hanging]
            assert [types[-3:] for types in told] == [["run.paused", "run.recovered", "attempt.interrupted"]] * 2
            (tmp_path / "go").touch()
            for run_id in run_ids:
                await engine.resume(run_id)
                assert (await engine.wait(run_id))["ending"] == "ok"

    stage.play(story)
    said = [record.getMessage() for record in caplog.records if record.name == "openskelo.fleet"]
    assert said[0] == "a process that drives 2 runs has not answered for 0.3 s"


def test_a_process_that_finishes_what_must_not_be_cut_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mate, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(mate, "HANGS_SECONDS", 0.5)
    given: dict[str, Json] = {"folder": {"type": "string", "from": "inputs.folder"}}
    flow = stage.workflow(stage.block("hold", inputs=given, outputs=PID, effect="once"), inputs={"folder": "string"})

    async def story() -> None:
        async with fleet(tmp_path) as engine:
            run_id = await engine.start(flow, {"folder": str(tmp_path)})
            await until(lambda: bool(held_by(tmp_path).get(run_id)))
            suspending = asyncio.ensure_future(engine.suspend(by="ann"))
            await asyncio.sleep(1.0)
            assert not suspending.done()
            (tmp_path / "go").touch()
            await suspending
            document = await engine.wait(run_id)
            assert pid_of(document, "hold") == held_by(tmp_path)[run_id] != os.getpid()

    stage.play(story)


def test_what_a_process_that_hangs_drove_goes_on_with_the_next_keeper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(mate, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(mate, "HANGS_SECONDS", 0.3)

    async def story() -> None:
        async with fleet(tmp_path) as engine:
            keeping = keeper.Keeper(engine)
            await keeping.start()
            run_id = await engine.start(HELD, {"folder": str(tmp_path)})
            await until(lambda: bool(held_by(tmp_path).get(run_id)))
            hanging = held_by(tmp_path)[run_id]
            assert hanging != os.getpid()
            os.kill(hanging, signal.SIGSTOP)
            await keeping.stop()
            assert "run.paused" not in await stage.types(engine, run_id)
        (tmp_path / "go").touch()
        async with fleet(tmp_path, 1) as engine:
            keeping = keeper.Keeper(engine)
            await keeping.start()
            await until(lambda: engine.holding.has_driven(run_id))
            assert pid_of(await engine.wait(run_id), "hold") == os.getpid()
            await keeping.stop()

    stage.play(story)
    assert [record.getMessage() for record in caplog.records if record.name == "openskelo.fleet"] == [
        "a process that drives 1 runs has not answered for 0.3 s",
        "a process that drove 1 runs was lost (signal SIGKILL): they are left to whoever keeps runs going next",
    ]


def test_a_listener_that_fails_does_not_lose_the_process_that_it_listens_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[object] = []

    def refuse(of: task.Task, text: str) -> None:
        raise ValueError(text)

    async def story(project: openskelo.Project) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context["exception"]))
        async with await openskelo.Engine.open(project, on_text=refuse, processes=2) as engine:
            run_id = await engine.start(test_fleet.WRITING)
            assert not engine.holding.is_driving(run_id)
            assert engine.is_under_way(run_id, ("write", 1, 1, None))
            assert (await engine.wait(run_id))["ending"] == "ok"
            assert not engine.holding.has_driven(run_id)
        assert {type(error) for error in told} == {ValueError}

    with speaking(tmp_path, monkeypatch) as project:
        stage.play(lambda: story(project))


def test_what_is_logged_badly_or_in_a_thread_of_another_process_does_no_harm(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    flow = stage.workflow(stage.block("complain_badly", outputs={}))

    async def story() -> None:
        async with fleet(tmp_path, complain_badly=work.complain_badly) as engine:
            run_id = await engine.start(flow)
            assert (await engine.wait(run_id))["ending"] == "ok"
            assert not engine.holding.has_driven(run_id)

    with caplog.at_level(logging.INFO):
        stage.play(story)
    told = [record.getMessage() for record in caplog.records if record.name == "tests.complaints"]
    assert sorted(told) == ["it is winter", "said in a thread"]
    assert "--- Logging error ---" in capfd.readouterr().err


@pytest.mark.slow
def test_a_run_that_trouble_with_the_store_took_from_another_process_is_resumed_here(tmp_path: Path) -> None:
    async def story() -> None:
        async with fleet(tmp_path) as engine:
            run_id = await engine.start(HELD, {"folder": str(tmp_path)})
            await until(lambda: bool(held_by(tmp_path).get(run_id)))
            assert not engine.holding.is_driving(run_id)
            with closing(sqlite3.connect(tmp_path / ".skelo" / "log.db")) as somebody:
                somebody.execute("begin immediate")
                (tmp_path / "go").touch()
                asked = (engine.wait(run_id), engine.start(WHERE), engine.start(WHERE))
                told = await asyncio.gather(*asked, return_exceptions=True)
                assert [getattr(error, "code", None) for error in told] == ["STORE_BUSY"] * 3
                somebody.rollback()
            while await engine.store.driver_alive(run_id):  # noqa: ASYNC110 -- another process makes it so
                await asyncio.sleep(0.05)
            assert (await engine.wait(run_id))["status"] == "running"
            await asyncio.sleep(0.5)
            with closing(sqlite3.connect(tmp_path / ".skelo" / "log.db")) as look:
                assert look.execute("select count(*) from runs").fetchone() == (1,)  # nothing is left of the others
            await engine.resume(run_id)
            document = await engine.wait(run_id)
            assert (document["ending"], pid_of(document, "hold")) == ("ok", os.getpid())

    stage.play(story)
