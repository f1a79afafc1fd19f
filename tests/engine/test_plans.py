"""Plans through the engine: what steps are given, people, contexts, forks, crashes, and the proofs afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

import openskelo
from openskelo import errors
from openskelo.history import compare, comparison_result, export, replay, verify
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json, JsonObject
from openskelo.stores.sqlite import data_dir
from openskelo.values import canonical
from tests.engine import random_plans, reference_plan, stage

BIG = "x" * 100_000


def plan(*steps: Mapping[str, Json], **top: Json) -> openskelo.Workflow:
    """A plan of these steps."""
    document: dict[str, Json] = {
        "plan_id": "staged",
        "mode": "normal",
        "budgets": {"max_steps": 30},
        "inputs": {"n": 1},
        "variables": {},
        "steps": list(steps),
        "outputs": {"result_ref": "var:a"},
        **top,
    }
    return openskelo.from_document(document)


def step(key: str, op: str, save_as: str | None = None, **args: Json) -> dict[str, Json]:
    made: dict[str, Json] = {"id": key, "op": op, "args": args}
    return made if save_as is None else {**made, "save_as": save_as}


#: Counts up to four, one branch a round, then emits.
COUNTING = plan(
    step("one", "transform", "a", expr="{'n': input.n}"),
    step("more", "branch", cond={"expr": "var.a.n < 4"}, then="add", **{"else": "end"}),
    step("add", "transform", "a", expr="{'n': var.a.n + 1}"),
    step("again", "branch", cond={"ok": False}, then="end", **{"else": "more"}),
    step("end", "emit", result_ref="var:a.n", audit_refs=["var:a", "var:none"]),
    variables={"none": None},
)


def types_of(document: RunDocument) -> dict[str, object]:
    return {key: (node["visits"], node["outcome"]) for key, node in document["nodes"].items()}


async def finish(engine: openskelo.Engine, workflow: openskelo.Workflow, **more: Any) -> RunDocument:
    return await engine.wait(await engine.start(workflow, **more))


def test_a_plan_loops_and_emits(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            document = await finish(engine, COUNTING)
            assert (document["status"], document["outputs"]) == ("completed", {"result": 4, "audit": [{"n": 4}, None]})
            assert types_of(document) == {
                "one": (1, "succeeded"),
                "more": (4, "succeeded"),
                "add": (3, "succeeded"),
                "again": (3, "succeeded"),
                "end": (1, "succeeded"),
            }
            assert stage.node(document, "again")["outputs"] == {"output": {"holds": False, "goto": "more"}}
            assert cast("Any", document["budget"])["steps"] == {"used": 12, "limit": 30}

    stage.play(story)


def test_the_proofs_hold_for_a_plan(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            first, second = [(await finish(engine, COUNTING))["runId"] for _ in range(2)]
            other = (await finish(engine, COUNTING, inputs={"n": 3}))["runId"]
            again = await replay.replay(engine.store, first, engine.performer)
            assert again.document()["counts"] == {
                "same": 12,
                "different": 0,
                "checked": 0,
                "unchecked": 0,
                "altered": 0,
            }
            assert (await compare.compare(engine.store, first, second)).same_work
            found = await compare.compare(engine.store, first, other)
            assert (found.same_work, found.same_workflow) == (False, True)
            written = await export.export(engine.store, first, tmp_path / "run.jsonl")
            assert written.missing == ()
            proof = verify.verify_file(tmp_path / "run.jsonl")
            assert proof.intact, proof.problems

    stage.play(story)


def test_a_ref_that_leads_nowhere_fails_its_step(tmp_path: Path) -> None:
    workflow = plan(
        step("a", "transform", "a", expr="{'n': 1}"),
        step("b", "branch", cond={"ok": "var:a.missing"}, then="c", **{"else": "c"}),
        step("c", "emit", result_ref="var:a"),
    )

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            document = await finish(engine, workflow)
            assert (document["ending"], stage.error(document)["code"], stage.error(document).get("node")) == (
                "failed",
                "REF_UNSET",
                "b",
            )

    stage.play(story)


def test_an_end_without_its_result_is_a_failure(tmp_path: Path) -> None:
    workflow = plan(
        step("a", "transform", "a", expr="{'n': 1}"),
        step("end", "emit", result_ref="var:a.typo", audit_refs=["var:a.n"]),
    )

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            document = await finish(engine, workflow)
            assert (document["ending"], stage.error(document)) == (
                "failed",
                {"code": "REF_UNSET", "message": "var:a.typo is read, and nothing has set it", "node": "end"},
            )

    stage.play(story)


def test_an_end_that_is_not_ok_needs_no_result(tmp_path: Path) -> None:
    workflow = plan(
        step("a", "transform", "a", expr="{'n': 1}"),
        step("end", "emit", result_ref="var:a.typo", status="failed", audit_refs=["var:a.typo"]),
    )

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            document = await finish(engine, workflow)
            assert (document["ending"], stage.error(document)["code"]) == ("failed", "EMITTED")
            assert document["outputs"] == {"result": None, "audit": [None]}

    stage.play(story)


def test_a_question_whose_answer_is_saved_is_not_approved_without_one(tmp_path: Path) -> None:
    workflow = plan(
        step("ask", "ask_human", "said", request={"message": "Which?"}),
        step("end", "emit", result_ref="var:said.answer"),
        outputs={},
    )

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            document = await finish(engine, workflow)
            (asked,) = stage.approvals(document)
            with pytest.raises(errors.InvalidInput) as refused:
                await engine.answer(asked["id"], status="approved", by="ada")
            assert (refused.value.code, refused.value.message) == (
                "APPROVAL_INVALID",
                '/: "answer" is a required property',
            )
            await engine.answer(asked["id"], status="approved", by="ada", modified_args={"answer": "this"})
            assert (await engine.wait(document["runId"]))["outputs"] == {"result": "this", "audit": []}

    stage.play(story)


def test_a_loop_of_a_plan_that_makes_no_progress_asks_a_person(tmp_path: Path) -> None:
    workflow = plan(
        step("v", "verify", "a", checker_id="equals", input_ref="input:n", expected=2),
        step("b", "branch", cond="var:a.ok", then="end", **{"else": "v"}),
        step("end", "emit"),
    )

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            document = await finish(engine, workflow)
            (asked,) = stage.approvals(document)
            assert (document["status"], asked["kind"], asked["node"]) == ("paused", "stalled", "v")
            assert types_of(document) == {"v": (3, "succeeded"), "b": (2, "succeeded"), "end": (0, None)}
            await engine.answer(asked["id"], status="approved")
            document = await engine.wait(document["runId"])
            (asked,) = stage.approvals(document)
            await engine.answer(asked["id"], status="denied", reason="enough")
            document = await engine.wait(document["runId"])
            assert (document["ending"], stage.error(document)["code"], stage.error(document).get("node")) == (
                "failed",
                "STALLED",
                "v",
            )
            assert types_of(document)["v"] == (6, "failed")

    stage.play(story)


def test_a_loop_without_verdicts_stalls_at_the_branch_that_goes_back(tmp_path: Path) -> None:
    workflow = plan(
        step("add", "transform", "a", expr="{'n': input.n + 0.5}"),
        step("b", "branch", cond={"expr": "var.a.n > 9.0"}, then="end", **{"else": "add"}),
        step("end", "emit"),
        inputs={"n": 1.5},
    )

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            document = await finish(engine, workflow)
            (asked,) = stage.approvals(document)
            assert (document["status"], asked["kind"], asked["node"]) == ("paused", "stalled", "b")
            assert types_of(document) == {"add": (3, "succeeded"), "b": (3, "succeeded"), "end": (0, None)}
            await engine.answer(asked["id"], status="approved")
            document = await engine.wait(document["runId"])
            assert types_of(document) == {"add": (6, "succeeded"), "b": (6, "succeeded"), "end": (0, None)}
            (asked,) = stage.approvals(document)
            await engine.answer(asked["id"], status="denied", reason="enough")
            document = await engine.wait(document["runId"])
            assert (document["ending"], stage.error(document)["code"], stage.error(document).get("node")) == (
                "failed",
                "STALLED",
                "b",
            )

    stage.play(story)


def test_a_loop_that_counts_makes_progress_although_its_condition_reads_the_same(tmp_path: Path) -> None:
    workflow = plan(
        step("add", "transform", "a", expr="{'n': var.a.n + 1}"),
        step("done", "transform", "d", expr="var.a.n >= 8"),
        step("b", "branch", cond="var:d", then="end", **{"else": "add"}),
        step("end", "emit"),
        variables={"a": {"n": 0}},
    )

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            document = await finish(engine, workflow)
            assert (document["ending"], document["outputs"]) == ("ok", {"result": {"n": 8}, "audit": []})

    stage.play(story)


@pytest.mark.parametrize(
    ("cond", "result"),
    [(True, "yes"), (False, "no"), ("input:deep", "yes"), ("var:v.ok", "no"), ({"ok": "input:deep"}, "yes")],
    ids=["true", "false", "an input", "a verdict", "with its key"],
)
def test_a_condition_is_a_boolean_or_a_ref(tmp_path: Path, cond: Json, result: str) -> None:
    workflow = plan(
        step("b", "branch", cond=cond, then="yes", **{"else": "no"}),
        step("yes", "emit", result_ref="input:yes"),
        step("no", "emit", result_ref="input:no"),
        inputs={"deep": True, "yes": "yes", "no": "no"},
        variables={"v": {"ok": False}},
        outputs={},
    )

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            assert (await finish(engine, workflow))["outputs"] == {"result": result, "audit": []}

    stage.play(story)


@pytest.mark.parametrize(("args", "tries"), [({}, 2), ({"max_retries": 0}, 1), ({"max_retries": 3}, 4)])
def test_a_retry_runs_its_step_again_after_the_first_try(tmp_path: Path, args: JsonObject, tries: int) -> None:
    check = step("v", "verify", "v", checker_id="equals", input_ref="input:n", expected=2)
    again = step("again", "retry", None, step_id="v", **args)
    workflow = plan(check, again, step("end", "emit"), inputs={"n": 1}, outputs={})

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            document = await finish(engine, workflow)
            assert (document["ending"], stage.error(document)["code"]) == ("failed", "RETRY_EXHAUSTED")
            assert stage.node(document, "v")["attempts"] == tries

    stage.play(story)


def test_a_condition_is_true_or_false_and_nothing_else(tmp_path: Path) -> None:
    workflow = plan(
        step("a", "transform", "a", expr="{'ok': 'false'}"),
        step("b", "branch", cond={"ok": "var:a.ok"}, then="c", **{"else": "c"}),
        step("c", "emit", result_ref="var:a"),
    )

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            document = await finish(engine, workflow)
            assert (document["ending"], stage.error(document)["code"]) == ("failed", "COND_NOT_BOOLEAN")
            assert document["outputs"] == {"result": {"ok": "false"}}

    stage.play(story)


# -- people ------------------------------------------------------------------------------------------------------------

ASKING = plan(
    step("a", "transform", "a", expr="[input.n]"),
    step(
        "ask",
        "ask_human",
        "said",
        request={"kind": "k", "message": "var:a {{ it }}", "details": {"seen": "var:a[0]"}},
        answer={"why": {"type": "string", "default": "so"}, "n": {"type": "integer", "default": 1}},
    ),
    step("end", "emit", result_ref="var:said"),
)


def test_a_person_sees_the_request_and_the_answer_is_a_value(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            document = await finish(engine, ASKING)
            (asked,) = stage.approvals(document)
            assert (asked["kind"], asked["prompt"]) == ("ask_human", "var:a {{ it }}")
            assert asked["args"] == {"kind": "k", "message": "var:a {{ it }}", "details": {"seen": 1}}
            with pytest.raises(errors.InvalidInput) as caught:
                await engine.answer(asked["id"], status="approved", modified_args={"n": "one"})
            assert caught.value.code == "APPROVAL_INVALID"
            await engine.answer(asked["id"], status="approved", modified_args={"n": 2})
            document = await engine.wait(document["runId"])
            assert document["outputs"] == {"result": {"why": "so", "n": 2}, "audit": []}

    stage.play(story)


def test_an_answer_survives_the_engine_and_a_no_ends_the_run(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            documents = [await finish(engine, ASKING) for _ in range(2)]
        async with stage.engine(tmp_path) as engine:
            yes, no = [stage.approvals(document)[0]["id"] for document in documents]
            run_id = await engine.answer(yes, status="approved")
            assert (await engine.wait(run_id))["outputs"] == {"result": {"why": "so", "n": 1}, "audit": []}
            run_id = await engine.answer(no, status="denied", reason="never")
            document = await engine.wait(run_id)
            assert (document["ending"], stage.error(document)["message"]) == ("denied", "never")
            assert document["outputs"] == {"result": [1]}

    stage.play(story)


@asynccontextmanager
async def scripted(root: Path, **answers: list[dict[str, Any]]) -> AsyncGenerator[openskelo.Engine]:
    """An engine whose tools answer as told, on a real data dir."""
    project = openskelo.Project(root=root, data_dir=root / ".skelo")
    store = data_dir.open_store(project.data_dir)
    performer = random_plans.Scripted(project=project, blobs=store)
    performer.worlds = _Everywhere(reference_plan.World(answers))
    engine = openskelo.Engine(project, store, performer)
    engine._driver.start()  # pyright: ignore[reportPrivateUsage] -- what `open` does with a performer of its own
    async with engine:
        yield engine
        for row in await store.list_runs():
            proof = await verify.verify_run(store, row.run_id)
            assert proof.intact, proof.problems


class _Everywhere(dict[str, reference_plan.World]):
    """The same world for every run."""

    def __init__(self, world: reference_plan.World) -> None:
        super().__init__()
        self._world = world

    def __missing__(self, key: str) -> reference_plan.World:
        return self._world


def effect(*, next_step: str | None = "end", tries: int = 1) -> openskelo.Workflow:
    """A tool with an effect that must not happen twice, then an emit."""
    return random_plans.workflow(
        {
            "entry": "do",
            "variables": {"a": 5},
            "outputs": {"result_ref": "var:b"},
            "budgets": {},
            "steps": {
                "do": {
                    "op": "tool_call",
                    "args": {"in": "var:a"},
                    "save_as": "b",
                    "next": next_step,
                    "effect": "once",
                    "tries": tries,
                },
                "end": {"op": "emit", "args": {"result_ref": "var:b", "audit_refs": [], "status": "ok"}},
            },
        }
    )


GIVEN: JsonObject = {"ctx:c": 1, "snap:s": 2}


def test_what_an_interactive_tool_is_given_may_be_edited(tmp_path: Path) -> None:
    async def story() -> None:
        async with scripted(tmp_path, do=[{"kind": "ok", "value": 7}]) as engine:
            run_id = await engine.start(effect(), {"i": 1}, mode="INTERACTIVE", contexts=GIVEN)
            (asked,) = stage.approvals(await engine.wait(run_id))
            assert (asked["kind"], asked["args"]) == ("approval", {"in": 5})
            assert asked.get("work") == {
                "by": "tool_call",
                "config": {},
                "inputs": {"in": 5},
                "outputs": {"type": "object", "properties": {"b": {}}, "required": ["b"]},
            }
            with pytest.raises(errors.InvalidInput) as caught:
                await engine.answer(asked["id"], status="modified", modified_args={"out": 6})
            assert caught.value.message == "do has no input out"
            await engine.answer(asked["id"], status="modified", modified_args={"in": 6})
            document = await engine.wait(run_id)
            assert document["outputs"] == {"result": 7, "audit": []}

    stage.play(story)


def test_what_was_edited_is_what_a_second_question_is_about_and_what_is_done_then(tmp_path: Path) -> None:
    async def story() -> None:
        async with scripted(tmp_path, do=[{"kind": "error", "code": "E1"}, {"kind": "ok", "value": 7}]) as engine:
            run_id = await engine.start(effect(tries=2), {"i": 1}, mode="INTERACTIVE", contexts=GIVEN)
            (first,) = stage.approvals(await engine.wait(run_id))
            await engine.answer(first["id"], status="modified", modified_args={"in": 6})
            (second,) = stage.approvals(await engine.wait(run_id))
            assert (second["args"], cast("Any", second.get("work"))["inputs"]) == ({"in": 6}, {"in": 6})
            await engine.answer(second["id"], status="approved")
            assert (await engine.wait(run_id))["outputs"] == {"result": 7, "audit": []}
            events = [cast("Any", event) async for event in engine.follow(run_id, until_end=False)]
            tried = [event["data"]["receipt"]["inputs_hash"] for event in events if "receipt" in event["data"]]
            assert tried[:2] == [canonical.digest({"in": 6})] * 2

    stage.play(story)


def test_an_effect_that_was_cut_goes_on_with_what_a_person_says_it_gave(tmp_path: Path) -> None:
    async def story() -> None:
        async with scripted(tmp_path, do=[{"kind": "hang"}]) as engine:
            run_id = await engine.start(effect(), {"i": 1}, contexts=GIVEN)
        async with scripted(tmp_path) as engine:
            await engine.resume(run_id)
            (asked,) = stage.approvals(await engine.wait(run_id))
            assert asked["kind"] == "uncertain"
            assert asked.get("work") == {
                "by": "tool_call",
                "config": {},
                "inputs": {"in": 5},
                "outputs": {"type": "object", "properties": {"b": {}}, "required": ["b"]},
            }
            for wrong in ({}, {"c": 1}):
                with pytest.raises(errors.InvalidInput) as refused:
                    await engine.answer(asked["id"], status="modified", modified_args=cast("JsonObject", wrong))
                assert refused.value.code == "APPROVAL_INVALID"
            await engine.answer(asked["id"], status="modified", modified_args={"b": 9})
            assert (await engine.wait(run_id))["outputs"] == {"result": 9, "audit": []}

    stage.play(story)


def test_a_plan_whose_driver_died_goes_on_where_it_was(tmp_path: Path) -> None:
    workflow = random_plans.workflow(
        {
            "entry": "r",
            "variables": {},
            "outputs": {},
            "budgets": {},
            "steps": {
                "r": {"op": "retry", "args": {}, "target": "do", "tries": 2, "next": "end", "save_as": "b"},
                "do": {"op": "tool_call", "args": {"in": "input:i"}, "save_as": "a"},
                "end": {"op": "emit", "args": {"result_ref": "var:b", "audit_refs": ["var:a"], "status": "ok"}},
            },
        }
    )

    async def story() -> None:
        failed: dict[str, Any] = {"kind": "error", "code": "E1"}
        async with scripted(tmp_path, do=[failed, {"kind": "hang"}]) as engine:
            run_id = await engine.start(workflow, {"i": BIG}, contexts=GIVEN)
            while len(await stage.types(engine, run_id)) < 7:  # noqa: ASYNC110 -- the second try is under way
                await asyncio.sleep(0.01)
        async with scripted(tmp_path, do=[{"kind": "ok", "value": BIG}]) as engine:
            await engine.resume(run_id)
            document = await engine.wait(run_id)
            assert document["outputs"] == {"result": BIG, "audit": [BIG]}
            assert (stage.node(document, "do")["attempts"], stage.node(document, "r")["attempts"]) == (3, 1)

    stage.play(story)


# -- contexts ----------------------------------------------------------------------------------------------------------

READING = plan(
    step("end", "emit", result_ref="ctx:big", audit_refs=["snap:t[1].x", "snap:t[2]"]),
    inputs={"big_ref": "ctx:big", "t_ref": "snap:t"},
    outputs={},
)


def test_contexts_are_read_once_and_kept(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            given: JsonObject = {"ctx:big": BIG, "snap:t": [0, {"x": "var:a"}]}
            document = await finish(engine, READING, contexts=given)
            assert document["outputs"] == {"result": BIG, "audit": ["var:a", None]}
            again = await replay.replay(engine.store, document["runId"], engine.performer)
            assert [one.result for one in again.steps] == ["same"]
            forked = await engine.wait(await engine.fork(document["runId"], node="end"))
            assert forked["outputs"] == document["outputs"]

    stage.play(story)


@pytest.mark.parametrize("given", [{}, {"ctx:big": 1, "snap:t": [], "ctx:other": 1}])
def test_a_context_that_nobody_knows_starts_nothing(tmp_path: Path, given: JsonObject) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            with pytest.raises(errors.InvalidInput) as caught:
                await engine.start(READING, contexts=given)
            assert caught.value.code == "CONTEXT_UNKNOWN"
            assert await engine.store.list_runs() == []

    stage.play(story)


def test_blocks_take_no_contexts(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, a=lambda _: {}) as engine:
            with pytest.raises(errors.InvalidInput) as caught:
                await engine.start(stage.workflow(stage.block("a")), contexts={"ctx:a": 1})
            assert (caught.value.code, caught.value.hint) == ("CONTEXT_UNKNOWN", "it uses none")

    stage.play(story)


# -- forks -------------------------------------------------------------------------------------------------------------


def test_a_fork_has_the_variables_of_the_last_time_its_step_was_entered(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            first = (await finish(engine, COUNTING))["runId"]
            forked = await engine.wait(await engine.fork(first, node="add"))
            assert (forked["outputs"], forked.get("parent")) == (
                {"result": 4, "audit": [{"n": 4}, None]},
                {"runId": first, "node": "add"},
            )
            assert types_of(forked) == {
                "one": (0, "succeeded"),
                "more": (1, "succeeded"),
                "add": (1, "succeeded"),
                "again": (1, "succeeded"),
                "end": (1, "succeeded"),
            }

    stage.play(story)


def test_a_fork_may_change_variables_and_inputs(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            first = (await finish(engine, COUNTING))["runId"]
            changed = await engine.wait(await engine.fork(first, node="add", inputs={"a": {"n": 9}}))
            assert changed["outputs"] == {"result": 10, "audit": [{"n": 10}, None]}
            assert cast("Any", changed.get("parent"))["set"] == {"a": {"n": 9}}
            again = await engine.wait(await engine.fork(first, node="one", inputs={"n": 7}))
            assert again["outputs"] == {"result": 7, "audit": [{"n": 7}, None]}

    stage.play(story)


def test_a_plan_has_no_items_that_a_fork_could_name(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            first = (await finish(engine, COUNTING))["runId"]
            with pytest.raises(errors.InvalidInput) as caught:
                await engine.fork(first, node="add", items="unfinished")
            assert caught.value.code == "FORK_INVALID"

    stage.play(story)


def test_a_variable_that_a_fork_has_set_is_shown_at_its_step(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            first = (await finish(engine, COUNTING))["runId"]
            forked = (await engine.wait(await engine.fork(first, node="end", inputs={"a": {"n": 9}})))["runId"]
            found = await compare.compare(engine.store, first, forked)
            assert {node.node: node.inputs for node in found.nodes if not node.same} == {
                "end": (comparison_result.Change(path="/a/n", kind="changed", before=4, after=9),)
            }
            assert not found.same_work

    stage.play(story)


@pytest.mark.parametrize(
    ("node", "changes", "code"),
    [("add", {"n": 2}, "FORK_STALE"), ("add", {"zz": 2}, "INPUT_UNKNOWN"), ("zz", {}, "NODE_NOT_FOUND")],
)
def test_a_fork_that_makes_no_sense_is_refused(tmp_path: Path, node: str, changes: JsonObject, code: str) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            first = (await finish(engine, COUNTING))["runId"]
            with pytest.raises(errors.OpenSkeloError) as caught:
                await engine.fork(first, node=node, inputs=changes)
            assert caught.value.code == code

    stage.play(story)


def test_a_plan_is_not_forked_as_blocks(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            first = (await finish(engine, COUNTING))["runId"]
            with pytest.raises(errors.InvalidInput) as caught:
                await engine.fork(first, node="add", workflow=stage.workflow(stage.block("add")))
            assert caught.value.code == "FORK_INVALID"

    stage.play(story)


def test_a_fork_from_a_step_that_was_never_entered_has_the_variables_of_the_end(tmp_path: Path) -> None:
    workflow = plan(
        step("a", "transform", "a", expr="[input.n]"),
        step("b", "branch", cond={"ok": True}, then="yes", **{"else": "no"}),
        step("yes", "emit", result_ref="var:a"),
        step("no", "emit", result_ref="var:a", status="failed"),
    )

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            first = (await finish(engine, workflow))["runId"]
            forked = await engine.wait(await engine.fork(first, node="no"))
            assert (forked["ending"], stage.error(forked)["code"]) == ("failed", "EMITTED")
            assert forked["outputs"] == {"result": [1], "audit": []}

    stage.play(story)
