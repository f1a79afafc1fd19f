"""Following a run's events: from where one has seen them, and to the end, wherever that is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

import pytest

import openskelo
from openskelo.kernel.json import Json
from tests.engine import stage

UNKNOWN = "00000000-0000-4000-8000-000000000000"
FLOW = stage.workflow(stage.block("a", outputs={"n": "integer"}))


async def seen(engine: openskelo.Engine, run_id: str, *, after: int = 0, until_end: bool = True) -> list[int]:
    """The seqs that one who follows is given; following that does not end is cut."""
    async with asyncio.timeout(10):
        return [cast("int", event["seq"]) async for event in engine.follow(run_id, after=after, until_end=until_end)]


def test_one_who_has_seen_the_end_is_given_nothing_more(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, a=lambda _: {"n": 1}) as engine:
            run_id = await engine.start(FLOW)
            await engine.wait(run_id)
            every = await seen(engine, run_id)
            last = every[-1]
            assert every == list(range(1, last + 1))
            assert [await seen(engine, run_id, after=after) for after in (last - 1, last, last + 7)] == [[last], [], []]
        async with stage.engine(tmp_path) as later:  # one that never drove the run
            assert [await seen(later, run_id, after=after) for after in (last - 1, last)] == [[last], []]

    stage.play(story)


@pytest.mark.parametrize("until_end", [True, False])
def test_a_run_that_is_not_there_cannot_be_followed(tmp_path: Path, *, until_end: bool) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            with pytest.raises(openskelo.NotFound) as refused:
                await seen(engine, UNKNOWN, until_end=until_end)
            assert refused.value.code == "RUN_NOT_FOUND"

    stage.play(story)


def test_one_who_has_seen_all_there_is_waits_for_more(tmp_path: Path) -> None:
    async def story() -> None:
        go = asyncio.Event()

        async def a(ctx: openskelo.Context) -> dict[str, Json]:
            await go.wait()
            return {"n": 1}

        async with stage.engine(tmp_path, a=a) as engine, stage.engine(tmp_path) as other:
            run_id = await engine.start(FLOW)
            last = (await seen(engine, run_id, until_end=False))[-1]
            assert await seen(engine, run_id, after=last, until_end=False) == []
            following = [asyncio.ensure_future(seen(one, run_id, after=last)) for one in (engine, other)]
            await asyncio.sleep(0.2)
            assert [one.done() for one in following] == [False, False]
            go.set()
            rest, same = await asyncio.gather(*following)
            assert rest
            assert rest == same == list(range(last + 1, last + 1 + len(rest)))

    stage.play(story)


def test_a_caller_that_polls_lets_the_run_go_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, a=lambda _: {"n": 1}) as engine:
            run_id = await engine.start(FLOW)
            statuses = [(await engine.show(run_id))["status"] for _ in range(2000)]  # without a pause between two calls
            assert statuses[-1] == "completed"

    stage.play(story)
