"""Runs that have ended, or had to be let go: those who wait are told, and what is remembered of them has a bound."""

from __future__ import annotations

import asyncio
import gc
import weakref
from pathlib import Path

import pytest

import openskelo
from openskelo import errors
from openskelo.contract import envelope
from openskelo.engine import actor as actors
from openskelo.engine import roster
from openskelo.kernel import run as runs
from openskelo.kernel.json import Json
from tests.engine import stage

FLOW = stage.workflow(stage.block("only"))


def _driven(number: int) -> actors.Actor:
    run_id = f"00000000-0000-4000-8000-{number:012d}"
    return actors.Actor(runs.new(run_id, FLOW), envelope.Chain(run_id), None)


def _trouble(actor: actors.Actor) -> errors.StoreFull:
    """As it comes out of a store: with frames that know the actor."""
    with pytest.raises(errors.StoreFull) as raised:
        _append(actor)
    return raised.value


def _append(_actor: actors.Actor) -> None:
    raise errors.StoreFull("no space left", hint="free some")


def _let_go(driven: roster.Roster, number: int) -> weakref.ref[actors.Actor]:
    actor = _driven(number)
    driven.take_on(actor)
    driven.drop(actor, _trouble(actor))
    return weakref.ref(actor)


def test_who_waits_for_a_run_that_is_let_go_is_woken_however_many_are() -> None:
    async def story() -> None:
        driven = roster.Roster()
        waiting = [_driven(number) for number in range(3)]
        for actor in waiting:
            driven.take_on(actor)
        settled = [asyncio.create_task(actor.settle()) for actor in waiting]
        await asyncio.sleep(0)
        driven.drop_all(_trouble(waiting[0]))
        await asyncio.gather(*settled)
        told = [driven.failure(actor.run.id) for actor in waiting]
        assert [(type(one), str(one)) for one in told] == [(errors.StoreFull, str(waiting[0].failure))] * 3

    asyncio.run(story())


def test_the_newest_that_were_let_go_are_remembered_without_their_runs() -> None:
    driven = roster.Roster()
    seen = [_let_go(driven, number) for number in range(roster.LET_GO + 2)]
    ids = [f"00000000-0000-4000-8000-{number:012d}" for number in (0, 1, 2, roster.LET_GO + 1)]
    assert [driven.failure(run_id) is None for run_id in ids] == [True, True, False, False]
    gc.collect()
    assert not any(ref() for ref in seen)


def test_a_run_that_is_forgotten_is_not_remembered_as_let_go() -> None:
    driven = roster.Roster()
    actor = _driven(1)
    driven.take_on(actor)
    driven.drop(actor, _trouble(actor))
    assert driven.failure(actor.run.id) is not None
    driven.forget(actor.run.id)
    assert driven.failure(actor.run.id) is None


async def remembered(root: Path, count: int) -> list[bool]:
    """Of so many runs of one node, which are remembered in the end; each of them tells how it ended all the same."""

    async def work(ctx: openskelo.Context) -> dict[str, Json]:
        return {}

    async with stage.engine(root, work=work) as engine:
        run_ids = [await engine.start(stage.workflow(stage.block("work"))) for _ in range(count)]
        for run_id in reversed(run_ids):
            await engine.wait(run_id)
        known = [engine.holding.has_driven(run_id) for run_id in run_ids]
        assert [(await engine.wait(run_id))["ending"] for run_id in run_ids] == ["ok"] * count
        engine.forget(run_ids[-1])
        assert not engine.holding.has_driven(run_ids[-1])
        return known


def test_how_small_runs_ended_is_remembered_of_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "REMEMBERED_SMALL", 30)
    assert stage.play(lambda: remembered(tmp_path, 40)) == [False] * 10 + [True] * 30


def test_how_large_runs_ended_is_remembered_of_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "REMEMBERED_NODES", 3)
    assert stage.play(lambda: remembered(tmp_path, 40)) == [False] * 24 + [True] * 16
