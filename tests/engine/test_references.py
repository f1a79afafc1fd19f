"""Ports whose schemas refer to definitions of their own, wherever they become part of something larger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import openskelo
from openskelo import testing
from openskelo.kernel.json import Json, JsonObject
from openskelo.values.schema import validator
from tests.engine import stage

_OWN: JsonObject = {"type": "object", "required": ["email"], "properties": {"email": {"type": "string"}}}
PERSON: JsonObject = {
    "$defs": {"p": {**_OWN, "properties": {"email": {"type": "string"}, "boss": {"$ref": "#/$defs/p"}}}},
    "$ref": "#/$defs/p",
}
ANN: JsonObject = {"email": "ann@x.y", "boss": {"email": "bob@x.y"}}
NOBODY: JsonObject = {"email": "ann@x.y", "boss": {}}


def _block(form: Json) -> openskelo.Workflow:
    question: JsonObject = {"prompt": "Who?", "form": form}
    return stage.workflow({"id": "ask", "mode": "approval", "approval": question}, outputs={"person": "ask.person"})


def _step(form: Json) -> openskelo.Workflow:
    args: JsonObject = {"request": {"message": "Who?"}, "answer": form}
    steps: list[Json] = [
        {"id": "ask", "op": "ask_human", "args": args, "save_as": "said"},
        {"id": "end", "op": "emit", "args": {"result_ref": "var:said.person"}},
    ]
    return openskelo.from_document({"plan_id": "p", "steps": steps})


WRITTEN: JsonObject = {"type": "object", "properties": {"person": {"$ref": "#/$defs/p"}}, "$defs": PERSON["$defs"]}


@pytest.mark.parametrize("form", [{"person": PERSON}, WRITTEN])
@pytest.mark.parametrize(
    ("asking", "outputs"), [(_block, {"person": ANN}), (_step, {"result": ANN, "audit": []})], ids=["block", "step"]
)
def test_a_form_that_refers_to_its_own_definitions_can_be_answered(
    asking: Callable[[Json], openskelo.Workflow], outputs: JsonObject, form: JsonObject, tmp_path: Path
) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            run_id = await engine.start(asking(form))
            (question,) = stage.approvals(await engine.wait(run_id))
            answer = question["id"]
            with pytest.raises(openskelo.InvalidInput) as refused:
                await engine.answer(answer, status="modified", modified_args={"person": NOBODY}, by="ann")
            assert (refused.value.code, refused.value.message) == (
                "APPROVAL_INVALID",
                '/person/boss: "email" is a required property',
            )
            await engine.answer(answer, status="modified", modified_args={"person": ANN}, by="ann")
            done = await engine.wait(run_id)
            assert (done["ending"], done["outputs"]) == ("ok", outputs)

    stage.play(story)


def test_a_model_is_asked_with_a_schema_whose_references_lead_somewhere(tmp_path: Path) -> None:
    asking = stage.workflow(stage.block("draft", mode="ai", prompt="Who?", outputs={"n": "integer", "person": PERSON}))

    async def story() -> None:
        model = testing.Scripted({"draft": [{"n": 1, "person": NOBODY}, {"n": 1, "person": ANN}]})
        project = openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo")
        async with await openskelo.Engine.open(project, provider=model) as engine:
            done = await engine.wait(await engine.start(asking))
        assert done["ending"] == "ok"
        first, second = model.asked
        assert first.schema is not None
        held = validator.compile(first.schema).is_valid
        assert [held({"n": 1, "person": ANN}), held({"n": 1, "person": NOBODY})] == [True, False]
        assert """output 'person' at /boss: "email" is a required property""" in second.messages[-1].text

    stage.play(story)


def test_one_input_for_two_ports_keeps_the_definitions_of_both(tmp_path: Path) -> None:
    tall: JsonObject = {"$defs": {"p": {"required": ["height"]}}, "$ref": "#/$defs/p"}
    two = stage.workflow(stage.block("a", inputs={"who": PERSON}), stage.block("b", inputs={"who": tall}))

    async def story() -> None:
        async with stage.engine(tmp_path, a=lambda ctx: {}, b=lambda ctx: {}) as engine:
            for wrong in (ANN, {**NOBODY, "height": 2}):
                with pytest.raises(openskelo.InvalidInput) as refused:
                    await engine.start(two, {"who": wrong})
                assert refused.value.code == "INPUT_INVALID"
            assert (await engine.wait(await engine.start(two, {"who": {**ANN, "height": 2}})))["ending"] == "ok"

    stage.play(story)
