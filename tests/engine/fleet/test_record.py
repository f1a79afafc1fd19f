"""What a run leaves behind is the same whether this process drives it or another one of the engine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

import pytest
import yaml

import openskelo
from openskelo.kernel.json import Json, JsonObject
from tests.engine import stage
from tests.engine.fleet.test_fleet import children, state_of, until

RUN_ID = "0b6f4d0e-52c1-4a39-8f5b-4f0f5f3f7a10"
DEMO = Path(__file__).parents[2] / "executors" / "mcp_demo.py"
SECRET = "swordfish-9000"
HANDLERS = """
import subprocess, time
from pathlib import Path

def tell(ctx):
    print("printed", ctx.secret("KEY"))
    if ctx.item == 5:
        raise RuntimeError("not with " + ctx.secret("KEY"))
    return {"text": str(ctx.item) * 100_000}

def hang(ctx):
    child = subprocess.Popen(["sleep", "60"])
    Path("child.pid").write_text(str(child.pid))
    time.sleep(60)

def count(ctx):
    return {"n": len(ctx.inputs["text"])}
"""
PROJECT: JsonObject = {
    "secrets": {"KEY": "${env:FLEET_KEY}"},
    "mcp": {"demo": {"command": [sys.executable, str(DEMO)]}},
    "tools": {
        "add": {"mcp": "demo", "network": False, "effect": "pure"},
        "count": {"python": "handlers.py:count", "network": False, "effect": "pure", "cost_usd": 0.01},
    },
}
EACH: JsonObject = {
    "name": "each",
    "budgets": {"max_steps": 5},
    "blocks": [
        {
            "id": "tell",
            "mode": "deterministic",
            "foreach": {"items": "[1, 2, 3, 4, 5]", "concurrency": 1},
            "retry": {"max_attempts": 2, "delay_ms": 10},
            "outputs": {"text": "string"},
            "deterministic": {"handler": "handlers.py:tell"},
        }
    ],
}
HANGING: JsonObject = {
    "name": "hanging",
    "blocks": [{"id": "hang", "mode": "deterministic", "deterministic": {"handler": "handlers.py:hang"}}],
}
PLAN: JsonObject = {
    "plan_id": "sums",
    "budgets": {"max_steps": 10, "max_tool_spend_usd": 0.05},
    "inputs": {"text": "bees"},
    "steps": [
        {"id": "ask", "op": "ask_human", "args": {"request": {"message": "How many?"}, "answer": {"n": "integer"}}},
        {
            "id": "count",
            "op": "tool_call",
            "args": {"tool_id": "count", "args": {"text": "input:text"}},
            "save_as": "c",
        },
        {
            "id": "add",
            "op": "tool_call",
            "args": {"tool_id": "add", "args": {"a": "var:c.n", "b": 4}},
            "save_as": "sum",
        },
        {"id": "done", "op": "emit", "args": {"result_ref": "var:sum"}},
    ],
}
#: What is another in every run, or comes of such a thing.
VOLATILE = {
    "ts",
    "hash",
    "prev",
    "id",
    "wall_ms",
    "wallMs",
    "receiptHead",
    "digest",
    "createdAt",
    "updatedAt",
    "retryAt",
}


def steady(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: steady(one) for key, one in value.items() if key not in VOLATILE}
    return [steady(one) for one in value] if isinstance(value, list) else value


async def drive(root: Path, document: JsonObject, processes: int) -> tuple[JsonObject, list[Json]]:
    """Begin a run, answer what it asks, cancel what hangs, and give what it comes to."""
    (root / "child.pid").unlink(missing_ok=True)
    project = openskelo.project_at(root, data_dir=root / f"data-{processes}")
    workflow = openskelo.from_document(document, root=root)
    before = children()
    async with await openskelo.Engine.open(project, processes=processes) as engine:
        await engine.start(workflow, run_id=RUN_ID)
        assert engine.holding.is_driving(RUN_ID) == (processes == 1)
        if document is HANGING:
            await until(lambda: (root / "child.pid").exists() and bool((root / "child.pid").read_text()))
            await engine.cancel(RUN_ID, by="ann")
            await until(lambda: state_of(int((root / "child.pid").read_text())).startswith("Z"))
        for asked in stage.approvals(await engine.wait(RUN_ID)):
            await engine.answer(cast("str", asked["id"]), status="modified", values={"n": 3}, by="ann")
        shown = await engine.wait(RUN_ID)
        events = [cast("Json", event) async for event in engine.follow(RUN_ID)]
    assert children() <= before
    return cast("JsonObject", steady(shown)), cast("list[Json]", steady(events))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("document", "ending"),
    [(EACH, "budget_exceeded"), (HANGING, "cancelled"), (PLAN, "ok")],
    ids=["items", "cancelled", "plan"],
)
def test_the_record_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, document: JsonObject, ending: str
) -> None:
    monkeypatch.setenv("FLEET_KEY", SECRET)
    (tmp_path / "skelo.yaml").write_text(yaml.safe_dump(PROJECT))
    (tmp_path / "handlers.py").write_text(HANDLERS)

    async def story() -> None:
        here = await drive(tmp_path, document, 1)
        there = await drive(tmp_path, document, 2)
        assert there == here
        assert here[0]["ending"] == ending

    stage.play(story)
    for kept in (path for path in tmp_path.glob("data-*/**/*") if path.is_file()):
        assert SECRET.encode() not in kept.read_bytes()
