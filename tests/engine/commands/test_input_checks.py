"""Arguments of which only a few words make sense: any other is refused, and nothing is done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import openskelo
from openskelo.engine.commands import command_router
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import live_graph
from tests.engine import stage

#: A word in a type checker's eyes; what a caller without one may give.
Word = Any
FLOW = stage.workflow(
    {"id": "ask", "mode": "approval", "approval": {"prompt": "Go on?"}},
    stage.block("act", effect="once", after=["ask"]),
)


class Actor:
    """Acts once."""

    def __init__(self) -> None:
        self.acted = 0

    async def act(self, ctx: openskelo.Context) -> dict[str, Json]:
        self.acted += 1
        return {}


async def refusal(trying: Awaitable[object]) -> tuple[str, str | None]:
    """The code and the hint with which a call is refused."""
    with pytest.raises(openskelo.InvalidInput) as caught:
        await trying
    return caught.value.code, caught.value.hint


@pytest.mark.parametrize("word", ["zzz", "", None, "PLANNING", ["AUTO"]])
def test_a_run_in_a_mode_that_is_none_does_not_start(tmp_path: Path, word: Word) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, act=Actor().act) as engine:
            assert await refusal(engine.start(FLOW, mode=word)) == ("USAGE", "one of AUTO, INTERACTIVE")
            if word != "PLANNING":
                assert await refusal(engine.start(FLOW, global_mode=word)) == (
                    "USAGE",
                    "one of PLANNING, IMPLEMENTATION",
                )
            assert await engine.store.list_runs() == []

    stage.play(story)


async def _started(engine: openskelo.Engine, word: Word) -> str:
    return await engine.start(FLOW, mode=word)


async def _changed(engine: openskelo.Engine, word: Word) -> str:
    run_id = await engine.start(FLOW)
    await engine.change(run_id, mode=word)
    return run_id


@pytest.mark.parametrize("word", ["INTERACTIVE", "interactive"])
@pytest.mark.parametrize("begin", [_started, _changed])
def test_an_interactive_run_asks_before_it_acts_however_the_mode_is_spelled(
    tmp_path: Path, word: Word, begin: Callable[[openskelo.Engine, Word], Awaitable[str]]
) -> None:
    actor = Actor()

    async def story() -> None:
        async with stage.engine(tmp_path, act=actor.act) as engine:
            run_id = await begin(engine, word)
            for node in ("ask", "act"):
                waiting = await engine.wait(run_id)
                (asked,) = stage.approvals(waiting)
                assert (waiting["status"], asked["node"], actor.acted) == ("paused", node, 0)
                await engine.answer(str(asked["id"]), status="approved")
            assert ((await engine.wait(run_id))["ending"], actor.acted) == ("ok", 1)

    stage.play(story)


@pytest.mark.parametrize("word", ["PLANNING", "planning"])
def test_a_planning_run_does_not_act_however_the_mode_is_spelled(tmp_path: Path, word: Word) -> None:
    actor = Actor()

    async def story() -> None:
        async with stage.engine(tmp_path, act=actor.act) as engine:
            run_id = await engine.start(stage.workflow(stage.block("act", effect="once")), global_mode=word)
            assert ((await engine.wait(run_id))["ending"], actor.acted) == ("denied", 0)

    stage.play(story)


def test_modes_are_changed_by_known_words_only_wherever_the_run_is_driven(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, act=Actor().act) as driving, stage.engine(tmp_path) as elsewhere:
            run_id = await driving.start(FLOW)
            await driving.wait(run_id)
            before = await stage.types(driving, run_id)
            wrong: Word = "zzz"
            for engine in (driving, elsewhere):
                assert await refusal(engine.change(run_id, mode=wrong)) == ("USAGE", "one of AUTO, INTERACTIVE")
                assert (await refusal(engine.change(run_id, global_mode=wrong)))[0] == "USAGE"
            posted: JsonObject = {"type": "mode", "by": "ann", "mode": "zzz", "globalMode": None}
            await command_router.queue_and_wait(
                elsewhere.store,
                run_id,
                posted,
                take=elsewhere.ownership.take,
                wait_for_other_process=elsewhere.wait_for_other_process,
            )
            assert await stage.types(driving, run_id) == before
            lower: Word = "planning"
            await elsewhere.change(run_id, global_mode=lower)
            assert await stage.types(driving, run_id) == [*before, "run.mode"]

    stage.play(story)


def test_runs_of_a_status_that_is_none_are_not_listed_as_no_runs(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            wrong: Word = "done"
            assert await refusal(engine.runs(status=wrong)) == (
                "USAGE",
                "one of queued, running, paused, completed, failed",
            )

    stage.play(story)


def test_a_live_graph_takes_known_kinds_of_nodes_and_edges_only(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, act=Actor().act) as engine:
            graph = engine.graph(await engine.start(live_graph.empty("talk")))
            config: JsonObject = {"handler": "local:act"}
            wrong: Word = "zzz"
            for label in ("a", "b"):
                await graph.add_node(label, kind="handler", config=config)
            assert await refusal(graph.add_node("c", kind=wrong, config=config)) == (
                "USAGE",
                "one of model, handler, agent",
            )
            assert await refusal(graph.add_edge("a", "b", type=wrong)) == ("USAGE", "one of handoff, report")
            assert await stage.types(engine, graph.run_id) == ["run.created", "node.added", "node.added"]

    stage.play(story)
