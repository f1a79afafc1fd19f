"""Runs that other processes of one engine drive: begun, waited for, answered, stopped, and gone on with when lost."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import cast

import pytest

import openskelo
from openskelo.engine import keeper, verify
from openskelo.executors import calling, task
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config
from tests.engine import stage
from tests.engine.fleet import work
from tests.providers.servers import loopback, openai_chat

HANDLERS: dict[str, calling.Handler] = {
    "where": work.where,
    "note": work.note,
    "die_once": work.die_once,
    "hold": work.hold,
}
PID: dict[str, Json] = {"pid": "integer"}
FOLDER: dict[str, Json] = {"folder": "string"}
WHERE = stage.workflow(stage.block("where", outputs=PID))
HELD = stage.workflow(
    stage.block("note", inputs={"folder": {"type": "string", "from": "inputs.folder"}}, outputs=FOLDER),
    stage.block("hold", inputs={"folder": {"type": "string", "from": "note.folder"}}, outputs=PID),
    inputs=FOLDER,
)
ASKING = stage.workflow(
    stage.block("where", outputs=PID),
    {"id": "ask", "mode": "approval", "prompt": "Go on?", "inputs": {"n": {"type": "integer", "from": "where.pid"}}},
)

WRITING = stage.workflow({"id": "write", "prompt": "Write.", "outputs": {"text": "string"}})


@asynccontextmanager
async def fleet(root: Path, processes: int = 2, **more: calling.Handler) -> AsyncGenerator[openskelo.Engine]:
    """An engine of several processes; every run that it leaves behind must verify."""
    project = openskelo.Project(root=root, data_dir=root / ".skelo")
    async with await openskelo.Engine.open(project, handlers={**HANDLERS, **more}, processes=processes) as engine:
        yield engine
        for row in await engine.store.rows(limit=1000):
            proof = await verify.verify_run(engine.store, row.run_id)
            assert proof.intact, proof.problems


def pid_of(document: JsonObject, node: str) -> int:
    outputs = cast("JsonObject", stage.node(document, node)["outputs"])
    return cast("int", outputs["pid"])


async def until(true: Callable[[], bool]) -> None:
    while not true():  # noqa: ASYNC110 -- another process makes it so
        await asyncio.sleep(0.01)


def held_by(folder: Path) -> dict[str, int]:
    """The process that holds each run."""
    return {path.stem: int(path.read_text() or 0) for path in folder.glob("*.held")}


def children() -> set[int]:
    """The processes that this one has started and that live."""
    found = subprocess.run(
        ["ps", "-o", "pid=,stat=,comm=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=False
    ).stdout
    listed = [line.split() for line in found.splitlines()]
    return {int(pid) for pid, state, program, *_ in listed if "Z" not in state and program != "ps"}


def test_runs_at_once_are_shared_among_the_processes_and_come_to_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        async with fleet(tmp_path, 3) as engine:
            run_ids = await asyncio.gather(*(engine.start(WHERE) for _ in range(30)))
            documents = [await engine.wait(run_id) for run_id in run_ids]
            assert [document["ending"] for document in documents] == ["ok"] * 30
            pids = [pid_of(document, "where") for document in documents]
            assert sorted(pids.count(pid) for pid in set(pids)) == [10, 10, 10]
            assert os.getpid() in pids
            assert [await engine.show(run_id) for run_id in run_ids] == documents

    stage.play(story)


def test_how_a_run_of_another_process_ended_is_told_also_long_after_and_when_it_was_pruned(tmp_path: Path) -> None:
    async def story() -> None:
        async with fleet(tmp_path) as engine:
            run_ids = [await engine.start(WHERE) for _ in range(6)]
            for run_id in run_ids:
                await until(lambda run_id=run_id: not engine.is_under_way(run_id, ("where", 1, 1, None)))
            documents = [await engine.wait(run_id) for run_id in run_ids]
            assert [document["ending"] for document in documents] == ["ok"] * 6
            assert [await engine.show(run_id) for run_id in run_ids] == documents
            await engine.prune(run_ids)
            for run_id in run_ids:
                with pytest.raises(openskelo.NotFound) as error:
                    await engine.wait(run_id)
                assert error.value.code == "RUN_PRUNED"

    stage.play(story)


def test_a_single_run_is_begun_by_another_process_while_this_one_looks_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with fleet(tmp_path) as engine:
            run_id = await engine.start(WHERE, run_id="8c0e5a6e-6e7a-4a46-9d0e-5f6f3c1f2a11")
            told = [event["type"] async for event in engine.follow(run_id)]
            assert (told[0], told[-1]) == ("run.created", "run.ended")
            assert pid_of(await engine.wait(run_id), "where") != os.getpid()
            with pytest.raises(openskelo.Refused, match="exists already"):
                await engine.start(WHERE, run_id=run_id)

    stage.play(story)


def test_one_run_that_two_processes_begin_at_once_is_begun_by_one_of_them(tmp_path: Path) -> None:
    async def story() -> None:
        pids: set[int] = set()
        async with fleet(tmp_path) as engine:
            for _ in range(100):
                run_id = str(uuid.uuid4())
                starts = (engine.start(WHERE, run_id=run_id) for _ in range(2))
                told = await asyncio.gather(*starts, return_exceptions=True)
                assert sorted(getattr(one, "code", "begun") for one in told) == ["RUN_EXISTS", "begun"]
                pids.add(pid_of(await engine.wait(run_id), "where"))
            assert not any(engine.is_under_way(row.run_id, ("where", 1, 1, None)) for row in await engine.store.rows())
        assert os.getpid() in pids

    stage.play(story)


def test_a_large_definition_reaches_another_process(tmp_path: Path) -> None:
    flow = stage.workflow(stage.block("where", outputs=PID, description="long " * 20_000))

    async def story() -> None:
        async with fleet(tmp_path) as engine:
            run_ids = await asyncio.gather(*(engine.start(flow) for _ in range(4)))
            documents = [await engine.wait(run_id) for run_id in run_ids]
            assert [document["ending"] for document in documents] == ["ok"] * 4
            assert len({pid_of(document, "where") for document in documents}) == 2

    stage.play(story)


def test_what_waits_in_another_process_waits_no_longer_where_the_clock_here_is_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, hour = time.time_ns, 3_600_000_000_000
    flow = stage.workflow(stage.block("later", outputs=PID, retry={"max_attempts": 2}))

    async def story() -> None:
        async with fleet(tmp_path, later=work.later) as engine:
            monkeypatch.setattr(time, "time_ns", lambda: real() + hour)  # as after a run from the future was resumed
            run_id = await engine.start(flow)
            async with asyncio.timeout(5):
                document = await engine.wait(run_id)
            assert pid_of(document, "later") != os.getpid()
            used = cast("JsonObject", cast("JsonObject", document["budget"])["wallMs"])["used"]
            assert cast("int", used) >= 100

    stage.play(story)


def test_an_answer_reaches_a_run_that_waits_in_another_process(tmp_path: Path) -> None:
    async def story() -> None:
        async with fleet(tmp_path) as engine:
            run_id = await engine.start(ASKING)
            document = await engine.wait(run_id)
            assert pid_of(document, "where") != os.getpid()
            (asked,) = cast("list[JsonObject]", document["approvals"])
            await engine.answer(cast("str", asked["id"]), status="approved", by="ann")
            assert (await engine.wait(run_id))["ending"] == "ok"

    stage.play(story)


def test_a_run_of_another_process_is_cancelled(tmp_path: Path) -> None:
    async def story() -> None:
        async with fleet(tmp_path) as engine:
            run_id = await engine.start(HELD, {"folder": str(tmp_path)})
            await until(lambda: run_id in held_by(tmp_path))
            await engine.cancel(run_id, by="ann")
            assert (await engine.wait(run_id))["ending"] == "cancelled"

    stage.play(story)


def test_the_runs_of_a_lost_process_go_on_here_and_repeat_no_finished_step(tmp_path: Path) -> None:
    async def story() -> None:
        async with fleet(tmp_path) as engine:
            run_ids = await asyncio.gather(*(engine.start(HELD, {"folder": str(tmp_path)}) for _ in range(6)))
            await until(lambda: len(held_by(tmp_path)) == 6 and all(held_by(tmp_path).values()))
            waiting = [asyncio.ensure_future(engine.wait(run_id)) for run_id in run_ids]
            await asyncio.sleep(0)
            (mate,) = set(held_by(tmp_path).values()) - {os.getpid()}
            os.kill(mate, signal.SIGKILL)
            await until(lambda: set(held_by(tmp_path).values()) == {os.getpid()})
            (tmp_path / "go").touch()
            documents = await asyncio.gather(*waiting)
            assert [document["ending"] for document in documents] == ["ok"] * 6
            assert {pid_of(document, "hold") for document in documents} == {os.getpid()}
            noted = [(tmp_path / f"{run_id}.noted").read_text().splitlines() for run_id in run_ids]
            assert [len(lines) for lines in noted] == [1] * 6
            later = await engine.start(WHERE)
            assert pid_of(await engine.wait(later), "where") == os.getpid()

    stage.play(story)


def test_work_that_kills_its_process_ends_where_it_is_gone_on_with(tmp_path: Path) -> None:
    flow = stage.workflow(
        stage.block("die_once", inputs={"spared": {"type": "integer", "from": "inputs.spared"}}, outputs=PID),
        inputs={"spared": "integer"},
    )

    async def story() -> None:
        async with fleet(tmp_path) as engine:
            run_id = await engine.start(flow, {"spared": os.getpid()})
            document = await engine.wait(run_id)
            assert (document["ending"], pid_of(document, "die_once")) == ("ok", os.getpid())

    stage.play(story)


def test_suspending_stops_the_runs_of_all_processes_and_another_engine_resumes_them(tmp_path: Path) -> None:
    async def story() -> None:
        async with fleet(tmp_path) as engine:
            run_ids = await asyncio.gather(*(engine.start(HELD, {"folder": str(tmp_path)}) for _ in range(4)))
            await until(lambda: len(held_by(tmp_path)) == 4 and all(held_by(tmp_path).values()))
            assert len(set(held_by(tmp_path).values())) == 2
            await engine.suspend(by="ann")
            assert [(await engine.wait(run_id))["status"] for run_id in run_ids] == ["paused"] * 4
        (tmp_path / "go").touch()
        async with fleet(tmp_path, 1) as engine:
            for run_id in run_ids:
                await engine.resume(run_id)
                assert (await engine.wait(run_id))["ending"] == "ok"

    stage.play(story)


def test_a_run_that_another_process_has_paused_is_resumed_there(tmp_path: Path) -> None:
    async def story() -> None:
        async with fleet(tmp_path) as engine:
            run_id = await engine.start(HELD, {"folder": str(tmp_path)})
            await until(lambda: bool(held_by(tmp_path).get(run_id)))
            await engine.resume(run_id)  # nothing is to be done
            await engine.suspend(by="ann")
            assert (await engine.wait(run_id))["status"] == "paused"
            (tmp_path / "go").touch()
            await engine.resume(run_id, by="ann")
            document = await engine.wait(run_id)
            assert document["ending"] == "ok"
            assert pid_of(document, "hold") != os.getpid()
            assert (await stage.types(engine, run_id)).count("run.resumed") == 1

    stage.play(story)


def test_closing_ends_the_processes_and_leaves_runs_that_can_be_resumed(tmp_path: Path) -> None:
    async def story() -> None:
        before = children()
        async with fleet(tmp_path, 3) as engine:
            assert len(children() - before) >= 2
            run_ids = await asyncio.gather(*(engine.start(HELD, {"folder": str(tmp_path)}) for _ in range(3)))
            await until(lambda: len(held_by(tmp_path)) == 3)
        assert children() <= before
        (tmp_path / "go").touch()
        async with fleet(tmp_path, 1) as engine:
            for run_id in run_ids:
                await engine.resume(run_id)
                assert (await engine.wait(run_id))["ending"] == "ok"

    stage.play(story)


def test_whoever_waits_for_a_run_of_another_process_is_told_that_the_engine_was_closed(tmp_path: Path) -> None:
    async def story() -> None:
        async with fleet(tmp_path) as engine:
            run_id = await engine.start(HELD, {"folder": str(tmp_path)})
            await until(lambda: run_id in held_by(tmp_path))
            waiting = asyncio.ensure_future(engine.wait(run_id))
            await asyncio.sleep(0)
        with pytest.raises(openskelo.OpenSkeloError) as error:
            await waiting
        assert error.value.code == "ENGINE_CLOSED"
        with pytest.raises(openskelo.OpenSkeloError) as error:
            await engine.start(WHERE)
        assert error.value.code == "ENGINE_CLOSED"

    stage.play(story)


def test_an_engine_of_several_processes_is_used_in_the_loop_that_opened_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with fleet(tmp_path) as engine:
            with pytest.raises(openskelo.InvalidInput) as error:
                await asyncio.to_thread(lambda: asyncio.run(engine.start(WHERE)))
            assert error.value.code == "ENGINE_LOOP"

    stage.play(story)


def test_a_killed_engine_takes_its_processes_with_it(tmp_path: Path) -> None:
    script = (
        "import asyncio, pathlib\n"
        "from tests.engine.fleet import test_fleet\n"
        f"root = pathlib.Path({str(tmp_path)!r})\n"
        "async def main():\n"
        "    async with test_fleet.fleet(root) as engine:\n"
        "        await engine.start(test_fleet.HELD, {'folder': str(root)})\n"
        "        await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )

    async def story() -> None:
        with started(script) as program:
            await until(lambda: all(held_by(tmp_path).values()) and len(held_by(tmp_path)) == 1)
            (mate,) = held_by(tmp_path).values()
            assert mate != program.pid
            program.kill()
        await until(lambda: not Path(f"/proc/{mate}").exists() or "Z" in state_of(mate))

    stage.play(story)


def started(script: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(Path.cwd())})


def state_of(pid: int) -> str:
    """As `ps` says it; `Z` of one that has ended, whether or not anybody has waited for it."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return found.stdout or "Z"


@contextmanager
def speaking(root: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[openskelo.Project]:
    """A project whose model says something."""
    monkeypatch.setenv("WRITER_KEY", loopback.KEY)
    with loopback.Loopback(openai_chat.OpenAI(), [loopback.Say(text='{"text":"Once upon a time"}')]).running() as model:
        writer = config.ProviderConfig(
            name="w", kind="openai", base_url=model.base_url, api_key="${env:WRITER_KEY}", model="m", timeout_ms=5000
        )
        experts = {"writer": config.ExpertConfig(name="writer", provider="w")}
        models = config.Config(providers={"w": writer}, experts=experts, default_expert="writer")
        yield openskelo.Project(root=root, data_dir=root / ".skelo", models=models)


def test_what_a_model_says_to_another_process_is_heard_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[str, str, int, str]] = []

    def hear(of: task.Task, text: str) -> None:
        heard.append((of.run_id, of.node.key, of.attempt, text))

    async def story(project: openskelo.Project) -> None:
        async with await openskelo.Engine.open(project, on_text=hear, processes=2) as engine:
            run_id = await engine.start(WRITING)
            assert not engine.holding.is_driving(run_id)
            document = await engine.wait(run_id)
            assert document["ending"] == "ok", document
        assert {said[:3] for said in heard} == {(run_id, "write", 1)}
        assert "".join(said[3] for said in heard) == '{"text":"Once upon a time"}'

    with speaking(tmp_path, monkeypatch) as project:
        stage.play(lambda: story(project))


def test_what_another_process_logs_is_logged_here(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    flow = stage.workflow(stage.block("complain", outputs={}))

    async def story() -> None:
        before = children()
        async with fleet(tmp_path, complain=work.complain) as engine:
            started = children() - before
            assert (await engine.wait(await engine.start(flow)))["ending"] == "ok"
        (told,) = [record for record in caplog.records if record.name == "tests.complaints"]
        assert (told.levelname, told.getMessage()) == ("WARNING", "it is cold in here")
        assert {told.process} == started
        assert (Path(told.pathname).name, told.funcName) == ("work.py", "_complain")
        assert (told.exc_text or "").endswith("ValueError: cold")

    stage.play(story)


def test_mates_of_an_engine_that_keeps_runs_going_keep_them_going_too(tmp_path: Path) -> None:
    async def story() -> None:
        async with fleet(tmp_path, 3) as engine:
            keeping = keeper.Keeper(engine)
            await keeping.start()
            run_ids = await asyncio.gather(*(engine.start(HELD, {"folder": str(tmp_path)}) for _ in range(3)))
            await until(lambda: len(held_by(tmp_path)) == 3 and all(held_by(tmp_path).values()))
            lost, *_ = set(held_by(tmp_path).values()) - {os.getpid()}
            os.kill(lost, signal.SIGKILL)
            await until(lambda: lost not in held_by(tmp_path).values())
            (tmp_path / "go").touch()
            for run_id in run_ids:
                assert (await engine.wait(run_id))["ending"] == "ok"
            asking = await engine.start(ASKING)
            (asked,) = cast("list[JsonObject]", (await engine.wait(asking))["approvals"])
            while await engine.store.driver_alive(asking):  # noqa: ASYNC110 -- it is put aside, wherever it was
                await asyncio.sleep(0.05)
            await engine.answer(cast("str", asked["id"]), status="approved", by="ann")
            assert (await engine.wait(asking))["ending"] == "ok"
            await keeping.stop()

    stage.play(story)


def opening(root: Path, **how: object) -> Callable[[], object]:
    project = openskelo.Project(root=root, data_dir=root / ".skelo")
    return lambda: asyncio.run(openskelo.Engine.open(project, **how))  # pyright: ignore[reportArgumentType] -- on purpose


def test_what_belongs_to_one_process_is_refused_and_nothing_is_started(tmp_path: Path) -> None:
    async def here(ctx: openskelo.Context) -> JsonObject:
        return ctx.inputs

    refused = {
        "provider": {"provider": object()},
        "store": {"store": object()},
        "a function in a function": {"handlers": {"here": here}},
    }
    before = children()
    for how in refused.values():
        with pytest.raises(openskelo.InvalidInput) as error:
            opening(tmp_path, processes=2, **how)()
        assert error.value.code == "ENGINE_PROCESSES"
    for number in (0, -1, 65, "2", None, 1.5):
        with pytest.raises(openskelo.InvalidInput) as error:
            opening(tmp_path, processes=number)()
        assert error.value.code == "USAGE"
    assert children() <= before
    assert not (tmp_path / ".skelo").exists()


def test_a_handler_that_only_this_process_can_import_is_refused_and_no_process_is_left(tmp_path: Path) -> None:
    before = children()
    with pytest.raises(openskelo.InvalidInput) as error:
        opening(tmp_path, processes=3, handlers={"there": work.OnlyThere()})()
    assert error.value.code == "ENGINE_PROCESSES"
    assert "no module named elsewhere" in error.value.message
    assert children() <= before


def test_a_process_that_was_steady_is_replaced_when_it_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from openskelo.engine.fleet import mates

    monkeypatch.setattr(mates, "STEADY_SECONDS", 0.0)

    async def story() -> None:
        async with fleet(tmp_path) as engine:
            first = pid_of(await engine.wait(await engine.start(WHERE)), "where")
            os.kill(first, signal.SIGKILL)
            second = os.getpid()
            while second in (os.getpid(), first):
                second = pid_of(await engine.wait(await engine.start(WHERE)), "where")
                await asyncio.sleep(0.02)

    stage.play(story)
