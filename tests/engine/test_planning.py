"""`openskelo.plan`: a model writes a plan for a goal, the checker looks, and nothing of it is run."""

from __future__ import annotations

from pathlib import Path

import pytest

import openskelo
from openskelo.engine import planning
from openskelo.kernel.json import JsonObject
from openskelo.providers import scripted
from tests.engine import stage

GOOD: JsonObject = {
    "plan_id": "double",
    "inputs": {"n": 4},
    "steps": [
        {"id": "twice", "op": "transform", "args": {"expr": "input.n * 2"}, "save_as": "twice"},
        {"id": "done", "op": "emit", "args": {"result_ref": "var:twice"}},
    ],
}
#: Right in form, and wrong in what it reads.
WRONG: JsonObject = {
    "plan_id": "double",
    "steps": [{"id": "done", "op": "emit", "args": {"result_ref": "var:twise"}}],
}


def plan(root: Path, *drafts: JsonObject, repairs: int = 2) -> tuple[planning.Planned, scripted.Scripted]:
    writer = scripted.Scripted([{"plan": draft} for draft in drafts])
    project = openskelo.project_at(root)

    async def story() -> planning.Planned:
        return await openskelo.plan("double a number", project, provider=writer, repairs=repairs)

    return stage.play(story), writer


def test_a_plan_comes_back_checked_and_can_be_run(tmp_path: Path) -> None:
    planned, writer = plan(tmp_path, WRONG, GOOD)
    assert (planned.plan, planned.problems, planned.error) == (GOOD, (), None)
    assert "REF_UNKNOWN" in writer.asked[1].messages[1].text
    assert planned.document() == {"runId": planned.run_id, "valid": True, "plan": GOOD, "problems": []}
    workflow = planned.workflow
    assert workflow is not None

    async def story() -> tuple[list[object], object]:
        async with await openskelo.Engine.open(openskelo.project_at(tmp_path)) as engine:
            listed = [(run["name"], run["ending"]) for run in await engine.runs()]
            return [*listed], (await engine.wait(await engine.start(workflow)))["outputs"]

    assert stage.play(story) == ([("skelo-plan", "ok")], {"result": 8, "audit": []})


def test_after_the_last_repair_the_draft_comes_with_its_problems(tmp_path: Path) -> None:
    planned, writer = plan(tmp_path, WRONG, repairs=0)
    assert (planned.plan, planned.workflow, len(writer.asked)) == (WRONG, None, 1)
    assert [(problem.code, problem.path) for problem in planned.problems] == [
        ("REF_UNKNOWN", "/steps/0/args/result_ref")
    ]


@pytest.mark.parametrize(
    ("goal", "repairs", "message"), [(" ", 1, "the goal is empty"), ("x", 11, "repairs must be between 0 and 10")]
)
def test_what_cannot_be_asked_for_is_refused_before_anything_is(
    tmp_path: Path, goal: str, repairs: int, message: str
) -> None:
    writer = scripted.Scripted([])

    async def story() -> None:
        await openskelo.plan(goal, openskelo.project_at(tmp_path), repairs=repairs, provider=writer)

    with pytest.raises(openskelo.InvalidInput, match=message) as caught:
        stage.play(story)
    assert (caught.value.code, writer.asked) == ("USAGE", [])
