"""The public helpers for tests: they drive real runs with scripted models and people."""

from __future__ import annotations

import asyncio
from pathlib import Path

import openskelo
from openskelo import testing
from openskelo.kernel.json import Json
from tests.engine import stage

FLOW = stage.workflow(
    {"id": "draft", "outputs": {"text": "string"}},
    {
        "id": "review",
        "mode": "approval",
        "inputs": {"text": {"type": "string", "from": "draft.text"}},
        "outputs": {"text": "string"},
        "approval": {"prompt": "Good?", "form": {"text": "string"}},
    },
    stage.block("shout", inputs={"text": {"type": "string", "from": "review.text"}}, outputs={"text": "string"}),
)


async def shout(ctx: openskelo.Context) -> dict[str, Json]:
    return {"text": str(ctx.inputs["text"]).upper()}


def test_a_scripted_model_and_person_take_a_run_to_its_end(tmp_path: Path) -> None:
    document = asyncio.run(
        testing.run(
            FLOW,
            project=openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo"),
            handlers={"shout": shout},
            model={"draft": [{"text": "bees"}]},
            people={"review": [testing.Reply(status="modified", modified_args={"text": "more bees"})]},
        )
    )
    assert (document["ending"], document["outputs"]) == ("ok", {"text": "MORE BEES"})
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_the_script_does_not_answer_stands_where_it_asks(tmp_path: Path) -> None:
    project = openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo")
    said = {"draft": [{"text": "bees"}]}
    document = asyncio.run(testing.run(FLOW, project=project, handlers={"shout": shout}, model=said))
    assert (document["status"], stage.approvals(document)[0]["prompt"]) == ("paused", "Good?")


def test_every_store_check_is_there_to_be_run() -> None:
    assert len(testing.STORE_CHECKS) >= 20


def test_tools_and_checkers_of_a_plan_can_be_played(tmp_path: Path) -> None:
    plan = openskelo.from_document(
        {
            "plan_id": "p",
            "inputs": {"text": "a", "why_ref": "ctx:why"},
            "steps": [
                {"id": "again", "op": "retry", "args": {"step_id": "check", "max_retries": 3}, "save_as": "v"},
                {"id": "done", "op": "emit", "args": {"result_ref": "var:v", "audit_refs": ["ctx:why"]}},
                {
                    "id": "check",
                    "op": "verify",
                    "args": {"checker_id": "regex", "input_ref": "input:text", "pattern": "b"},
                },
            ],
        }
    )
    document = asyncio.run(
        testing.run(
            plan,
            project=openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo"),
            handlers=testing.stand_ins({"check": [{"ok": False}, {"error": {"code": "LATER"}}, {"ok": True, "n": 3}]}),
            contexts={"ctx:why": "because"},
        )
    )
    assert (document["ending"], document["outputs"]) == ("ok", {"result": {"ok": True, "n": 3}, "audit": ["because"]})
