"""An engine and the event loops around it: it belongs to one, tells the others so, and lets go when that is gone."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import openskelo
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import JsonObject
from tests.engine import stage

FLOW = stage.workflow(stage.block("work"))
CALLS: dict[str, Callable[[openskelo.Engine, str], Awaitable[object]]] = {
    "start": lambda engine, _: engine.start(FLOW),
    "wait": lambda engine, run_id: engine.wait(run_id),
    "show": lambda engine, run_id: engine.show(run_id),
    "resume": lambda engine, run_id: engine.resume(run_id),
    "cancel": lambda engine, run_id: engine.cancel(run_id),
    "follow": lambda engine, run_id: anext(aiter(engine.follow(run_id))),
    "close": lambda engine, _: engine.close(),
}


async def work(_ctx: openskelo.Context) -> JsonObject:
    await asyncio.sleep(60)
    return {}


async def quick(_ctx: openskelo.Context) -> JsonObject:
    return {}


def code_of(call: Awaitable[object]) -> str:
    """The code of the error that a call ends with, in an event loop of its own."""

    async def bounded() -> str:
        with pytest.raises(openskelo.OpenSkeloError) as told:
            async with asyncio.timeout(5):
                await call
        return told.value.code

    return asyncio.run(bounded())


@pytest.mark.parametrize("call", CALLS)
def test_a_call_from_another_threads_loop_is_refused_and_harms_nobody(tmp_path: Path, call: str) -> None:
    async def story() -> str:
        async with stage.engine(tmp_path, work=quick) as engine:
            run_id = await engine.start(FLOW)
            await engine.wait(run_id)
            assert await asyncio.to_thread(code_of, CALLS[call](engine, run_id)) == "ENGINE_LOOP"
            document = await engine.wait(await engine.start(FLOW))
            assert len(await engine.runs()) == 2
            return str(document["ending"])

    assert stage.play(story) == "ok"


def test_records_that_another_thread_asks_for_are_refused_by_name(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            assert await asyncio.to_thread(code_of, engine.runs()) == "ENGINE_LOOP"

    stage.play(story)


def test_a_run_of_an_engine_that_nobody_closed_can_be_taken_up_once_that_is_gone(tmp_path: Path) -> None:
    async def forgetful() -> str:
        project = openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo")
        engine = await openskelo.Engine.open(project, handlers={"work": work})
        return await engine.start(FLOW)

    async def careful() -> RunDocument:
        async with stage.engine(tmp_path, work=quick) as engine:
            await engine.resume(run_id)
            return await engine.wait(run_id)

    run_id = asyncio.run(forgetful())
    with pytest.warns(ResourceWarning, match="unclosed file"):
        gc.collect()
    assert stage.play(careful)["ending"] == "ok"


def test_a_program_that_cancels_every_task_leaves_nobody_waiting(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.open_engine(tmp_path, work=work) as engine:
            run_id = await engine.start(FLOW)
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            await asyncio.sleep(0.05)
            for call in (engine.start(FLOW), engine.cancel(run_id), engine.wait(run_id)):
                with pytest.raises(openskelo.OpenSkeloError) as told:
                    await asyncio.wait_for(call, 5)
                assert told.value.code == "ENGINE_CLOSED"

    stage.play(story)


def test_one_who_does_not_wait_for_the_end_of_work_has_closed_the_store_all_the_same(tmp_path: Path) -> None:
    async def stubborn(_ctx: openskelo.Context) -> JsonObject:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.5)
        return {}

    async def story() -> None:
        async with stage.open_engine(tmp_path, work=stubborn) as engine:
            run_id = await engine.start(FLOW)
            await asyncio.sleep(0.05)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await engine.close()
            async with stage.open_engine(tmp_path, work=quick) as another:
                await another.resume(run_id)
                assert (await another.wait(run_id))["ending"] == "ok"

    stage.play(story)
