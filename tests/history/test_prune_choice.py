"""Many runs are pruned at once, as Python asks for it: chosen by name, by age, or by how many stay."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

import openskelo
from tests.engine import stage

FLOW = {
    "name": "sum",
    "blocks": [
        {
            "id": "add",
            "mode": "deterministic",
            "inputs": {"a": "integer"},
            "outputs": {"sum": "integer"},
            "deterministic": {"handler": "builtin:transform", "config": {"map": {"sum": "inputs.a + 1"}}},
        }
    ],
}
ASKING = {"name": "ask", "blocks": [{"id": "ok", "mode": "approval", "approval": {"prompt": "Well?"}}]}


async def ended(engine: openskelo.Engine, count: int) -> list[str]:
    """So many runs that have ended, the oldest first."""
    flow = openskelo.from_document(FLOW)
    made = [await engine.start(flow, {"a": number}) for number in range(count)]
    for run_id in made:
        assert (await engine.wait(run_id))["ending"] == "ok"
    return made


def opened(root: Path) -> openskelo.Project:
    return openskelo.Project(root=root, data_dir=root / ".skelo")


def test_all_but_the_newest_are_pruned_and_still_verify(tmp_path: Path) -> None:
    async def told() -> None:
        async with await openskelo.Engine.open(opened(tmp_path)) as engine:
            made = await ended(engine, 3)
            would = await engine.prune(keep=1, dry_run=True)
            pruned = await engine.prune(keep=1)
            assert sorted(one.run_id for one in pruned.runs) == sorted(made[:2])
            assert (would.events, [one.run_id for one in would.runs]) == (
                pruned.events,
                [one.run_id for one in pruned.runs],
            )
            assert pruned.bytes > 0
            assert pruned.document()["failed"] == []
            assert [(await engine.verify(run_id)).intact for run_id in made] == [True, True, True]
            with pytest.raises(openskelo.NotFound, match="was pruned"):
                await engine.show(made[0])
            assert (await engine.show(made[2]))["inputs"] == {"a": 2}

    stage.play(told)


def test_a_run_that_is_named_is_deleted(tmp_path: Path) -> None:
    async def told() -> None:
        async with await openskelo.Engine.open(opened(tmp_path)) as engine:
            first, second = await ended(engine, 2)
            assert (await engine.prune([first], delete=True)).deleted
            assert [run["runId"] for run in await engine.runs()] == [second]
            with pytest.raises(openskelo.NotFound):
                await engine.show(first)

    stage.play(told)


def test_runs_that_ended_a_moment_ago_are_not_old(tmp_path: Path) -> None:
    async def told() -> None:
        async with await openskelo.Engine.open(opened(tmp_path)) as engine:
            await ended(engine, 1)
            assert (await engine.prune(older_than=timedelta(hours=1))).runs == ()

    stage.play(told)


def test_a_run_that_waits_is_left_alone_and_told_why(tmp_path: Path) -> None:
    async def told() -> None:
        async with await openskelo.Engine.open(opened(tmp_path)) as engine:
            waiting = await engine.start(openskelo.from_document(ASKING))
            (done,) = await ended(engine, 1)
            pruned = await engine.prune([waiting, done])
            assert [one.run_id for one in pruned.runs] == [done]
            assert {run_id: error.code for run_id, error in pruned.failed.items()} == {waiting: "RUN_UNFINISHED"}

    stage.play(told)


@pytest.mark.parametrize(
    ("run_ids", "how"), [([], {}), (["x"], {"keep": 1}), ([], {"keep": -1}), (["x"], {"older_than": timedelta(1)})]
)
def test_it_has_to_be_said_which_runs(tmp_path: Path, run_ids: list[str], how: dict[str, int]) -> None:
    async def told() -> None:
        async with await openskelo.Engine.open(opened(tmp_path)) as engine:
            with pytest.raises(openskelo.InvalidInput) as raised:
                await engine.prune(run_ids, **how)  # pyright: ignore[reportArgumentType] -- one or the other
            assert raised.value.code == "USAGE"

    stage.play(told)
