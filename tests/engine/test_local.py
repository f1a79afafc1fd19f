"""Runs from start to end over a real SQLite log: what a user of the Python interface may rely on."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any, cast

import pytest

import openskelo
from openskelo.kernel.json import Json, JsonObject
from tests.engine import stage

NUMBER: dict[str, Json] = {"n": "integer"}


async def one(ctx: openskelo.Context) -> dict[str, Json]:
    return {"n": 1}


async def double(ctx: openskelo.Context) -> dict[str, Json]:
    return {"n": cast("int", ctx.inputs["n"]) * 2}


def test_a_chain_carries_values_to_the_outputs(tmp_path: Path) -> None:
    flow = stage.workflow(
        stage.block("one", outputs=NUMBER),
        stage.block("double", inputs={"n": {"type": "integer", "from": "one.n"}}, outputs=NUMBER),
    )

    async def story() -> None:
        async with stage.engine(tmp_path, one=one, double=double) as engine:
            run_id = await engine.start(flow)
            document = await engine.wait(run_id)
            assert (document["status"], document["ending"], document["outputs"]) == ("completed", "ok", {"n": 2})
            assert await stage.types(engine, run_id) == [
                "run.created",
                "attempt.started",
                "attempt.succeeded",
                "attempt.started",
                "attempt.succeeded",
                "run.ended",
            ]
            assert (await engine.store.find_run(run_id)).status == "completed"  # type: ignore[union-attr]

    stage.play(story)


def test_each_run_of_a_workflow_has_its_own_inputs_and_is_refused_for_its_own(tmp_path: Path) -> None:
    flow = stage.workflow(
        stage.block("double", inputs={"n": {"type": "integer", "from": "inputs.n"}}, outputs=NUMBER),
        inputs={"n": "integer", "more": {"type": "array", "default": [0]}},
    )

    given: list[JsonObject] = [{"n": 1, "more": [1]}, {"n": "x"}, {"more": []}, {"n": 1, "m": 2}, {"n": 2.0}]

    async def story() -> list[Json]:
        async with stage.engine(tmp_path, double=double) as engine:
            found: list[Json] = []
            for inputs in given:
                try:
                    found.append((await engine.wait(await engine.start(flow, inputs)))["inputs"])
                except openskelo.InvalidInput as error:
                    found.append(error.code)
            return found

    assert stage.play(story) == [
        {"n": 1, "more": [1]},
        "INPUT_INVALID",
        "INPUT_MISSING",
        "INPUT_UNKNOWN",
        {"n": 2, "more": [0]},
    ]


def test_wrong_inputs_start_nothing(tmp_path: Path) -> None:
    flow = stage.workflow(stage.block("double", inputs=NUMBER, outputs=NUMBER))

    async def story() -> None:
        async with stage.engine(tmp_path, double=double) as engine:
            for inputs, code in (
                ({}, "INPUT_MISSING"),
                ({"n": "x"}, "INPUT_INVALID"),
                ({"n": 1, "m": 2}, "INPUT_UNKNOWN"),
                ({"n": float("nan")}, "NUMBER_INVALID"),
                ({"n": 2**60 + 1}, "NUMBER_RANGE"),
            ):
                with pytest.raises(openskelo.InvalidInput) as caught:
                    await engine.start(flow, cast("dict[str, Json]", inputs))
                assert caught.value.code == code
            assert await engine.store.list_runs() == []

    stage.play(story)


def test_an_input_that_only_a_block_has_is_told_how_it_becomes_one(tmp_path: Path) -> None:
    flow = stage.workflow(stage.block("double", inputs={"n": "integer", "tone": "string?"}, outputs=NUMBER))

    async def story() -> None:
        async with stage.engine(tmp_path, double=double) as engine:
            for name, hint in (
                ("tone", "double has an input tone that nothing feeds: write `from: inputs.tone` on it"),
                ("ton", "it has n"),
            ):
                with pytest.raises(openskelo.InvalidInput) as caught:
                    await engine.start(flow, {"n": 1, name: "calm"})
                assert (caught.value.code, caught.value.hint) == ("INPUT_UNKNOWN", hint)

    stage.play(story)


def test_inputs_that_refer_to_nothing_start_nothing(tmp_path: Path) -> None:
    flow = stage.workflow(
        stage.block("read", inputs={"path": "file?", "picture": "artifact?"}, outputs={"n": "integer"}),
        inputs={"path": "file?", "picture": "artifact?"},
    )
    outside = tmp_path / "outside.txt"
    outside.write_text("out")
    project = tmp_path / "project"
    project.mkdir()

    async def story() -> None:
        async with stage.engine(project, read=one) as engine:
            for inputs, said in (
                ({"path": "nope.txt"}, "input 'path': there is no such file"),
                ({"path": "."}, "input 'path': the path leads outside the folders that this project allows"),
                ({"path": str(outside)}, "input 'path': the path leads outside the folders that this project allows"),
                ({"path": "a\0b"}, "input 'path': the path is empty or holds a NUL character"),
                ({"picture": "cat.png"}, "input 'picture': not of the form artifact://<uuid>"),
                ({"picture": f"artifact://{uuid.UUID(int=0)}"}, "input 'picture': there is no such artifact"),
            ):
                with pytest.raises(openskelo.InvalidInput) as caught:
                    await engine.start(flow, cast("dict[str, Json]", inputs))
                assert (caught.value.code, caught.value.message) == ("INPUT_INVALID", said)
            assert await engine.store.list_runs() == []
            (project / "yes.txt").write_text("yes")
            run_id = await engine.start(flow, {"path": "yes.txt"})
            assert (await engine.wait(run_id))["outputs"] == {"n": 1}

    stage.play(story)


def test_an_artifact_is_one_that_a_run_has_kept(tmp_path: Path) -> None:
    made: list[str] = []

    async def leave(ctx: openskelo.Context) -> dict[str, Json]:
        ctx.log("something")
        return {"n": 1}

    async def point(ctx: openskelo.Context) -> dict[str, Json]:
        return {"picture": made[0]}

    left = stage.workflow(stage.block("leave", outputs={"n": "integer"}))
    pointing = stage.workflow(stage.block("point", outputs={"picture": "artifact"}))

    async def story() -> None:
        async with stage.engine(tmp_path, leave=leave, point=point) as engine:
            run_id = await engine.start(left)
            await engine.wait(run_id)
            made.append(f"artifact://{uuid.UUID(int=0)}")
            wrong = await engine.wait(await engine.start(pointing))
            assert stage.node(wrong, "point")["outcome"] == "failed"
            assert stage.error(wrong)["message"] == "output 'picture': there is no such artifact"
            events = [event async for event in engine.follow(run_id)]
            (note,) = [
                cast("Any", event)["data"]["artifact"] for event in events if event["type"] == "artifact.created"
            ]
            made[0] = f"artifact://{note['id']}"
            assert (await engine.wait(await engine.start(pointing)))["outputs"] == {"picture": made[0]}

    stage.play(story)


def test_a_workflow_that_needs_a_model_is_refused_without_one(tmp_path: Path) -> None:
    flow = stage.workflow({"id": "write", "outputs": {"text": "string"}})

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            with pytest.raises(openskelo.InvalidInput) as caught:
                await engine.start(flow)
            assert caught.value.code == "PROVIDER_MISSING"
            assert await engine.store.list_runs() == []

    stage.play(story)


def test_the_failure_of_a_node_ends_the_run_and_says_where(tmp_path: Path) -> None:
    async def broken(ctx: openskelo.Context) -> dict[str, Json]:
        raise ValueError("no such luck")

    flow = stage.workflow(
        stage.block("broken", outputs=NUMBER),
        stage.block("double", inputs={"n": {"type": "integer", "from": "broken.n"}}, outputs=NUMBER),
    )

    async def story() -> None:
        async with stage.engine(tmp_path, broken=broken, double=double) as engine:
            document = await engine.wait(await engine.start(flow))
            error = stage.error(document)
            assert (document["status"], document["ending"]) == ("failed", "failed")
            assert (error["code"], error.get("node")) == ("HANDLER_RAISED", "broken")
            assert "no such luck" in error["message"]
            assert stage.node(document, "double")["outcome"] is None

    stage.play(story)


def test_a_retry_sees_why_the_last_attempt_failed(tmp_path: Path) -> None:
    seen: list[Json] = []

    async def picky(ctx: openskelo.Context) -> dict[str, Json]:
        seen.append(ctx.feedback)
        return {"n": "wrong" if ctx.feedback is None else 7}

    flow = stage.workflow(stage.block("picky", outputs=NUMBER, retry={"max_attempts": 2, "delay_ms": 1}))

    async def story() -> None:
        async with stage.engine(tmp_path, picky=picky) as engine:
            document = await engine.wait(await engine.start(flow))
            assert document["outputs"] == {"n": 7}
            assert stage.node(document, "picky")["attempts"] == 2

    stage.play(story)
    assert seen[0] is None
    assert cast("dict[str, dict[str, Json]]", seen[1])["error"]["code"] == "OUTPUT_CONTRACT"


def test_a_gate_sends_the_work_back_with_its_verdict(tmp_path: Path) -> None:
    drafts = iter([1, 5])
    heard: list[Json] = []

    async def draft(ctx: openskelo.Context) -> dict[str, Json]:
        heard.append(ctx.feedback)
        return {"n": next(drafts)}

    flow = stage.workflow(
        stage.block("draft", outputs=NUMBER),
        stage.block(
            "double",
            inputs={"n": {"type": "integer", "from": "draft.n"}},
            outputs=NUMBER,
            post_gates=[{"name": "big", "type": "expr", "expression": "outputs.n >= 10", "error": "too small"}],
            on_gate_fail=[{"when_gate": "big", "route_to": "draft", "max_bounces": 2}],
        ),
    )

    async def story() -> None:
        async with stage.engine(tmp_path, draft=draft, double=double) as engine:
            document = await engine.wait(await engine.start(flow))
            assert document["outputs"] == {"n": 10}
            assert [stage.node(document, key)["visits"] for key in ("draft", "double")] == [2, 2]

    stage.play(story)
    feedback = cast("dict[str, Json]", heard[1])
    assert heard[0] is None
    assert (feedback["from"], feedback["bounce"]) == ("double", 1)
    assert cast("list[dict[str, Json]]", feedback["verdicts"])[0]["gate"] == "big"


def test_a_branch_not_taken_is_skipped_through_its_join(tmp_path: Path) -> None:
    source: dict[str, Json] = {"type": "integer", "from": "one.n"}
    flow = stage.workflow(
        stage.block("one", outputs=NUMBER),
        stage.block("double", inputs={"n": source}, outputs=NUMBER, when="inputs.n > 5"),
        stage.block("after", inputs={"n": {"type": "integer", "from": "double.n"}}, outputs=NUMBER),
        stage.block(
            "join",
            inputs={
                "left": {"type": "integer", "required": False, "from": "after.n"},
                "right": {"type": "integer", "from": "one.n"},
            },
            outputs=NUMBER,
        ),
    )

    async def join(ctx: openskelo.Context) -> dict[str, Json]:
        return {"n": ctx.inputs.get("left", ctx.inputs["right"])}

    async def story() -> None:
        async with stage.engine(tmp_path, one=one, double=double, after=double, join=join) as engine:
            document = await engine.wait(await engine.start(flow))
            outcomes = {key: stage.node(document, key)["outcome"] for key in ("one", "double", "after", "join")}
            assert outcomes == {"one": "succeeded", "double": "skipped", "after": "skipped", "join": "succeeded"}
            assert document["ending"] == "ok"

    stage.play(story)


def test_foreach_keeps_the_order_of_its_items_and_the_bound_on_how_many_run(tmp_path: Path) -> None:
    running = 0
    most = 0

    async def square(ctx: openskelo.Context) -> dict[str, Json]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.002 * (5 - cast("int", ctx.item)))
        running -= 1
        return {"n": cast("int", ctx.item) ** 2}

    flow = stage.workflow(
        stage.block(
            "square",
            inputs={"numbers": {"type": "array", "items": {"type": "integer"}}},
            outputs=NUMBER,
            foreach={"items": "inputs.numbers", "as": "number", "concurrency": 2},
        )
    )

    async def story() -> None:
        async with stage.engine(tmp_path, square=square) as engine:
            document = await engine.wait(await engine.start(flow, {"numbers": [1, 2, 3, 4]}))
            assert document["outputs"] == {"n": [1, 4, 9, 16]}
            empty = await engine.wait(await engine.start(flow, {"numbers": []}))
            assert empty["ending"] == "ok"

    stage.play(story)
    assert most == 2


def test_an_edge_transform_changes_the_value_and_its_error_fails_the_node(tmp_path: Path) -> None:
    def flow(transform: str) -> openskelo.Workflow:
        bound: dict[str, Json] = {"type": "integer", "from": "one.n", "transform": transform}
        return stage.workflow(
            stage.block("one", outputs=NUMBER), stage.block("double", inputs={"n": bound}, outputs=NUMBER)
        )

    async def story() -> None:
        async with stage.engine(tmp_path, one=one, double=double) as engine:
            document = await engine.wait(await engine.start(flow("value + 20")))
            assert document["outputs"] == {"n": 42}
            failed = await engine.wait(await engine.start(flow("value / (value - 1)")))
            assert stage.error(failed)["code"] == "EXPR_FAILED"

    stage.play(story)


def test_a_timeout_really_stops_the_work(tmp_path: Path) -> None:
    stopped = asyncio.Event()

    async def sleepy(ctx: openskelo.Context) -> dict[str, Json]:
        try:
            await asyncio.sleep(20)
        finally:
            stopped.set()
        return {"n": 1}

    flow = stage.workflow(stage.block("sleepy", outputs=NUMBER, timeout_ms=30))

    async def story() -> None:
        async with stage.engine(tmp_path, sleepy=sleepy) as engine:
            document = await engine.wait(await engine.start(flow))
            assert stage.error(document)["code"] == "TIMEOUT"
            assert stopped.is_set()

    stage.play(story)


def test_a_cached_result_is_not_computed_again(tmp_path: Path) -> None:
    calls = 0

    async def slow(ctx: openskelo.Context) -> dict[str, Json]:
        nonlocal calls
        calls += 1
        return {"n": cast("int", ctx.inputs["n"]) + 1}

    flow = stage.workflow(stage.block("slow", inputs=NUMBER, outputs=NUMBER, cache=True))

    async def story() -> None:
        async with stage.engine(tmp_path, slow=slow) as engine:
            first = await engine.wait(await engine.start(flow, {"n": 1}))
            second = await engine.wait(await engine.start(flow, {"n": 1}))
            other = await engine.wait(await engine.start(flow, {"n": 2}))
            assert [document["outputs"] for document in (first, second, other)] == [{"n": 2}, {"n": 2}, {"n": 3}]

    stage.play(story)
    assert calls == 2


def test_budgets_end_the_run_before_the_step_that_would_exceed_them(tmp_path: Path) -> None:
    flow = stage.workflow(
        stage.block("one", outputs=NUMBER),
        stage.block("double", inputs={"n": {"type": "integer", "from": "one.n"}}, outputs=NUMBER),
        budgets={"max_steps": 1},
    )

    async def story() -> None:
        async with stage.engine(tmp_path, one=one, double=double) as engine:
            document = await engine.wait(await engine.start(flow))
            assert (document["status"], document["ending"]) == ("failed", "budget_exceeded")
            assert stage.node(document, "double")["attempts"] == 0
            assert cast("dict[str, Json]", document["budget"])["steps"] == {"used": 1, "limit": 1}

    stage.play(story)


def test_the_wall_budget_stops_work_that_is_under_way(tmp_path: Path) -> None:
    async def sleepy(ctx: openskelo.Context) -> dict[str, Json]:
        await asyncio.sleep(20)
        return {"n": 1}

    flow = stage.workflow(stage.block("sleepy", outputs=NUMBER), budgets={"max_wall_ms": 40})

    async def story() -> None:
        async with stage.engine(tmp_path, sleepy=sleepy) as engine:
            document = await engine.wait(await engine.start(flow))
            assert document["ending"] == "budget_exceeded"
            assert stage.node(document, "sleepy")["outcome"] == "cancelled"

    stage.play(story)


def test_large_values_live_in_blobs_and_come_back_whole(tmp_path: Path) -> None:
    text = "ä" * 100_000

    async def big(ctx: openskelo.Context) -> dict[str, Json]:
        return {"text": text}

    async def count(ctx: openskelo.Context) -> dict[str, Json]:
        return {"n": len(cast("str", ctx.inputs["text"]))}

    flow = stage.workflow(
        stage.block("big", outputs={"text": "string"}),
        stage.block("count", inputs={"text": {"type": "string", "from": "big.text"}}, outputs=NUMBER),
    )

    async def story() -> None:
        async with stage.engine(tmp_path, big=big, count=count) as engine:
            run_id = await engine.start(flow)
            document = await engine.wait(run_id)
            assert document["outputs"] == {"n": 100_000}
            assert stage.node(document, "big")["outputs"] == {"text": text}
            lines = [event async for event in engine.follow(run_id)]
            assert max(len(str(line)) for line in lines) < 10_000

    stage.play(story)


def test_two_expressions_that_fail_at_once_end_the_run_once(tmp_path: Path) -> None:
    """The second one is not asked any more: the run has ended over the first."""
    bad: dict[str, Json] = {"type": "integer", "from": "one.n", "transform": "1 / (value - 1)"}
    flow = stage.workflow(
        stage.block("one", outputs=NUMBER),
        stage.block("left", inputs={"n": bad}, outputs=NUMBER),
        stage.block("right", inputs={"n": bad}, outputs=NUMBER),
    )

    async def story() -> None:
        async with stage.engine(tmp_path, one=one, left=double, right=double) as engine:
            document = await engine.wait(await engine.start(flow))
            assert stage.error(document)["code"] == "EXPR_FAILED"

    stage.play(story)


def test_an_answer_that_was_made_earlier_is_not_logged_in_the_past(tmp_path: Path) -> None:
    """A large answer takes time to keep; meanwhile the run moves on, and its log must not go back in time."""
    flow = stage.workflow(
        {
            "id": "ask",
            "mode": "approval",
            "approval": {"prompt": "?", "form": {"text": "string"}},
            "outputs": {"text": "string"},
        },
        *(stage.block(f"t{i}", outputs=NUMBER, after=[f"t{i - 1}"] if i else []) for i in range(60)),
    )

    async def tick(ctx: openskelo.Context) -> dict[str, Json]:
        await asyncio.sleep(0.001)
        return {"n": 1}

    async def story() -> None:
        async with stage.engine(tmp_path, None, **{f"t{i}": tick for i in range(60)}) as engine:
            run_id = await engine.start(flow)
            asked = await engine.store.list_approvals(run_id)
            text = "x" * 5_000_000
            await engine.answer(asked[0].approval_id, status="approved", modified_args={"text": text}, by="ann")
            await engine.wait(run_id)
            stamps = [cast("str", event["ts"]) async for event in engine.follow(run_id)]
            assert stamps == sorted(stamps)
            assert len(stamps) > 120

    stage.play(story)


def test_a_run_that_needs_a_handler_nobody_brings_is_neither_started_nor_resumed(tmp_path: Path) -> None:
    ask: dict[str, Json] = {"id": "ask", "mode": "approval", "approval": {"prompt": "Go on?"}}
    flow = stage.workflow(ask, stage.block("a", after=["ask"]))

    async def story() -> list[str]:
        codes: list[str] = []
        async with stage.engine(tmp_path, a=lambda _: {}) as engine:
            run_id = await engine.start(flow)
            await engine.wait(run_id)
        async with stage.engine(tmp_path) as engine:
            for trying in (engine.start(flow), engine.resume(run_id)):
                with pytest.raises(openskelo.InvalidInput) as refused:
                    await trying
                codes.append(refused.value.code)
            codes += [str((await engine.show(run_id))["status"]), str(len(await engine.store.list_runs()))]
        return codes

    assert stage.play(story) == ["HANDLER_UNKNOWN", "HANDLER_UNKNOWN", "paused", "1"]
