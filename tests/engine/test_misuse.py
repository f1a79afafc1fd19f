"""What a Python caller may get wrong is told as an error of ours, with a code."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest

import openskelo
from openskelo.stores import memory
from tests.engine import stage

FLOW = stage.workflow(stage.block("ask", mode="approval", approval={"prompt": "Go on?"}))
UNKNOWN = "00000000-0000-4000-8000-000000000000"


async def events(engine: openskelo.Engine, run_id: str, after: int = 0) -> None:
    async for _ in engine.follow(run_id, after=after):
        pass


CALLS: dict[str, Callable[[openskelo.Engine, str], Awaitable[object]]] = {
    "start": lambda engine, _: engine.start(FLOW),
    "wait": lambda engine, run_id: engine.wait(run_id),
    "show": lambda engine, run_id: engine.show(run_id),
    "resume": lambda engine, run_id: engine.resume(run_id),
    "cancel": lambda engine, run_id: engine.cancel(run_id),
    "follow": events,
    "runs": lambda engine, _: engine.runs(),
    "approvals": lambda engine, _: engine.approvals(),
    "verify": lambda engine, run_id: engine.verify(run_id),
    "answer": lambda engine, _: engine.answer(UNKNOWN, status="approved"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_closed_engine_says_that_it_is_closed(tmp_path: Path, call: str) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            run_id = await engine.start(FLOW)
            await engine.wait(run_id)
        with pytest.raises(openskelo.OpenSkeloError) as told:
            async with asyncio.timeout(10):
                await CALLS[call](engine, run_id)
        assert (told.value.code, told.value.message) == ("ENGINE_CLOSED", "the engine was closed")

    stage.play(story)


@pytest.mark.parametrize("kept", ["on disk", "in memory"])
def test_one_who_follows_is_told_when_the_engine_is_closed(tmp_path: Path, kept: str) -> None:
    async def story() -> None:
        data = memory.MemoryData()
        stores = (None, None) if kept == "on disk" else (memory.MemoryStore(data), memory.MemoryStore(data))
        async with stage.open_engine(tmp_path, stores[0]) as driving:
            run_id = await driving.start(FLOW)
            await driving.wait(run_id)
            async with stage.open_engine(tmp_path, stores[1]) as looking:
                following = asyncio.ensure_future(events(looking, run_id))
                await asyncio.sleep(0.2)
                assert not following.done()
            with pytest.raises(openskelo.OpenSkeloError) as told:
                async with asyncio.timeout(10):
                    await following
            assert told.value.code == "ENGINE_CLOSED"

    stage.play(story)


@pytest.mark.parametrize("thing", [None, {"name": "x", "blocks": []}, "flow.yaml", 3])
def test_what_is_no_workflow_cannot_be_started(tmp_path: Path, thing: object) -> None:
    wrong = cast("openskelo.Workflow", thing)

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            run_id = await engine.start(FLOW)
            calls = [engine.start(wrong), engine.explain(wrong)]
            for call in calls if thing is None else [*calls, engine.fork(run_id, node="ask", workflow=wrong)]:
                with pytest.raises(openskelo.InvalidInput) as told:
                    await call
                assert (told.value.code, told.value.message, told.value.hint) == (
                    "USAGE",
                    f"a {type(thing).__name__} is not a workflow",
                    "openskelo.load(FILE) makes one, as does openskelo.from_document(DICT)",
                )
            assert len(await engine.runs()) == 1

    stage.play(story)


def test_numbers_that_no_store_holds_are_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            run_id = await engine.start(FLOW)
            for call in (engine.runs(limit=2**70), engine.runs(offset=2**70), events(engine, run_id, 2**70)):
                with pytest.raises(openskelo.InvalidInput) as told:
                    await call
                assert told.value.code == "NUMBER_RANGE"

    stage.play(story)


def test_a_path_that_the_file_system_does_not_take_is_no_project() -> None:
    for path in ("x" * 5000, Path("x" * 300)):
        with pytest.raises(openskelo.InvalidInput) as told:
            openskelo.project_at(path)
        assert told.value.code == "PATH_INVALID"


def test_of_two_who_begin_the_same_run_at_once_the_second_is_told_that_it_exists(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            begun = await asyncio.gather(
                *(engine.start(FLOW, run_id=UNKNOWN) for _ in range(3)), return_exceptions=True
            )
            assert begun[0] == UNKNOWN
            assert [getattr(one, "code", None) for one in begun] == [None, "RUN_EXISTS", "RUN_EXISTS"]
            assert len(stage.approvals(await engine.wait(UNKNOWN))) == 1

    stage.play(story)


def test_of_two_engines_that_begin_the_same_run_at_once_one_is_told_that_it_exists(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as one, stage.engine(tmp_path) as other:
            begun = await asyncio.gather(
                *(engine.start(FLOW, run_id=UNKNOWN) for engine in (one, other)), return_exceptions=True
            )
            assert sorted(getattr(came_to, "code", "begun") for came_to in begun) == ["RUN_EXISTS", "begun"]
            for engine in (one, other):
                assert len(stage.approvals(await engine.wait(UNKNOWN))) == 1

    stage.play(story)


def test_what_is_done_to_the_document_of_a_run_changes_no_default(tmp_path: Path) -> None:
    ask = stage.block("ask", mode="approval", approval={"prompt": "Go on?"})
    flow = stage.workflow(ask, inputs={"more": {"type": "array", "default": [0]}})

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            shown = await engine.wait(await engine.start(flow))
            cast("dict[str, list[int]]", shown["inputs"])["more"].append(1)
            assert (await engine.wait(await engine.start(flow)))["inputs"] == {"more": [0]}

    stage.play(story)
