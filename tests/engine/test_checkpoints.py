"""What a person changes at a checkpoint is what the work is done on: its inputs, its items, and whether it is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

import openskelo
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.history import replay
from openskelo.kernel.json import Json
from tests.engine import stage

INPUTS: dict[str, Json] = {
    "to": {"type": "array", "items": {"type": "integer"}, "from": "inputs.to"},
    "n": {"type": "integer", "from": "inputs.n"},
}


def sending(**fields: Json) -> openskelo.Workflow:
    """`send`, for each of `to`, once a person has looked at both inputs."""
    form: Json = {"to": {"type": "array", "items": {"type": "integer"}}, "n": "integer"}
    parts: dict[str, Json] = {
        "inputs": INPUTS,
        "outputs": {"sent": "integer"},
        "foreach": {"items": "inputs.to", "as": "one"},
        "approval": {"prompt": "Send to {{ size(inputs.to) }}?", "form": form},
        **fields,
    }
    made = {name: part for name, part in parts.items() if part is not None}
    return stage.workflow(
        stage.block("send", **made),
        inputs={"to": {"type": "array", "items": {"type": "integer"}}, "n": "integer"},
        outputs={"sent": "send.sent"},
    )


class Sender:
    """Counts what it sends; fails on those of `broken`, each once."""

    def __init__(self, *broken: int) -> None:
        self.seen: list[tuple[Json, Json, Json]] = []
        self.broken = set(broken)

    async def send(self, ctx: openskelo.Context) -> dict[str, Json]:
        one, times = cast("int", ctx.item), cast("int", ctx.inputs["n"])
        self.seen.append((one, times, ctx.inputs["to"]))
        if one in self.broken:
            self.broken.remove(one)
            raise RuntimeError("not sent")
        return {"sent": one * times}


def answered(
    tmp_path: Path,
    flow: openskelo.Workflow,
    sender: Sender,
    *edits: dict[str, Json],
) -> dict[str, Any]:
    """The run's document once each question was answered with the next of `edits`; it replays the same."""

    async def story() -> dict[str, Any]:
        async with stage.engine(tmp_path, send=sender.send) as engine:
            run_id = await engine.start(flow, inputs={"to": [1, 2, 3], "n": 2})
            for edit in edits:
                asked: Any = stage.approvals(await engine.wait(run_id))[0]
                await engine.answer(
                    asked["id"], status="modified" if edit else "approved", modified_args=edit, by="ann"
                )
            document: Any = await engine.wait(run_id)
            performer = attempt_performer.Performer(
                project=engine.project, blobs=replay.DiscardedBlobs(), local_handlers={"send": Sender().send}
            )
            again = await replay.replay(engine.store, run_id, performer)
            assert again.ok, again.document()
            return document

    return stage.play(story)


def test_the_work_is_done_on_the_items_that_a_person_leaves(tmp_path: Path) -> None:
    sender = Sender()
    document = answered(tmp_path, sending(), sender, {"to": [5], "n": 7})
    assert sender.seen == [(5, 7, [5])]
    assert (document["ending"], document["outputs"]) == ("ok", {"sent": [35]})
    assert document["nodes"]["send"]["items"]["total"] == 1


def test_items_that_follow_from_an_input_are_found_anew(tmp_path: Path) -> None:
    sender = Sender()
    flow = sending(foreach={"items": "inputs.to.filter(one, one >= inputs.n)", "as": "one"})
    answered(tmp_path, flow, sender, {"n": 3})
    assert sender.seen == [(3, 3, [1, 2, 3])]


def test_a_person_may_leave_nothing_to_do(tmp_path: Path) -> None:
    sender = Sender()
    document = answered(tmp_path, sending(), sender, {"to": []})
    assert (sender.seen, document["ending"], document["outputs"]) == ([], "ok", {"sent": []})


def test_a_block_whose_condition_does_not_hold_for_what_a_person_leaves_is_skipped(tmp_path: Path) -> None:
    sender = Sender()
    document = answered(tmp_path, sending(when="inputs.n > 1", foreach=None), sender, {"n": 1})
    assert (sender.seen, document["ending"], document["nodes"]["send"]["outcome"]) == ([], "ok", "skipped")


def test_large_items_are_kept_beside_the_log(tmp_path: Path) -> None:
    sender = Sender()
    many: list[Json] = [10**15 + index for index in range(2100)]
    document = answered(tmp_path, sending(), sender, {"to": many})
    assert (sorted(cast("list[int]", [one for one, _, _ in sender.seen])), document["ending"]) == (many, "ok")


@pytest.mark.parametrize(
    ("foreach", "edit", "why"),
    [
        ("inputs.n", {"n": 3}, "ITEMS_NOT_LIST the items of a foreach must be a list"),
        ("inputs.n > 2 ? [inputs.to[7]] : inputs.to", {"n": 3}, "EXPR_FAILED"),
    ],
)
def test_an_answer_for_which_there_are_no_items_is_refused_and_the_question_stays(
    tmp_path: Path, foreach: str, edit: dict[str, Json], why: str
) -> None:
    flow = sending(foreach={"items": f"inputs.n == 2 ? inputs.to : {foreach}", "as": "one"})

    async def story() -> None:
        async with stage.engine(tmp_path, send=Sender().send) as engine:
            run_id = await engine.start(flow, inputs={"to": [1], "n": 2})
            asked: Any = stage.approvals(await engine.wait(run_id))[0]
            with pytest.raises(openskelo.InvalidInput) as caught:
                await engine.answer(asked["id"], status="modified", modified_args=edit, by="ann")
            assert (caught.value.code, why in caught.value.message) == ("APPROVAL_INVALID", True), caught.value.message
            assert len(stage.approvals(await engine.wait(run_id))) == 1

    stage.play(story)


ONCE: dict[str, Json] = {"effect": "once", "retry": {"max_attempts": 2, "delay_ms": 0}}


def test_a_second_question_is_about_the_inputs_as_they_were_changed(tmp_path: Path) -> None:
    sender = Sender(6)
    document = answered(tmp_path, sending(**ONCE), sender, {"to": [5, 6], "n": 7}, {})
    assert sender.seen == [(5, 7, [5, 6]), (6, 7, [5, 6]), (6, 7, [5, 6])]
    assert document["outputs"] == {"sent": [35, 42]}


def test_what_is_changed_at_a_second_question_holds_for_what_is_left_of_the_items(tmp_path: Path) -> None:
    sender = Sender(2)
    document = answered(tmp_path, sending(**ONCE), sender, {}, {"n": 10})
    assert sender.seen == [(1, 2, [1, 2, 3]), (2, 2, [1, 2, 3]), (3, 2, [1, 2, 3]), (2, 10, [1, 2, 3])]
    assert document["outputs"] == {"sent": [2, 20, 6]}


FAILED = "HANDLER_RAISED RuntimeError: not sent"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (ONCE, f"Send to 3?\nItems that are done are not done again. Of 3 items at least 1 failed: {FAILED}"),
        ({**ONCE, "approval": None}, f"Items that are done are not done again. Of 3 items at least 1 failed: {FAILED}"),
        ({**ONCE, "foreach": None}, f"Send to 3?\nIt was tried before, and failed: {FAILED}"),
    ],
    ids=["items", "interactive", "alone"],
)
def test_a_second_question_says_what_failed(tmp_path: Path, fields: dict[str, Json], told: str) -> None:
    sender = Sender(2)

    async def send(ctx: openskelo.Context) -> dict[str, Json]:
        if ctx.item is not None:
            return await sender.send(ctx)
        raise RuntimeError("not sent")

    async def story() -> None:
        async with stage.engine(tmp_path, send=send) as engine:
            flow = sending(**fields)
            run_id = await engine.start(flow, inputs={"to": [1, 2, 3], "n": 2}, mode="INTERACTIVE")
            first: Any = stage.approvals(await engine.wait(run_id))[0]
            assert "\n" not in first["prompt"]
            await engine.answer(first["id"], status="approved", by="ann")
            (second,) = stage.approvals(await engine.wait(run_id))
            assert str(second["prompt"]).endswith(told)

    stage.play(story)


@pytest.mark.parametrize("edit", [{"to": [1, 3]}, {"n": 99}])
def test_the_items_of_work_that_has_begun_can_be_changed_no_more(tmp_path: Path, edit: dict[str, Json]) -> None:
    sender = Sender(2)

    async def story() -> None:
        async with stage.engine(tmp_path, send=sender.send) as engine:
            flow = sending(**ONCE, when="inputs.n < 50")
            run_id = await engine.start(flow, inputs={"to": [1, 2, 3], "n": 2})
            first: Any = stage.approvals(await engine.wait(run_id))[0]
            await engine.answer(first["id"], status="approved", by="ann")
            second: Any = stage.approvals(await engine.wait(run_id))[0]
            with pytest.raises(openskelo.InvalidInput) as caught:
                await engine.answer(second["id"], status="modified", modified_args=edit, by="ann")
            assert (caught.value.code, "begun" in caught.value.message) == ("APPROVAL_INVALID", True)

    stage.play(story)


def test_what_a_person_changes_goes_before_what_the_fork_has_set(tmp_path: Path) -> None:
    async def send(ctx: openskelo.Context) -> dict[str, Json]:
        return {"sent": ctx.inputs["n"]}

    async def story() -> None:
        async with stage.engine(tmp_path, send=send) as engine:
            run_id = await engine.start(sending(foreach=None), inputs={"to": [], "n": 2})
            first: Any = stage.approvals(await engine.wait(run_id))[0]
            await engine.answer(first["id"], status="approved", by="ann")
            await engine.wait(run_id)
            forked = await engine.fork(run_id, node="send", inputs={"n": 3})
            asked: Any = stage.approvals(await engine.wait(forked))[0]
            assert asked["args"]["n"] == 3
            await engine.answer(asked["id"], status="modified", modified_args={"n": 4}, by="ann")
            assert (await engine.wait(forked))["outputs"] == {"sent": 4}

    stage.play(story)
