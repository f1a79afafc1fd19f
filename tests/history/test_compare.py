"""Comparing two runs: node by node, output by output, and as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

import openskelo
from openskelo import errors
from openskelo.history import compare, comparison_result
from openskelo.kernel.json import Json, JsonObject
from openskelo.stores import memory
from tests.engine import proving, stage


def compared(
    root: Path,
    *,
    sign: str = "!",
    workflow: openskelo.Workflow | None = None,
    topic: str = "bees",
) -> comparison_result.Comparison:
    """A run, another one in which something may differ, and their comparison."""
    workshop = proving.Workshop()

    async def story() -> comparison_result.Comparison:
        async with workshop.engine(root) as engine:
            first = await proving.finish(engine)
            workshop.sign = sign
            second = await proving.finish(engine, workflow, {"topic": topic})
            return await compare.compare(engine.store, first, second)

    return stage.play(story)


def test_two_runs_of_the_same_work_are_the_same(tmp_path: Path) -> None:
    found = compared(tmp_path)
    assert found.a.run_id != found.b.run_id
    assert (found.same_work, found.same_workflow, found.inputs) == (True, True, ())
    assert [(node.node, node.same) for node in found.nodes] == [
        ("draft", True),
        ("shout", True),
        ("each", True),
        ("post", True),
    ]
    assert found.a.use.attempts == 5


def test_another_result_is_shown_where_it_appears(tmp_path: Path) -> None:
    found = compared(tmp_path, sign="?")
    assert (found.same_work, found.same_workflow) == (False, True)
    assert {node.node: node.outputs for node in found.nodes if not node.same} == {
        "shout": (comparison_result.Change(path="/text", kind="changed", before="ABOUT BEES !", after="ABOUT BEES ?"),),
        "each": (
            comparison_result.Change(path="/text/0", kind="changed", before="a: ABOUT BEES !", after="a: ABOUT BEES ?"),
            comparison_result.Change(path="/text/1", kind="changed", before="b: ABOUT BEES !", after="b: ABOUT BEES ?"),
        ),
    }


def _forked(root: Path, node: str, inputs: JsonObject | None = None) -> comparison_result.Comparison:
    """A run, a fork of it, and their comparison."""
    workshop = proving.Workshop()

    async def story() -> comparison_result.Comparison:
        async with workshop.engine(root) as engine:
            first = await proving.finish(engine)
            second = await engine.fork(first, node=node, inputs=inputs)
            await engine.wait(second)
            return await compare.compare(engine.store, first, second)

    return stage.play(story)


def test_a_fork_that_changes_nothing_is_the_same_work(tmp_path: Path) -> None:
    found = _forked(tmp_path, "each")
    assert (found.same_work, found.same_workflow) == (True, True)
    assert [(node.node, node.same, node.kept) for node in found.nodes] == [
        ("draft", True, True),
        ("shout", True, True),
        ("each", True, False),
        ("post", True, False),
    ]


def test_what_a_fork_has_set_is_shown_at_its_node(tmp_path: Path) -> None:
    found = _forked(tmp_path, "shout", {"text": "about wasps "})
    assert not found.same_work
    assert {node.node: node.inputs for node in found.nodes if node.inputs} == {
        "shout": (comparison_result.Change(path="/text", kind="changed", before="about bees ", after="about wasps "),)
    }


def test_an_input_that_a_fork_has_set_to_what_it_was_is_no_difference(tmp_path: Path) -> None:
    found = _forked(tmp_path, "shout", {"text": "about bees "})
    assert found.same_work
    assert all(node.same for node in found.nodes)


def test_other_inputs_are_shown(tmp_path: Path) -> None:
    found = compared(tmp_path, topic="wasps")
    assert found.inputs == (comparison_result.Change(path="/topic", kind="changed", before="bees", after="wasps"),)
    assert not found.same_work


def test_a_changed_workflow_names_the_nodes_that_changed(tmp_path: Path) -> None:
    found = compared(tmp_path, workflow=proving.flow(shout_effect="idempotent"))
    assert (found.same_workflow, [node.node for node in found.nodes if node.redefined]) == (False, ["shout"])
    assert found.document()["redefined"] == ["shout"]


def test_nodes_of_only_one_run_are_shown(tmp_path: Path) -> None:
    alone = stage.workflow(stage.block("draft", inputs={"topic": "string"}, outputs=proving.TEXT))
    found = compared(tmp_path, workflow=alone)
    assert [(node.node, node.a is None, node.b is None, node.same) for node in found.nodes] == [
        ("draft", False, False, True),
        ("shout", False, True, False),
        ("each", False, True, False),
        ("post", False, True, False),
    ]
    assert found.document()["redefined"] == ["shout", "each", "post"]


def test_the_document_is_json_and_counts_what_was_used(tmp_path: Path) -> None:
    document = compared(tmp_path, sign="?").document()
    nodes = document["nodes"]
    assert isinstance(nodes, list)
    each = nodes[2]
    assert isinstance(each, dict)
    side = each["a"]
    assert isinstance(side, dict)
    wall = side["wallMs"]
    assert side == {
        "status": "done",
        "outcome": "succeeded",
        "visits": 1,
        "keptFrom": None,
        "keptItems": 0,
        "error": None,
        "attempts": 2,
        "tokens": 0,
        "costUsd": 0.0,
        "wallMs": wall,
    }


def test_a_node_that_a_fork_kept_names_the_run_it_is_from(tmp_path: Path) -> None:
    found = _forked(tmp_path, "each")
    sides = [(node.a, node.b) for node in found.nodes]
    assert [(a and a.kept_from, b and b.kept_from) for a, b in sides] == [
        (None, found.a.run_id),
        (None, found.a.run_id),
        (None, None),
        (None, None),
    ]


def test_other_outputs_of_the_run_are_shown(tmp_path: Path) -> None:
    flow = proving.flow(outputs={"loud": "shout.text"})
    workshop = proving.Workshop()

    async def story() -> comparison_result.Comparison:
        async with workshop.engine(tmp_path) as engine:
            first = await proving.finish(engine, flow)
            workshop.sign = "?"
            return await compare.compare(engine.store, first, await proving.finish(engine, flow))

    assert stage.play(story).outputs == (
        comparison_result.Change(path="/loud", kind="changed", before="ABOUT BEES !", after="ABOUT BEES ?"),
    )


def _told(root: Path, *messages: str | None) -> comparison_result.Comparison:
    """Two runs of `work`, then `after`; in each `work` fails with its message, or waits for a person where it is None.

    The second is still waiting when they are compared.
    """
    fails = stage.block("work", outputs=proving.TEXT)
    asks: dict[str, Json] = {"id": "work", "mode": "approval", "outputs": proving.TEXT}
    asks["approval"] = {"prompt": "Well?", "form": {"type": "object", "properties": {"text": {"type": "string"}}}}
    after = stage.block("after", inputs={"text": {"type": "string", "from": "work.text"}}, outputs=proving.TEXT)
    said = iter(messages)

    async def work(ctx: openskelo.Context) -> dict[str, Json]:
        raise ValueError(next(said))

    async def story() -> comparison_result.Comparison:
        async with stage.open_engine(root, work=work, after=work) as engine:
            runs: list[str] = []
            for message in messages:
                runs.append(await engine.start(stage.workflow(asks if message is None else fails, after), {}))
                await engine.wait(runs[-1])
            return await compare.compare(engine.store, *runs)

    return stage.play(story)


def test_two_failures_are_the_same_only_if_they_say_the_same(tmp_path: Path) -> None:
    found = _told(tmp_path / "one", "no ink", "no paper")
    assert [(node.node, node.verdict, node.differs) for node in found.nodes] == [
        ("work", "different", ("error",)),
        ("after", "same", ()),
    ]
    errors_said = [side and side.error and side.error["message"] for side in (found.nodes[0].a, found.nodes[0].b)]
    assert errors_said == ["ValueError: no ink", "ValueError: no paper"]
    again = _told(tmp_path / "two", "no ink", "no ink")
    assert (again.same_work, [node.same for node in again.nodes]) == (True, [True, True])


def test_what_may_still_come_to_another_result_is_not_called_the_same(tmp_path: Path) -> None:
    found = _told(tmp_path, None, None)
    assert [(node.node, node.verdict, node.same, node.differs) for node in found.nodes] == [
        ("work", "unfinished", False, ()),
        ("after", "unfinished", False, ()),
    ]


class _Watched(memory.MemoryStore):
    """A log that counts how often others had their turn while somebody was at a run's lines."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = 0
        self.between: list[int] = []

    async def read_events(self, run_id: str, *, after: int = 0) -> AsyncIterator[Sequence[bytes]]:
        began = self.turns
        async for lines in super().read_events(run_id, after=after):
            yield lines
        self.between.append(self.turns - began)


def test_others_have_their_turn_while_long_runs_are_compared(tmp_path: Path) -> None:
    local: Json = {"handler": "local:start"}
    later = [stage.block(f"n{at}", mode="deterministic", deterministic=local, outputs=proving.TEXT) for at in range(99)]
    many = stage.workflow(stage.block("start", outputs=proving.TEXT), *later)
    store = _Watched()

    async def start(ctx: openskelo.Context) -> dict[str, Json]:
        return {"text": "x"}

    async def story() -> int:
        async with stage.open_engine(tmp_path, store, start=start) as engine:
            runs = [await engine.start(many, {}) for _ in range(2)]
            for run_id in runs:
                await engine.wait(run_id)
            store.between.clear()
            comparing = asyncio.create_task(compare.compare(store, *runs))
            while not comparing.done():
                store.turns += 1
                await asyncio.sleep(0)
            return len((await comparing).nodes)

    assert stage.play(story) == 100
    assert len(store.between) == 2
    assert min(store.between) >= 2, store.between


def test_an_unknown_run_is_not_found(tmp_path: Path) -> None:
    async def story() -> None:
        async with proving.Workshop().engine(tmp_path) as engine:
            run_id = await proving.finish(engine)
            with pytest.raises(errors.NotFound):
                await compare.compare(engine.store, run_id, "3f0e8f0a-1111-4222-8333-444455556666")

    stage.play(story)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"b": 1}, [("/a", "removed"), ("/b", "added")]),
        ([1, 2], [1, 3, 4], [("/1", "changed"), ("/2", "added")]),
        ([1, 2], [1], [("/1", "removed")]),
        ({"a/b": {"~": 1}}, {"a/b": {"~": 2}}, [("/a~1b/~0", "changed")]),
        (True, 1, [("", "changed")]),
        (0, False, [("", "changed")]),
        ({}, [], [("", "changed")]),
        (None, None, []),
    ],
)
def test_values_part_at_json_pointers(before: Json, after: Json, expected: list[tuple[str, str]]) -> None:
    assert [(change.path, change.kind) for change in comparison_result.find_changes(before, after)] == expected


def test_the_list_of_differences_is_bounded() -> None:
    assert len(comparison_result.find_changes(list(range(500)), list(range(1, 501)))) == comparison_result.MAX_CHANGES
