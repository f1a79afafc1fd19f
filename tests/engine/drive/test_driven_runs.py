"""Runs that have ended or were dropped: waiting callers learn it, and little is kept of them; timers."""

from __future__ import annotations

import asyncio
import gc
import weakref
from pathlib import Path

import pytest

import openskelo
from openskelo import errors
from openskelo.engine.drive import driven_run, driven_runs
from openskelo.executors.attempt import performer
from openskelo.kernel import run as runs
from openskelo.kernel.json import Json
from openskelo.record import envelope
from openskelo.stores import memory
from tests.engine import stage

FLOW = stage.workflow(stage.block("only"))
LIMITED = stage.workflow(stage.block("work"), budgets={"max_wall_ms": 86_400_000})
ASKING = stage.workflow({"id": "ask", "mode": "approval", "approval": {"prompt": "Go on?", "timeout_sec": 2}})


def _driven(number: int) -> driven_run.DrivenRun:
    run_id = f"00000000-0000-4000-8000-{number:012d}"
    work = performer.Performer(project=openskelo.Project(root=Path(), data_dir=Path()), blobs=memory.MemoryStore())
    return driven_run.DrivenRun(runs.new(run_id, FLOW), envelope.Chain(run_id), None, work)


def _trouble(actor: driven_run.DrivenRun) -> errors.StoreFull:
    """As it comes out of a store: with frames that know the actor."""
    with pytest.raises(errors.StoreFull) as raised:
        _append(actor)
    return raised.value


def _append(_actor: driven_run.DrivenRun) -> None:
    raise errors.StoreFull("no space left", hint="free some")


def _let_go(driven: driven_runs.DrivenRuns, number: int) -> weakref.ref[driven_run.DrivenRun]:
    actor = _driven(number)
    driven.add(actor)
    driven.drop(actor, _trouble(actor))
    return weakref.ref(actor)


def test_who_waits_for_a_run_that_is_let_go_is_woken_however_many_are() -> None:
    async def story() -> None:
        driven = driven_runs.DrivenRuns()
        waiting = [_driven(number) for number in range(3)]
        for actor in waiting:
            driven.add(actor)
        settled = [asyncio.create_task(actor.wait_until_settled()) for actor in waiting]
        await asyncio.sleep(0)
        trouble = _trouble(waiting[0])
        for actor in waiting:
            driven.drop(actor, trouble)
        await asyncio.gather(*settled)
        told = [driven.failure(actor.id) for actor in waiting]
        assert [(type(one), str(one)) for one in told] == [(errors.StoreFull, str(waiting[0].failure))] * 3

    asyncio.run(story())


def test_the_newest_that_were_let_go_are_remembered_without_their_runs() -> None:
    driven = driven_runs.DrivenRuns()
    seen = [_let_go(driven, number) for number in range(driven_runs.REMEMBERED_DROPPED + 2)]
    ids = [f"00000000-0000-4000-8000-{number:012d}" for number in (0, 1, 2, driven_runs.REMEMBERED_DROPPED + 1)]
    assert [driven.failure(run_id) is None for run_id in ids] == [True, True, False, False]
    gc.collect()
    assert not any(ref() for ref in seen)


def test_a_run_that_is_forgotten_is_not_remembered_as_let_go() -> None:
    driven = driven_runs.DrivenRuns()
    actor = _driven(1)
    driven.add(actor)
    driven.drop(actor, _trouble(actor))
    assert driven.failure(actor.id) is not None
    driven.forget(actor.id)
    assert driven.failure(actor.id) is None


def test_an_ended_run_is_not_kept_in_memory_and_still_shows_how_it_ended(tmp_path: Path) -> None:
    async def work(_: openskelo.Context) -> dict[str, Json]:
        return {}

    async def story() -> tuple[list[str | None], bool, list[runs.Run]]:
        async with stage.engine(tmp_path, work=work) as engine:
            run_id = await engine.start(stage.workflow(stage.block("work")))
            endings = [(await engine.wait(run_id))["ending"] for _ in range(2)]
            gc.collect()
            kept = [run for run in gc.get_objects() if isinstance(run, runs.Run) and run.id == run_id]
            return endings, engine.is_driving(run_id), kept

    assert stage.play(story) == (["ok", "ok"], False, [])


@pytest.mark.slow
def test_the_time_limits_of_runs_that_have_ended_do_not_pile_up(tmp_path: Path) -> None:
    async def work(_: openskelo.Context) -> dict[str, Json]:
        return {}

    async def story() -> tuple[list[str | None], int, str | None]:
        async with stage.engine(tmp_path, work=work) as engine:
            asking = await engine.start(ASKING)
            endings = [(await engine.wait(await engine.start(LIMITED)))["ending"] for _ in range(200)]
            kept = engine._driver._poller._timers._by_wall  # pyright: ignore[reportPrivateUsage] -- memory has no public face
            async for _ in engine.follow(asking):
                pass  # what is still waited for is not forgotten
            return endings, len(kept), (await engine.wait(asking))["ending"]

    endings, kept, asked = stage.play(story)
    assert (endings, asked) == (["ok"] * 200, "denied")
    assert kept < 100
