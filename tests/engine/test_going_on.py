"""Stopping and going on: cancel, suspend, resume, fork."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

import openskelo
from openskelo.engine.takeover import supervisor
from openskelo.history import verify
from openskelo.kernel import commands
from openskelo.kernel.json import Json
from tests.engine import stage

NUMBER: dict[str, Json] = {"n": "integer"}


class Gate:
    """Handlers that count their calls; `slow` waits until it is let go."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.open = asyncio.Event()
        self.started = asyncio.Event()

    async def first(self, ctx: openskelo.Context) -> dict[str, Json]:
        self.calls.append("first")
        return {"n": 1}

    async def slow(self, ctx: openskelo.Context) -> dict[str, Json]:
        self.calls.append("slow")
        self.started.set()
        await self.open.wait()
        return {"n": cast("int", ctx.inputs["n"]) + 1}


def flow(**slow: Json) -> openskelo.Workflow:
    return stage.workflow(
        stage.block("first", outputs=NUMBER),
        stage.block("slow", inputs={"n": {"type": "integer", "from": "first.n"}}, outputs=NUMBER, **slow),
    )


def test_cancel_ends_everything_under_way(tmp_path: Path) -> None:
    async def story() -> None:
        gate = Gate()
        async with stage.engine(tmp_path, first=gate.first, slow=gate.slow) as engine:
            run_id = await engine.start(flow())
            await gate.started.wait()
            await engine.cancel(run_id, by="ann", reason="enough")
            document = await engine.wait(run_id)
            assert (document["status"], document["ending"]) == ("failed", "cancelled")
            assert stage.node(document, "slow")["outcome"] == "cancelled"
            with pytest.raises(openskelo.Refused):
                await engine.cancel(run_id, by="ann")

    stage.play(story)


@pytest.mark.parametrize("order", ["cancel", "pause"])
def test_an_order_for_a_run_whose_process_is_gone_starts_no_work_before_it(tmp_path: Path, order: str) -> None:
    async def story() -> None:
        gate = Gate()
        async with stage.engine(tmp_path, first=gate.first, slow=gate.slow) as engine:
            run_id = await engine.start(flow())
            await gate.started.wait()
        async with stage.engine(tmp_path, first=gate.first, slow=gate.slow) as engine:
            await (engine.cancel if order == "cancel" else engine.pause)(run_id, by="ann")
            document = await engine.wait(run_id)
            assert (document["status"], stage.node(document, "slow")["attempts"]) == (
                "failed" if order == "cancel" else "paused",
                1,
            )
            assert gate.calls == ["first", "slow"]
            assert (await verify.verify_run(engine.store, run_id)).intact

    stage.play(story)


def test_a_suspended_run_goes_on_without_repeating_finished_steps(tmp_path: Path) -> None:
    async def story() -> None:
        gate = Gate()
        async with stage.engine(tmp_path, first=gate.first, slow=gate.slow) as engine:
            run_id = await engine.start(flow())
            await gate.started.wait()
            await engine.suspend(by="ann")
            assert (await engine.show(run_id))["status"] == "paused"
        gate.open.set()
        async with stage.engine(tmp_path, first=gate.first, slow=gate.slow) as engine:
            await engine.resume(run_id)
            document = await engine.wait(run_id)
            assert document["outputs"] == {"n": 2}
        assert gate.calls == ["first", "slow", "slow"]

    stage.play(story)


def test_suspending_lets_a_once_effect_finish(tmp_path: Path) -> None:
    async def story() -> None:
        gate = Gate()
        async with stage.engine(tmp_path, first=gate.first, slow=gate.slow) as engine:
            run_id = await engine.start(flow(effect="once"))
            await gate.started.wait()
            asyncio.get_running_loop().call_later(0.05, gate.open.set)
            await engine.suspend(by="ann")
            document = await engine.show(run_id)
            assert stage.node(document, "slow")["outcome"] == "succeeded"
            assert (document["status"], document["outputs"]) == ("completed", {"n": 2})  # nothing is left to do

    stage.play(story)


def test_suspending_ends_if_the_last_command_changes_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            run_id = await engine.start(stage.workflow({"id": "a", "mode": "approval", "approval": {"prompt": "?"}}))
            await engine.wait(run_id)
            driver = engine._driver  # pyright: ignore[reportPrivateUsage] -- the moment of the race
            driven = driver.runs.get(run_id)
            assert driven is not None

            async def tick_twice() -> None:
                await driver.submit(driven, commands.Tick(at=driver.now()))
                await driver.submit(driven, commands.Tick(at=driver.now()))  # after the turn that also paused the run

            async with asyncio.timeout(5):
                async with driver.turn_lock:
                    both = asyncio.gather(tick_twice(), engine.suspend(by="ann"))
                    while len(driven.mailbox) < 2:  # noqa: ASYNC110 -- no event tells when both are there
                        await asyncio.sleep(0)
                await both
            assert (await engine.show(run_id))["status"] == "paused"

    stage.play(story)


@pytest.mark.parametrize(("effect", "asked"), [("idempotent", False), ("once", True)])
def test_after_a_crash_only_a_once_effect_is_asked_about(tmp_path: Path, effect: str, asked: bool) -> None:
    async def crash() -> str:
        gate = Gate()
        engine_context = stage.engine(tmp_path, first=gate.first, slow=gate.slow)
        engine = await engine_context.__aenter__()
        run_id = await engine.start(flow(effect=effect))
        await gate.started.wait()
        await engine_context.__aexit__(None, None, None)  # no suspension: the attempt just vanishes
        return run_id

    async def recover(run_id: str) -> None:
        gate = Gate()
        gate.open.set()
        async with stage.engine(tmp_path, first=gate.first, slow=gate.slow) as engine:
            await engine.resume(run_id)
            document = await engine.wait(run_id)
            assert (document["status"] == "paused") is asked
            if asked:
                question = stage.approvals(document)[0]
                assert question["kind"] == "uncertain"
                await engine.answer(question["id"], status="modified", modified_args={"n": 9}, by="ann")
                document = await engine.wait(run_id)
            assert document["outputs"] == {"n": 9 if asked else 2}
        assert gate.calls == ([] if asked else ["slow"])

    run_id = stage.play(crash)
    stage.play(lambda: recover(run_id))


def test_a_fork_keeps_what_came_before_and_changes_what_it_is_told(tmp_path: Path) -> None:
    async def story() -> None:
        gate = Gate()
        gate.open.set()
        async with stage.engine(tmp_path, first=gate.first, slow=gate.slow) as engine:
            run_id = await engine.start(flow())
            await engine.wait(run_id)
            forked = await engine.fork(run_id, node="slow", inputs={"n": 40}, by="ann")
            document = await engine.wait(forked)
            assert document["outputs"] == {"n": 41}
            assert document.get("parent") == {"runId": run_id, "node": "slow", "set": {"n": 40}}
            with pytest.raises(openskelo.NotFound):
                await engine.fork(run_id, node="sloow")
        assert gate.calls == ["first", "slow", "slow"]

    stage.play(story)


def test_a_run_that_does_not_exist_is_said_so(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            nobody = "00000000-0000-4000-8000-000000000000"
            for attempt in (engine.show(nobody), engine.resume(nobody), engine.cancel(nobody)):
                with pytest.raises(openskelo.NotFound) as caught:
                    await attempt
                assert caught.value.code == "RUN_NOT_FOUND"

    stage.play(story)


def test_a_fork_does_not_keep_a_node_that_read_a_changed_input(tmp_path: Path) -> None:
    async def copy(ctx: openskelo.Context) -> dict[str, Json]:
        return {"n": ctx.inputs["n"]}

    source: dict[str, Json] = {"type": "integer", "from": "inputs.n"}
    two = stage.workflow(
        stage.block("first", inputs={"n": source}, outputs=NUMBER),
        stage.block("second", inputs={"m": {"type": "integer", "from": "first.n"}}, outputs={"n": "integer?"}),
        inputs={"n": "integer"},
    )

    async def second(ctx: openskelo.Context) -> dict[str, Json]:
        return {"n": ctx.inputs["m"]}

    async def story() -> None:
        async with stage.engine(tmp_path, first=copy, second=second) as engine:
            run_id = await engine.start(two, {"n": 1})
            await engine.wait(run_id)
            with pytest.raises(openskelo.InvalidInput) as caught:
                await engine.fork(run_id, node="second", inputs={"n": 2})
            assert (caught.value.code, caught.value.hint) == ("FORK_STALE", "fork from first instead")
            forked = await engine.fork(run_id, node="first", inputs={"n": 2})
            assert (await engine.wait(forked))["outputs"] == {"n": 2}

    stage.play(story)


def test_a_fork_needs_the_files_that_it_will_read_and_no_others(tmp_path: Path) -> None:
    async def name(ctx: openskelo.Context) -> dict[str, Json]:
        return {"name": ctx.inputs["path"]}

    two = stage.workflow(
        stage.block("first", inputs={"path": {"type": "file", "from": "inputs.path"}}, outputs={"name": "string"}),
        stage.block("second", inputs={"name": {"type": "string", "from": "first.name"}}, outputs={"name": "string"}),
        inputs={"path": "file"},
    )

    async def second(ctx: openskelo.Context) -> dict[str, Json]:
        return {"name": ctx.inputs["name"]}

    async def story() -> None:
        (tmp_path / "old.txt").write_text("old")
        (tmp_path / "new.txt").write_text("new")
        async with stage.engine(tmp_path, first=name, second=second) as engine:
            run_id = await engine.start(two, {"path": "old.txt"})
            await engine.wait(run_id)
            (tmp_path / "old.txt").unlink()
            for inputs in ({}, {"path": "nope.txt"}):
                with pytest.raises(openskelo.InvalidInput) as caught:
                    await engine.fork(run_id, node="first", inputs=cast("dict[str, Json]", inputs))
                assert (caught.value.code, caught.value.message) == (
                    "INPUT_INVALID",
                    "input 'path': there is no such file",
                )
            assert len(await engine.store.list_runs()) == 1
            late = await engine.fork(run_id, node="second")
            assert (await engine.wait(late))["outputs"] == {"name": "old.txt"}
            mended = await engine.fork(run_id, node="first", inputs={"path": "new.txt"})
            assert (await engine.wait(mended))["outputs"] == {"name": "new.txt"}

    stage.play(story)


async def six(ctx: openskelo.Context) -> dict[str, Json]:
    return {"x": 6}


async def total(ctx: openskelo.Context) -> dict[str, Json]:
    return {"sum": cast("int", ctx.inputs["x"]) + cast("int", ctx.inputs.get("m", 0))}


def adding(ports: dict[str, Json], **top: Json) -> openskelo.Workflow:
    """`a` gives 6, `c` adds to it whatever its other ports get."""
    taken: dict[str, Json] = {"x": {"type": "integer", "from": "a.x"}, **ports}
    return stage.workflow(
        stage.block("a", outputs={"x": "integer"}), stage.block("c", inputs=taken, outputs={"sum": "integer"}), **top
    )


M: dict[str, Json] = {"m": {"type": "integer", "from": "inputs.m"}}


def test_a_fork_gives_a_changed_workflow_the_inputs_that_it_adds(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, a=six, c=total) as engine:
            run_id = await engine.start(adding({}))
            await engine.wait(run_id)
            changed = adding(M, inputs={"m": "integer"})
            with pytest.raises(openskelo.InvalidInput) as caught:
                await engine.fork(run_id, node="c", workflow=changed)
            assert (caught.value.code, caught.value.hint) == ("INPUT_MISSING", "--set m=…")
            forked = await engine.fork(run_id, node="c", workflow=changed, inputs={"m": 5})
            document = await engine.wait(forked)
            assert (document["outputs"], document["inputs"]) == ({"sum": 11}, {"m": 5})

    stage.play(story)


def test_a_fork_puts_right_the_inputs_that_a_changed_workflow_refuses(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, a=six, c=total) as engine:
            run_id = await engine.start(adding(M, inputs={"m": "integer"}), {"m": 1})
            await engine.wait(run_id)
            changed = adding(M, inputs={"m": {"type": "integer", "minimum": 3}})
            with pytest.raises(openskelo.InvalidInput) as caught:
                await engine.fork(run_id, node="c", workflow=changed)
            assert caught.value.code == "INPUT_INVALID"
            document = await engine.wait(await engine.fork(run_id, node="c", workflow=changed, inputs={"m": 5}))
            assert (document["outputs"], document["inputs"]) == ({"sum": 11}, {"m": 5})
            same = await engine.wait(await engine.fork(run_id, node="c", inputs={"m": 5}))
            assert (same["outputs"], same["inputs"]) == ({"sum": 11}, {"m": 1})

    stage.play(story)


@pytest.mark.parametrize("more", [{}, {"foreach": {"items": "[1, 2]", "as": "it"}}])
def test_a_fork_keeps_no_outputs_that_break_the_changed_contract(tmp_path: Path, more: dict[str, Json]) -> None:
    def two(outputs: dict[str, Json]) -> openskelo.Workflow:
        return stage.workflow(stage.block("a", outputs=outputs, **more), stage.block("c", after=["a"]))

    async def story() -> None:
        async with stage.engine(tmp_path, a=six, c=lambda _: {}) as engine:
            run_id = await engine.start(two({"x": "integer"}))
            before = stage.node(await engine.wait(run_id), "a")["outputs"]
            for outputs, why in (
                (
                    {"x": "string"},
                    'a is kept, and its outputs break its contract: x: the value is not of type "string"',
                ),
                ({"x": "integer", "y": "string"}, "a is kept, and its outputs break its contract: missing output y"),
            ):
                with pytest.raises(openskelo.InvalidInput) as caught:
                    await engine.fork(run_id, node="c", workflow=two(cast("dict[str, Json]", outputs)))
                assert (caught.value.code, caught.value.message) == ("KEPT_INVALID", why)
                assert caught.value.hint == "fork from a instead"
            fork = await engine.fork(run_id, node="c", workflow=two({"x": "number"}))
            assert stage.node(await engine.wait(fork), "a")["outputs"] == before

    stage.play(story)


WAITING = stage.workflow(
    {"id": "ask", "mode": "approval", "approval": {"prompt": "Go on?"}},
    stage.block("work", after=["ask"], outputs={"n": "integer"}),
)


def test_a_run_that_a_person_pauses_while_it_is_suspended_stays_paused(tmp_path: Path) -> None:
    """A server had to stop; before the next one goes on with its runs, a person wants one of them to wait."""
    under_way = asyncio.Event()

    async def work(ctx: openskelo.Context) -> dict[str, Json]:
        under_way.set()
        await asyncio.sleep(60 if ctx.attempt == 1 else 0)
        return {"n": ctx.attempt}

    async def story() -> None:
        async with stage.engine(tmp_path, work=work) as engine:
            stopping = supervisor.Supervisor(engine)
            await stopping.start()
            run_id = await engine.start(stage.workflow(stage.block("work", outputs={"n": "integer"})))
            await under_way.wait()
            await stopping.stop()
        async with stage.engine(tmp_path, work=work) as engine:
            await engine.pause(run_id, by="ann", reason="not before noon")
        async with stage.engine(tmp_path, work=work) as engine:
            following = supervisor.Supervisor(engine)
            await following.start()
            held = await engine.wait(run_id)
            assert (held["status"], stage.node(held, "work")["attempts"]) == ("paused", 1)
            await engine.resume(run_id, by="ann")
            assert (await engine.wait(run_id))["outputs"] == {"n": 2}
            await following.stop()

    stage.play(story)


def test_an_answer_does_not_end_the_pause_of_a_person(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, work=lambda _: {"n": 1}) as engine:
            run_id = await engine.start(WAITING)
            asked = stage.approvals(await engine.wait(run_id))
            await engine.pause(run_id, by="ann")
            await engine.answer(str(asked[0]["id"]), status="approved", by="kim")
            held = await engine.wait(run_id)
            assert (held["status"], stage.node(held, "ask")["outcome"]) == ("paused", "succeeded")
            assert stage.node(held, "work")["attempts"] == 0
            await engine.resume(run_id)
            assert (await engine.wait(run_id))["outputs"] == {"n": 1}

    stage.play(story)


def test_a_run_that_another_engine_drives_is_waited_for(tmp_path: Path) -> None:
    may_end = asyncio.Event()

    async def work(ctx: openskelo.Context) -> dict[str, Json]:
        await may_end.wait()
        return {"n": 1}

    async def story() -> None:
        async with stage.engine(tmp_path, work=work) as driving, stage.engine(tmp_path) as elsewhere:
            run_id = await driving.start(WAITING)
            paused = await elsewhere.wait(run_id)
            assert paused == await driving.wait(run_id)
            await elsewhere.answer(str(stage.approvals(paused)[0]["id"]), status="approved")
            waiting = asyncio.ensure_future(elsewhere.wait(run_id))
            assert await asyncio.wait([waiting], timeout=0.3) == (set(), {waiting})
            may_end.set()
            done = await waiting
            assert (done["ending"], done["outputs"]) == ("ok", {"n": 1})

    stage.play(story)


def test_a_run_that_nobody_drives_any_more_is_not_waited_for(tmp_path: Path) -> None:
    async def work(ctx: openskelo.Context) -> dict[str, Json]:
        await asyncio.sleep(60)
        return {"n": 1}

    async def story() -> None:
        async with stage.engine(tmp_path, work=work) as elsewhere:
            async with stage.engine(tmp_path, work=work) as driving:
                run_id = await driving.start(stage.workflow(stage.block("work", outputs={"n": "integer"})))
                waiting = asyncio.ensure_future(elsewhere.wait(run_id))
                assert await asyncio.wait([waiting], timeout=0.1) == (set(), {waiting})
            for left in (await waiting, await elsewhere.wait(run_id)):
                assert (left["status"], left["ending"]) == ("running", None)

    stage.play(story)


def test_an_engine_that_recovers_takes_up_a_run_that_a_crash_left(tmp_path: Path) -> None:
    calls: list[int] = []

    async def work(ctx: openskelo.Context) -> dict[str, Json]:
        calls.append(ctx.attempt)
        if len(calls) == 1:
            await asyncio.Event().wait()
        return {}

    async def story() -> None:
        project = openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo")
        flow = stage.workflow(stage.block("work"))
        async with await openskelo.Engine.open(project, handlers={"work": work}) as engine:
            run_id = await engine.start(flow)
            while not calls:  # noqa: ASYNC110  the handler tells nobody else
                await asyncio.sleep(0.01)
        async with await openskelo.Engine.open(project, handlers={"work": work}, recover=True) as engine:
            types = [event["type"] async for event in engine.follow(run_id)]
            assert (types[-1], (await engine.show(run_id))["ending"]) == ("run.ended", "ok")

    stage.play(story)
    assert calls == [1, 2]


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
import openskelo

async def work(ctx):
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    root = Path(sys.argv[1])
    project = openskelo.Project(root=root, data_dir=root / ".skelo")
    engine = await openskelo.Engine.open(project, handlers={"work": work})
    block = {"id": "work", "mode": "deterministic", "deterministic": {"handler": "local:work"}}
    run_id = await engine.start(openskelo.from_document({"name": "staged", "blocks": [block]}))
    await engine.wait(run_id)

asyncio.run(main())
"""


def test_an_engine_that_recovers_takes_up_a_run_whose_process_was_killed(tmp_path: Path) -> None:
    attempts: list[int] = []

    async def work(ctx: openskelo.Context) -> dict[str, Json]:
        attempts.append(ctx.attempt)
        return {}

    async def story() -> None:
        project = openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo")
        async with await openskelo.Engine.open(project, handlers={"work": work}, recover=True) as engine:
            (row,) = await engine.store.list_runs()
            types = [event["type"] async for event in engine.follow(row.run_id)]
            assert ("attempt.interrupted" in types, types[-1]) == (True, "run.ended")
            assert (await engine.show(row.run_id))["ending"] == "ok"

    ran = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    stage.play(story)
    assert attempts == [2]


def test_an_engine_that_recovers_suspends_its_runs_for_the_next_one(tmp_path: Path) -> None:
    calls: list[int] = []

    async def work(ctx: openskelo.Context) -> dict[str, Json]:
        calls.append(ctx.attempt)
        if len(calls) == 1:
            await asyncio.Event().wait()
        return {}

    async def story() -> None:
        project = openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo")
        async with await openskelo.Engine.open(project, handlers={"work": work}, recover=True) as engine:
            run_id = await engine.start(stage.workflow(stage.block("work")))
            while not calls:  # noqa: ASYNC110  the handler tells nobody else
                await asyncio.sleep(0.01)
        async with await openskelo.Engine.open(project, handlers={"work": work}, recover=True) as engine:
            types = [event["type"] async for event in engine.follow(run_id)]
            assert ("run.paused" in types, "run.resumed" in types, types[-1]) == (True, True, "run.ended")

    stage.play(story)
    assert len(calls) == 2
