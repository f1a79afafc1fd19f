"""A fork from a foreach: items that were done are taken over, and the others are done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

import openskelo
from openskelo import errors
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.history import compare, prune, replay
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json, JsonObject
from tests.engine import stage

LIST: dict[str, Json] = {"type": "array", "from": "inputs.words"}
LENGTH: dict[str, Json] = {"n": {"type": "integer"}}


class Worker:
    """Gives the length of each word, and raises for those that it does not like."""

    def __init__(self, *bad: str) -> None:
        self.bad: set[str] = set(bad)
        self.seen: list[str] = []

    def __call__(self, ctx: Any) -> JsonObject:
        self.seen.append(ctx.item)
        if ctx.item in self.bad:
            raise ValueError(f"no {ctx.item}")
        return {"n": len(ctx.item)}

    def again(self) -> list[str]:
        """What was worked on since somebody last asked, with all that is bad mended."""
        seen, self.seen, self.bad = self.seen, [], set[str]()
        return seen


def each(**more: Json) -> dict[str, Json]:
    fields: dict[str, Json] = {
        "foreach": {"items": "run.inputs.words", "as": "word", "concurrency": 1},
        "inputs": {"word": "string"},
        "outputs": LENGTH,
    }
    return stage.block("each", **{**fields, **more})


def total(**more: Json) -> dict[str, Json]:
    counts: dict[str, Json] = {"counts": {"type": "array", "from": "each.n"}}
    return stage.block("total", inputs=counts, outputs={"sum": "integer"}, **more)


def summed(ctx: Any) -> JsonObject:
    return {"sum": sum(ctx.inputs["counts"])}


def flow(*blocks: stage.Document) -> openskelo.Workflow:
    return stage.workflow(*(blocks or (each(), total())), inputs={"words": {"type": "array"}})


WORDS: JsonObject = {"words": ["a", "bb", "ccc", "dddd"]}


async def failed(opened: openskelo.Engine, workflow: openskelo.Workflow | None = None, **given: Json) -> str:
    run_id = await opened.start(workflow or flow(), {**WORDS, **given})
    assert (await opened.wait(run_id))["ending"] == "failed"
    return run_id


def test_only_what_was_not_done_is_done_and_results_are_in_order(tmp_path: Path) -> None:
    worker = Worker("ccc")

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, total=summed) as opened:
            run_id = await failed(opened)
            assert worker.again() == ["a", "bb", "ccc"]
            forked = await opened.fork(run_id, node="each")
            done = await opened.wait(forked)
            assert (done["ending"], done["outputs"]) == ("ok", {"sum": 10})
            assert stage.node(done, "each")["outputs"] == {"n": [1, 2, 3, 4]}
            assert worker.again() == ["ccc", "dddd"]
            assert cast("JsonObject", done["budget"])["steps"] == {"used": 3, "limit": None}
            assert stage.node(done, "each").get("items") == {"total": 4, "done": 4, "running": 0, "kept": 2}
            begun = (await stage.types(opened, forked))[:4]
            assert begun == ["run.created", "items.kept", "node.resolved", "attempt.started"]

    stage.play(story)


def test_a_fork_of_a_fork_takes_over_what_either_has_done(tmp_path: Path) -> None:
    worker = Worker("bb", "dddd")

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, total=summed) as opened:
            run_id = await failed(opened)
            worker.bad = {"dddd"}
            second = await opened.fork(run_id, node="each")
            assert (await opened.wait(second))["ending"] == "failed"
            worker.again()
            done = await opened.wait(await opened.fork(second, node="each"))
            assert (done["outputs"], worker.again()) == ({"sum": 10}, ["dddd"])

    stage.play(story)


@pytest.mark.parametrize(
    ("choice", "again"),
    [
        (None, ["a", "bb", "ccc", "dddd"]),
        ("all", ["a", "bb", "ccc", "dddd"]),
        ("unfinished", []),
        ([1, 3], ["bb", "dddd"]),
    ],
)
def test_a_foreach_that_came_to_its_end_is_done_again_as_one_wishes(
    tmp_path: Path, choice: Any, again: list[str]
) -> None:
    worker = Worker()

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, total=summed) as opened:
            run_id = await opened.start(flow(), WORDS)
            await opened.wait(run_id)
            worker.again()
            done = await opened.wait(await opened.fork(run_id, node="each", items=choice))
            assert (done["outputs"], worker.again()) == ({"sum": 10}, again)

    stage.play(story)


@pytest.mark.parametrize(
    ("choice", "again"),
    [("all", ["a", "bb", "ccc", "dddd"]), ("unfinished", ["ccc", "dddd"]), ([0], ["a", "ccc", "dddd"])],
)
def test_who_says_which_items_are_done_again_is_heard(tmp_path: Path, choice: Any, again: list[str]) -> None:
    worker = Worker("ccc")

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, total=summed) as opened:
            run_id = await failed(opened)
            worker.again()
            done = await opened.wait(await opened.fork(run_id, node="each", items=choice))
            assert (done["outputs"], worker.again()) == ({"sum": 10}, again)

    stage.play(story)


def test_two_equal_items_are_two(tmp_path: Path) -> None:
    """What another one gave does not stand in for one that is to be done again."""
    worker = Worker()

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, total=summed) as opened:
            run_id = await opened.start(flow(), {"words": ["a", "a", "a"]})
            await opened.wait(run_id)
            worker.again()
            await opened.wait(await opened.fork(run_id, node="each", items=[1]))
            assert worker.again() == ["a"]

    stage.play(story)


@pytest.mark.parametrize(
    ("words", "again"),
    [
        (["a", "bb", "cc", "dddd"], ["cc", "dddd"]),
        (["a", "x", "ccc"], ["x", "ccc"]),
        (["bb", "a"], ["bb", "a"]),  # a handler is told where an item stands
        (["a"], []),
        ([], []),
    ],
)
def test_an_item_is_taken_over_by_its_value_at_its_place(tmp_path: Path, words: list[Json], again: list[str]) -> None:
    worker = Worker("ccc")

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, total=summed) as opened:
            run_id = await failed(opened)
            worker.again()
            done = await opened.wait(await opened.fork(run_id, node="each", inputs={"words": words}))
            assert stage.node(done, "each")["outputs"] == {"n": [len(str(word)) for word in words]}
            assert worker.again() == again

    stage.play(story)


def transform(**more: Json) -> dict[str, Json]:
    """Fails for the word `ccc`."""
    config: JsonObject = {"map": {"n": "word == 'ccc' ? 1 / 0 : size(word)"}, **more}
    return each(
        foreach={"items": "inputs.words", "as": "word", "concurrency": 1},
        inputs={"words": LIST, "word": "string"},
        deterministic={"handler": "builtin:transform", "config": config},
    )


def started(log: list[JsonObject]) -> list[Json]:
    return [cast("JsonObject", event["data"]).get("item") for event in log if event["type"] == "attempt.started"]


@pytest.mark.parametrize(
    ("more", "again"),
    [({}, [1, 3]), ({"map": {"n": "word == 'ccc' ? 1 / 0 : size(word) + size(inputs.words) - 4"}}, [0, 1, 2, 3])],
    ids=["sees only its item", "sees the list"],
)
def test_the_list_does_not_count_where_work_on_one_item_cannot_see_the_others(
    tmp_path: Path, more: dict[str, Json], again: list[Json]
) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as opened:
            run_id = await failed(opened, flow(transform(**more)))
            words: Json = ["bb", "c", "a", "dddd"]  # those that were done stand elsewhere now
            forked = await opened.fork(run_id, node="each", inputs={"words": words})
            done = await opened.wait(forked)
            assert done["outputs"] == {"n": [2, 1, 1, 4]}
            log = [event async for event in opened.follow(forked, until_end=False)]
            assert started(log) == again

    stage.play(story)


LOUD: JsonObject = {"handler": "local:each", "config": {"loudly": True}}
GATE: JsonObject = {"name": "short", "type": "expr", "expression": "outputs.n < 9"}


@pytest.mark.parametrize(
    ("changed", "again"),
    [
        ({"retry": {"max_attempts": 2}, "timeout_ms": 60_000}, 2),
        ({"foreach": {"items": "run.inputs.words", "as": "word", "concurrency": 4}}, 2),
        ({"deterministic": LOUD}, 4),
        ({"post_gates": [GATE]}, 4),
        ({"inputs": {"word": "string", "tone": {"type": "string", "default": "kind"}}}, 4),
    ],
    ids=["retry", "concurrency", "config", "gate", "inputs"],
)
def test_items_of_other_work_are_not_taken_over(tmp_path: Path, changed: dict[str, Json], again: int) -> None:
    worker = Worker("ccc")

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, total=summed) as opened:
            run_id = await failed(opened)
            worker.again()
            done = await opened.wait(await opened.fork(run_id, node="each", workflow=flow(each(**changed), total())))
            assert (done["outputs"], len(worker.again())) == ({"sum": 10}, again)

    stage.play(story)


def test_who_asks_for_it_gets_items_of_other_work_unless_they_break_the_contract(tmp_path: Path) -> None:
    worker = Worker("ccc")
    most: dict[str, Json] = {"n": {"type": "integer", "minimum": 2}}

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, total=summed) as opened:
            run_id = await failed(opened)
            worker.again()
            loud = flow(each(deterministic=LOUD), total())
            await opened.wait(await opened.fork(run_id, node="each", workflow=loud, items="unfinished"))
            assert worker.again() == ["ccc", "dddd"]
            other = flow(each(outputs=most), total())
            forked = await opened.fork(run_id, node="each", workflow=other, items="unfinished")
            assert (await opened.wait(forked))["ending"] == "failed"
            assert worker.again()[0] == "a"

    stage.play(story)


@pytest.mark.parametrize(("effect", "again"), [("idempotent", 4), ("once", 2)])
def test_code_of_the_project_that_has_changed_does_all_items_again_unless_they_happen_once(
    tmp_path: Path, effect: str, again: int
) -> None:
    code = tmp_path / "work.py"
    body = "def each(ctx):\n    if ctx.item == BAD:\n        raise ValueError('no')\n    return {'n': len(ctx.item)}\n"

    async def story() -> None:
        async with stage.engine(tmp_path, total=summed) as opened:
            handled: JsonObject = {"handler": "work.py:each"}
            code.write_text(f"BAD = 'ccc'\n{body}")
            blocks: list[Json] = [each(deterministic=handled, effect=effect), total()]
            document: JsonObject = {"name": "staged", "blocks": blocks, "inputs": {"words": {"type": "array"}}}
            workflow = openskelo.from_document(document, root=tmp_path)
            run_id = await failed(opened, workflow)
            same = await opened.wait(await opened.fork(run_id, node="each"))
            assert (same["ending"], stage.node(same, "each")["attempts"]) == ("failed", 1)
            code.write_text(f"BAD = 'x'\n{body}")
            done = await opened.wait(await opened.fork(run_id, node="each"))
            assert (done["outputs"], stage.node(done, "each")["attempts"]) == ({"sum": 10}, again)
            kept = await opened.wait(await opened.fork(run_id, node="each", items="unfinished"))
            assert (kept["outputs"], stage.node(kept, "each")["attempts"]) == ({"sum": 10}, 2)
            code.unlink()
            gone = await opened.wait(await opened.fork(run_id, node="each"))
            assert (gone["status"], stage.node(gone, "each")["attempts"]) == ("paused", 1)

    stage.play(story)


def test_work_without_the_cache_is_done_anew_unless_items_are_named(tmp_path: Path) -> None:
    worker = Worker("ccc")
    project = openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo")

    async def story() -> None:
        async with await openskelo.Engine.open(
            project, handlers={"each": worker, "total": summed}, cache=False
        ) as opened:
            run_id = await failed(opened)
            worker.again()
            await opened.wait(await opened.fork(run_id, node="each"))
            assert len(worker.again()) == 4
            await opened.wait(await opened.fork(run_id, node="each", items="unfinished"))
            assert len(worker.again()) == 2

    stage.play(story)


def test_items_beside_the_node_that_is_done_again_are_kept_too(tmp_path: Path) -> None:
    """What was under way elsewhere when the run failed had done some of its items."""
    worker = Worker()
    ended: list[int] = []

    def last(ctx: Any) -> JsonObject:
        ended.append(ctx.attempt)
        if len(ended) == 1:
            raise ValueError("not yet")
        return {"sum": 0}

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, last=last) as opened:
            beside = stage.block("last", inputs={"words": LIST}, outputs={"sum": "integer"})
            run_id = await failed(opened, flow(each(), beside), words=["a", "bb"])
            before = worker.again()
            done = await opened.wait(await opened.fork(run_id, node="last"))
            assert stage.node(done, "each")["outputs"] == {"n": [1, 2]}
            assert len(before) + len(worker.again()) <= 3  # one of them may have been stopped

    stage.play(story)


def test_a_prompt_or_gate_that_looks_at_the_run_counts_with_its_inputs(tmp_path: Path) -> None:
    worker = Worker("ccc")
    gate: JsonObject = {"name": "short", "type": "expr", "expression": "outputs.n < run.inputs.most"}
    judged = stage.workflow(
        each(post_gates=[gate]), total(), inputs={"words": {"type": "array"}, "most": {"type": "integer"}}
    )

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, total=summed) as opened:
            run_id = await failed(opened, judged, most=9)
            worker.again()
            await opened.wait(await opened.fork(run_id, node="each", inputs={"most": 8}))
            assert len(worker.again()) == 4
            await opened.wait(await opened.fork(run_id, node="each"))
            assert len(worker.again()) == 2

    stage.play(story)


@pytest.mark.parametrize(
    ("node", "choice", "code"),
    [
        ("total", "unfinished", "FORK_INVALID"),
        ("each", [4], "FORK_INVALID"),
        ("each", [-1], "FORK_INVALID"),
        ("each", "some", "USAGE"),
        ("each", ["1"], "USAGE"),
        ("each", [True], "USAGE"),
    ],
)
def test_items_that_there_are_not_are_refused_and_nothing_begins(
    tmp_path: Path, node: str, choice: Any, code: str
) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, each=Worker("ccc"), total=summed) as opened:
            run_id = await failed(opened)
            with pytest.raises(errors.InvalidInput) as refused:
                await opened.fork(run_id, node=node, items=choice)
            assert refused.value.code == code
            assert len(await opened.store.list_runs()) == 1

    stage.play(story)


def test_items_that_were_done_on_what_a_person_has_changed_are_done_again(tmp_path: Path) -> None:
    worker = Worker("ccc")
    asked: dict[str, Json] = {
        "foreach": {"items": "inputs.words", "as": "word", "concurrency": 1},
        "inputs": {"words": LIST, "word": "string"},
        "approval": {"prompt": "All of them?"},
    }

    async def answered(opened: openskelo.Engine, run_id: str, **answer: Any) -> RunDocument:
        (question,) = stage.approvals(await opened.wait(run_id))
        await opened.answer(str(question["id"]), **answer)
        return await opened.wait(run_id)

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, total=summed) as opened:
            run_id = await opened.start(flow(each(**asked), total()), {"words": ["a"]})
            changed = await answered(opened, run_id, status="modified", modified_args=WORDS)
            assert (changed["ending"], worker.again()) == ("failed", ["a", "bb", "ccc"])
            with pytest.raises(errors.InvalidInput) as refused:
                await opened.fork(run_id, node="each", items="unfinished")
            assert refused.value.code == "FORK_INVALID"
            done = await answered(opened, await opened.fork(run_id, node="each"), status="approved")
            assert (done["outputs"], worker.again()) == ({"sum": 1}, ["a"])

    stage.play(story)


def test_an_item_whose_file_is_gone_is_done_again(tmp_path: Path) -> None:
    worker = Worker("ccc")

    def written(ctx: Any) -> JsonObject:
        (tmp_path / f"{ctx.item}.txt").write_text(str(worker(ctx)["n"]))
        return {"file": f"{ctx.item}.txt"}

    async def story() -> None:
        async with stage.engine(tmp_path, each=written) as opened:
            run_id = await failed(opened, flow(each(outputs={"file": {"type": "file"}})))
            worker.again()
            (tmp_path / "a.txt").unlink()
            done = await opened.wait(await opened.fork(run_id, node="each"))
            assert (done["ending"], worker.again()) == ("ok", ["a", "ccc", "dddd"])

    stage.play(story)


def test_items_in_a_used_file_are_taken_over_and_its_inputs_are_those_that_count(tmp_path: Path) -> None:
    worker = Worker("ccc")
    gate: JsonObject = {"name": "few", "type": "expr", "expression": "outputs.n < size(run.inputs.words) + 9"}
    inner: JsonObject = {
        "name": "inner",
        "inputs": {"words": {"type": "array"}},
        "blocks": [each(post_gates=[gate])],
        "outputs": {"n": "each.n"},
    }
    (tmp_path / "inner.json").write_text(json.dumps(inner))
    using: JsonObject = {"id": "sub", "uses": "./inner.json", "inputs": {"words": {"from": "inputs.words"}}}
    outer: JsonObject = {
        "name": "outer",
        "inputs": {"words": {"type": "array"}, "topic": {"type": "string", "default": "ink"}},
        "blocks": [using],
    }
    (tmp_path / "outer.json").write_text(json.dumps(outer))

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker) as opened:
            run_id = await failed(opened, openskelo.load(tmp_path / "outer.json", root=tmp_path))
            worker.again()
            done = await opened.wait(await opened.fork(run_id, node="sub/each", inputs={"topic": "pens"}))
            assert (done["outputs"], worker.again()) == ({"n": [1, 2, 3, 4]}, ["ccc", "dddd"])

    stage.play(story)


def test_large_results_outlive_the_run_that_they_were_taken_over_from(tmp_path: Path) -> None:
    worker = Worker("ccc")

    def long(ctx: Any) -> JsonObject:
        return {"text": str(worker(ctx)["n"]) * 40_000}

    async def story() -> None:
        async with stage.engine(tmp_path, each=long) as opened:
            run_id = await failed(opened, flow(each(outputs={"text": "string"})))
            worker.again()
            forked = await opened.fork(run_id, node="each")
            await opened.wait(forked)
            assert worker.again() == ["ccc", "dddd"]
            await prune.delete_run(opened.store, run_id)
            await opened.store.sweep_blobs(forget={run_id})
            texts = cast("list[str]", (await opened.show(forked))["outputs"]["text"])
            assert [text[0] for text in texts] == ["1", "2", "3", "4"]

    stage.play(story)


def test_items_of_a_foreach_that_was_kept_as_a_whole_are_those_of_the_run_before(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, each=Worker(), total=summed) as opened:
            run_id = await opened.start(flow(), WORDS)
            await opened.wait(run_id)
            second = await opened.fork(run_id, node="total")
            await opened.wait(second)
            with pytest.raises(errors.InvalidInput) as refused:
                await opened.fork(second, node="each", items=[1])
            assert (refused.value.code, run_id in str(refused.value.hint)) == ("FORK_INVALID", True)

    stage.play(story)


def test_the_record_of_such_a_fork_is_compared_and_replayed(tmp_path: Path) -> None:
    worker = Worker("ccc")

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, total=summed) as opened:
            run_id = await failed(opened)
            worker.again()
            forked = await opened.fork(run_id, node="each")
            await opened.wait(forked)
            whole = await opened.start(flow(), WORDS)
            await opened.wait(whole)
            found = await compare.compare(opened.store, whole, forked)
            assert (found.same_work, [node.same for node in found.nodes]) == (True, [True, True])
            (side,) = (node.b for node in found.nodes if node.node == "each")
            assert side is not None
            assert (side.kept_items, side.kept_from, side.use.attempts) == (2, run_id, 2)
            performer = attempt_performer.Performer(project=opened.project, blobs=replay.DiscardedBlobs())
            report = await replay.replay(opened.store, forked, performer)
            assert (report.ok, [step.item for step in report.steps]) == (True, [2, 3, None])

    stage.play(story)


# -- failed items that are kept ---------------------------------------------------------------------------------------


def keeping(**more: Json) -> dict[str, Json]:
    foreach: JsonObject = {"items": "run.inputs.words", "as": "word", "concurrency": 1, "on_fail": "keep"}
    return each(foreach=foreach, **more)


def tolerant(**more: Json) -> dict[str, Json]:
    """A block that adds what there is, if at most one item has failed."""
    inputs: dict[str, Json] = {
        "counts": {"type": "array", "from": "each.n", "transform": "value.filter(n, n != null)"},
        "errors": {"type": "array", "from": "each.errors"},
    }
    gate: JsonObject = {"name": "few", "type": "expr", "expression": "size(inputs.errors) <= 1"}
    return stage.block("total", inputs=inputs, outputs={"sum": "integer"}, pre_gates=[gate], **more)


def no(index: int, word: str) -> JsonObject:
    return {"index": index, "code": "HANDLER_RAISED", "message": f"ValueError: no {word}"}


def test_a_failed_item_is_null_and_listed_and_the_run_goes_on(tmp_path: Path) -> None:
    worker = Worker("bb")

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, total=summed) as opened:
            run_id = await opened.start(flow(keeping(), tolerant()), WORDS)
            done = await opened.wait(run_id)
            assert (done["ending"], done["outputs"]) == ("ok", {"sum": 8})
            node = stage.node(done, "each")
            assert node["outputs"] == {"n": [1, None, 3, 4], "errors": [no(1, "bb")]}
            assert (node["outcome"], node.get("items")) == (
                "succeeded",
                {"total": 4, "done": 4, "running": 0, "failed": 1},
            )
            assert (await opened.verify(run_id)).intact

    stage.play(story)


def test_a_gate_judges_how_many_items_have_failed(tmp_path: Path) -> None:
    worker = Worker("bb", "dddd")

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, total=summed) as opened:
            run_id = await opened.start(flow(keeping(), tolerant()), WORDS)
            done = await opened.wait(run_id)
            error = stage.error(done)
            assert (done["ending"], error["code"], error.get("node")) == ("failed", "PRE_GATE_FAILED", "total")
            assert worker.again() == ["a", "bb", "ccc", "dddd"]
            again = await opened.wait(await opened.fork(run_id, node="each", items="unfinished"))
            assert (again["ending"], again["outputs"], worker.again()) == ("ok", {"sum": 10}, ["bb", "dddd"])
            assert stage.node(again, "each")["outputs"] == {"n": [1, 2, 3, 4], "errors": []}

    stage.play(story)


def test_a_fork_after_a_foreach_keeps_its_failed_items(tmp_path: Path) -> None:
    worker = Worker("bb")

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, total=summed) as opened:
            run_id = await opened.start(flow(keeping(), tolerant()), WORDS)
            first = await opened.wait(run_id)
            worker.again()
            forked = await opened.fork(run_id, node="total")
            done = await opened.wait(forked)
            assert (done["outputs"], worker.again()) == ({"sum": 8}, [])
            assert stage.node(done, "each")["outputs"] == stage.node(first, "each")["outputs"]
            twice = await opened.wait(await opened.fork(forked, node="total"))
            assert stage.node(twice, "each")["outputs"] == stage.node(first, "each")["outputs"]
            assert (await opened.verify(forked)).intact

    stage.play(story)


def test_failed_items_do_not_fit_a_workflow_that_no_longer_keeps_them(tmp_path: Path) -> None:
    worker = Worker("bb")

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, total=summed) as opened:
            run_id = await opened.start(flow(keeping(), tolerant()), WORDS)
            await opened.wait(run_id)
            with pytest.raises(errors.InvalidInput) as refusal:
                await opened.fork(run_id, node="total", workflow=flow())
            assert refusal.value.code == "KEPT_INVALID"
            done = await opened.wait(
                await opened.fork(run_id, node="total", workflow=flow(keeping(cache=False), tolerant()))
            )
            assert done["outputs"] == {"sum": 8}

    stage.play(story)


def test_a_changed_contract_is_not_asked_of_items_that_have_failed(tmp_path: Path) -> None:
    worker = Worker("bb")

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, total=summed) as opened:
            run_id = await opened.start(flow(keeping(), tolerant()), WORDS)
            await opened.wait(run_id)
            small = flow(keeping(outputs={"n": {"type": "integer", "maximum": 9}}), tolerant())
            done = await opened.wait(await opened.fork(run_id, node="total", workflow=small))
            assert done["outputs"] == {"sum": 8}

    stage.play(story)


def test_items_that_were_done_before_the_workflow_kept_failed_ones_are_taken_over(tmp_path: Path) -> None:
    worker = Worker("ccc")

    async def story() -> None:
        async with stage.engine(tmp_path, each=worker, total=summed) as opened:
            run_id = await failed(opened)
            worker.seen = []
            done = await opened.wait(await opened.fork(run_id, node="each", workflow=flow(keeping(), tolerant())))
            assert (done["outputs"], worker.again()) == ({"sum": 7}, ["ccc", "dddd"])

    stage.play(story)
