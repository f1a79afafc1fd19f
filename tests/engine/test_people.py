"""Approvals: asked once, answered once, bound to what was asked, and never lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import orjson
import pytest

import openskelo
from openskelo.engine.commands import command_router
from openskelo.kernel.json import Json, JsonObject
from tests.engine import stage

TEXT: dict[str, Json] = {"text": "string"}
FORM: dict[str, Json] = {
    "type": "object",
    "properties": {"text": {"type": "string", "minLength": 2}},
    "required": ["text"],
}


async def write(ctx: openskelo.Context) -> dict[str, Json]:
    return {"text": "draft" if ctx.feedback is None else "second draft"}


async def publish(ctx: openskelo.Context) -> dict[str, Json]:
    return {"text": f"published {ctx.inputs['text']}"}


def reviewed(**approval: Json) -> openskelo.Workflow:
    """write, then a person, then publish."""
    return stage.workflow(
        stage.block("write", outputs=TEXT),
        {
            "id": "review",
            "mode": "approval",
            "inputs": {"text": {"type": "string", "from": "write.text"}},
            "outputs": {"text": "string", "approved": "boolean"},
            "approval": {"prompt": "Publish {{ inputs.text }}?", "form": FORM, **approval},
        },
        stage.block("publish", inputs={"text": {"type": "string", "from": "review.text"}}, outputs=TEXT),
        outputs={"text": "publish.text"},
    )


def test_the_run_waits_for_a_person_and_goes_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, write=write, publish=publish) as engine:
            run_id = await engine.start(reviewed())
            waiting = await engine.wait(run_id)
            asked = stage.approvals(waiting)[0]
            assert (waiting["status"], asked["prompt"]) == ("paused", "Publish draft?")
            assert stage.node(waiting, "review")["status"] == "blocked"
            await engine.answer(asked["id"], status="approved", by="ann")
            done = await engine.wait(run_id)
            assert (done["ending"], done["outputs"]) == ("ok", {"text": "published draft"})
            with pytest.raises(openskelo.Refused) as refusal:
                await engine.answer(asked["id"], status="approved", by="ann")
            assert refusal.value.code == "APPROVAL_CLOSED"
            with pytest.raises(openskelo.NotFound):
                await engine.answer(run_id, status="approved", by="ann")

    stage.play(story)


def test_an_artifact_that_a_person_names_is_one_that_a_run_has_kept(tmp_path: Path) -> None:
    async def leave(ctx: openskelo.Context) -> dict[str, Json]:
        ctx.log("something")
        return {"text": "draft"}

    asking = stage.workflow(
        stage.block("leave", outputs=TEXT),
        {
            "id": "pick",
            "mode": "approval",
            "inputs": {"text": {"type": "string", "from": "leave.text"}},
            "outputs": {"picture": "artifact"},
            "approval": {"prompt": "Which?", "form": {"picture": "string"}},
        },
    )

    async def story() -> None:
        async with stage.engine(tmp_path, leave=leave) as engine:
            run_id = await engine.start(asking)
            asked = stage.approvals(await engine.wait(run_id))[0]["id"]
            for picture in ("cat.png", f"artifact://{run_id}", f"artifact://{run_id}/leave:log"):
                with pytest.raises(openskelo.InvalidInput) as caught:
                    await engine.answer(asked, status="modified", modified_args={"picture": picture}, by="ann")
                assert (caught.value.code, caught.value.message) == (
                    "APPROVAL_INVALID",
                    "value 'picture': there is no such artifact",
                )
            lines = [line async for chunk in engine.store.read_events(run_id) for line in chunk]
            (kept,) = [line for line in lines if b'"artifact.created"' in line]
            picture = f"artifact://{orjson.loads(kept)['data']['artifact']['id']}"
            await engine.answer(asked, status="modified", modified_args={"picture": picture}, by="ann")
            assert (await engine.wait(run_id))["outputs"] == {"picture": picture}

    stage.play(story)


def test_an_edit_is_checked_by_the_form_and_used_instead(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, write=write, publish=publish) as engine:
            run_id = await engine.start(reviewed())
            asked = stage.approvals(await engine.wait(run_id))[0]["id"]
            for values in ({"text": "x"}, {"text": 3}, {"other": "y"}):
                with pytest.raises(openskelo.InvalidInput) as caught:
                    await engine.answer(
                        asked, status="modified", modified_args=cast("dict[str, Json]", values), by="ann"
                    )
                assert caught.value.code == "APPROVAL_INVALID"
            await engine.answer(asked, status="modified", modified_args={"text": "better"}, by="ann")
            assert (await engine.wait(run_id))["outputs"] == {"text": "published better"}

    stage.play(story)


def test_a_denial_ends_the_run_as_denied_with_its_reason(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, write=write, publish=publish) as engine:
            run_id = await engine.start(reviewed())
            asked = stage.approvals(await engine.wait(run_id))[0]["id"]
            await engine.answer(asked, status="denied", reason="not now", by="ann")
            done = await engine.wait(run_id)
            assert (done["status"], done["ending"]) == ("failed", "denied")
            assert stage.error(done)["message"] == "not now"

    stage.play(story)


def test_a_denial_can_bounce_with_the_reason_as_feedback(tmp_path: Path) -> None:
    flow = reviewed(on_deny={"route_to": "write", "max_bounces": 1})

    async def story() -> None:
        async with stage.engine(tmp_path, write=write, publish=publish) as engine:
            run_id = await engine.start(flow)
            first = stage.approvals(await engine.wait(run_id))[0]
            await engine.answer(first["id"], status="denied", reason="shorter", by="ann")
            second = stage.approvals(await engine.wait(run_id))[0]
            assert second["prompt"] == "Publish second draft?"
            await engine.answer(second["id"], status="denied", reason="no", by="ann")
            assert (await engine.wait(run_id))["ending"] == "denied"

    stage.play(story)


def test_only_the_named_approvers_may_answer(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, write=write, publish=publish) as engine:
            run_id = await engine.start(reviewed(approvers=["ann"]))
            asked = stage.approvals(await engine.wait(run_id))[0]["id"]
            with pytest.raises(openskelo.Refused) as caught:
                await engine.answer(asked, status="approved", by="bob")
            assert caught.value.code == "APPROVER_NOT_ALLOWED"
            await engine.answer(asked, status="approved", by="ann")
            assert (await engine.wait(run_id))["ending"] == "ok"

    stage.play(story)


def test_an_approval_expires_with_the_consequence_it_states(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, write=write, publish=publish) as engine:
            for consequence, ending in (("deny", "denied"), ("approve", "ok")):
                run_id = await engine.start(reviewed(timeout_ms=60, on_timeout=consequence))
                assert (await engine.wait(run_id))["status"] == "paused"
                last = [event async for event in engine.follow(run_id)][-1]
                assert cast("dict[str, Json]", last["data"])["ending"] == ending

    stage.play(story)


def test_a_checkpoint_asks_before_the_work_and_its_edit_becomes_the_input(tmp_path: Path) -> None:
    flow = stage.workflow(
        stage.block("write", outputs=TEXT),
        stage.block(
            "publish",
            inputs={"text": {"type": "string", "from": "write.text"}},
            outputs=TEXT,
            approval={"prompt": "Really?"},
        ),
    )

    async def story() -> None:
        async with stage.engine(tmp_path, write=write, publish=publish) as engine:
            run_id = await engine.start(flow)
            waiting = await engine.wait(run_id)
            asked = stage.approvals(waiting)[0]
            assert (asked["args"], stage.node(waiting, "publish")["attempts"]) == ({"text": "draft"}, 0)
            await engine.answer(asked["id"], status="modified", modified_args={"text": "edited"}, by="ann")
            assert (await engine.wait(run_id))["outputs"] == {"text": "published edited"}

    stage.play(story)


def test_approvals_survive_a_restart(tmp_path: Path) -> None:
    async def ask() -> str:
        async with stage.engine(tmp_path, write=write, publish=publish) as engine:
            run_id = await engine.start(reviewed())
            await engine.wait(run_id)
            return run_id

    async def answer(run_id: str) -> None:
        async with stage.engine(tmp_path, write=write, publish=publish) as engine:
            rows = await engine.store.list_approvals()
            assert [row.run_id for row in rows] == [run_id]
            assert await engine.answer(rows[0].approval_id, status="approved", by="ann") == run_id
            assert (await engine.wait(run_id))["outputs"] == {"text": "published draft"}

    run_id = stage.play(ask)
    stage.play(lambda: answer(run_id))


def test_another_process_answers_while_this_one_drives(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            stage.engine(tmp_path, write=write, publish=publish) as driving,
            stage.engine(tmp_path) as elsewhere,
        ):
            run_id = await driving.start(reviewed())
            asked = stage.approvals(await driving.wait(run_id))[0]["id"]
            with pytest.raises(openskelo.InvalidInput):
                await elsewhere.answer(asked, status="modified", modified_args={"text": ""}, by="ann")
            with pytest.raises(openskelo.Busy):
                await elsewhere.resume(run_id)
            assert await elsewhere.answer(asked, status="approved", by="ann") == run_id
            events = [event async for event in elsewhere.follow(run_id)]
            assert events[-1]["type"] == "run.ended"
            assert (await driving.wait(run_id))["outputs"] == {"text": "published draft"}

    stage.play(story)


@pytest.mark.parametrize("word", ["deny", "rejected", "no", "yes", "Approved", "", None, ["denied"]])
def test_a_word_that_is_no_answer_decides_nothing(tmp_path: Path, word: object) -> None:
    async def story() -> None:
        async with (
            stage.engine(tmp_path, write=write, publish=publish) as driving,
            stage.engine(tmp_path) as elsewhere,
        ):
            run_id = await driving.start(reviewed())
            waiting = await driving.wait(run_id)
            asked = stage.approvals(waiting)[0]["id"]
            for engine in (driving, elsewhere):
                with pytest.raises(openskelo.InvalidInput) as caught:
                    await engine.answer(asked, status=cast("Any", word), by="ann")
                assert caught.value.code == "APPROVAL_INVALID"
                assert caught.value.hint == "one of approved, denied, modified"
            posted: JsonObject = {"type": "answer", "approvalId": asked, "status": cast("Json", word), "by": "ann"}
            await command_router.queue_and_wait(
                elsewhere.store,
                run_id,
                posted,
                take=elsewhere.ownership.take,
                wait_for_other_process=elsewhere.wait_for_other_process,
            )
            assert await driving.show(run_id) == waiting

    stage.play(story)


def test_nobody_answers_in_the_name_of_the_clock(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            stage.engine(tmp_path, write=write, publish=publish) as driving,
            stage.engine(tmp_path) as elsewhere,
        ):
            run_id = await driving.start(reviewed())
            waiting = await driving.wait(run_id)
            asked = stage.approvals(waiting)[0]["id"]
            for engine in (driving, elsewhere):
                with pytest.raises(openskelo.InvalidInput) as caught:
                    await engine.answer(asked, status="approved", by="timer")
                assert caught.value.code == "NAME_RESERVED"
            assert await driving.show(run_id) == waiting

    stage.play(story)


@pytest.mark.parametrize("values", [[1], "text", 3])
def test_an_answer_of_values_without_names_decides_nothing(tmp_path: Path, values: object) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path, write=write, publish=publish) as engine:
            run_id = await engine.start(reviewed())
            waiting = await engine.wait(run_id)
            with pytest.raises(openskelo.InvalidInput) as caught:
                await engine.answer(
                    stage.approvals(waiting)[0]["id"], status="modified", modified_args=cast("Any", values)
                )
            assert caught.value.code == "APPROVAL_INVALID"
            assert await engine.show(run_id) == waiting

    stage.play(story)


def test_large_questions_and_answers_are_kept_beside_the_log(tmp_path: Path) -> None:
    long = "x" * 200_000
    flow = stage.workflow(
        stage.block("write", outputs=TEXT),
        stage.block(
            "publish",
            inputs={"text": {"type": "string", "from": "write.text"}},
            outputs=TEXT,
            approval={"prompt": "Really?"},
        ),
    )

    async def write_long(ctx: openskelo.Context) -> dict[str, Json]:
        return {"text": long}

    async def story() -> None:
        async with stage.engine(tmp_path, write=write_long, publish=publish) as engine:
            run_id = await engine.start(flow)
            asked = stage.approvals(await engine.wait(run_id))[0]["id"]
            await engine.answer(asked, status="modified", modified_args={"text": long + "!"}, by="ann")
            assert (await engine.wait(run_id))["outputs"] == {"text": f"published {long}!"}
            assert max([len(str(event)) async for event in engine.follow(run_id)]) < 5_000

    stage.play(story)


def test_a_no_to_a_checkpoint_may_leave_its_block_out(tmp_path: Path) -> None:
    source: dict[str, Json] = {"type": "string", "from": "write.text"}
    flow = stage.workflow(
        stage.block("write", outputs=TEXT),
        stage.block(
            "publish",
            inputs={"text": source},
            outputs=TEXT,
            approval={"prompt": "Publish {{ inputs.text }}?", "on_deny": "continue"},
        ),
        stage.block("tell", inputs={"text": {"type": "string", "from": "publish.text"}}, outputs=TEXT),
        stage.block("keep", inputs={"text": source}, outputs=TEXT),
        outputs={"told": "tell.text", "kept": "keep.text"},
    )

    async def keep(ctx: openskelo.Context) -> dict[str, Json]:
        return {"text": ctx.inputs["text"]}

    async def story() -> None:
        async with stage.engine(tmp_path, write=write, publish=publish, tell=keep, keep=keep) as engine:
            run_id = await engine.start(flow)
            asked = stage.approvals(await engine.wait(run_id))[0]
            await engine.answer(asked["id"], status="denied", reason="not today", by="ann")
            done = await engine.wait(run_id)
            assert (done["ending"], done["outputs"]) == ("ok", {"kept": "draft"})
            outcomes = {key: stage.node(done, key)["outcome"] for key in flow.nodes}
            assert outcomes == {"write": "succeeded", "publish": "skipped", "tell": "skipped", "keep": "succeeded"}

    stage.play(story)
