"""Runs that the engine has driven, on the wire: what it really records keeps to the contract too."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import openskelo
from openskelo import testing
from openskelo.kernel.json import JsonObject
from openskelo.record import bundle, envelope
from openskelo.stores import api
from openskelo.wire.projection import Projection
from tests.wire import patching, wired

WORKFLOW: JsonObject = {
    "name": "letters",
    "inputs": {"names": {"type": "array", "items": {"type": "string"}}},
    "blocks": [
        {
            "id": "greet",
            "mode": "ai",
            "inputs": {"names": {"type": "array", "items": {"type": "string"}, "from": "inputs.names"}},
            "outputs": {"text": {"type": "string", "minLength": 3}},
            "prompt": "Greet {{ inputs.names }}",
            "contract_repair_attempts": 1,
            "post_gates": [{"name": "short", "type": "word_count", "port": "text", "max": 5}],
            "retry": {"max_attempts": 2},
        },
        {
            "id": "sign",
            "mode": "approval",
            "inputs": {"text": {"type": "string", "from": "greet.text"}},
            "outputs": {"text": {"type": "string"}},
            "approval": {"prompt": "Send {{ inputs.text }}?"},
        },
        {
            "id": "each",
            "mode": "deterministic",
            "foreach": {"items": "inputs.names", "as": "name"},
            "inputs": {
                "names": {"type": "array", "items": {"type": "string"}, "from": "inputs.names"},
                "name": {"type": "string"},
            },
            "outputs": {"name": {"type": "string"}},
            "deterministic": {"handler": "builtin:pass"},
            "after": ["sign"],
            "metadata": {"phase": "docs_sync"},
        },
    ],
}
ANSWERS: list[JsonObject] = [{"text": "x"}, {"text": "one two three four five six"}, {"text": "Dear all"}]


async def told(store: api.Store, run_id: str) -> tuple[list[dict[str, Any]], Any]:
    """The wire events of a stored run and its last snapshot, every one of which is checked."""
    projection: Projection | None = None
    events: list[dict[str, Any]] = []
    async for lines in store.read_events(run_id):
        for line in lines:
            stored, fact = envelope.open_line(line)
            if projection is None:
                data: Any = stored["data"]
                projection = Projection(run_id, bundle.read_workflow(await store.read_blob(data["definition"])))
            seq: Any = stored["seq"]
            told = projection.apply(seq, fact)
            assert all(one["nodeId"] == stored["nodeId"] for one in told if one["type"] == "tool.started")
            events += told
    assert projection is not None
    snapshot = projection.snapshot()
    assert patching.fold(patching.empty(run_id), events) == snapshot
    assert [fault for event in events for fault in wired.faults("event", event)] == []
    assert wired.faults("run", snapshot) == []
    return events, snapshot


async def _letters(folder: Path) -> tuple[list[dict[str, Any]], Any]:
    project = openskelo.project_at(folder, data_dir=folder / "data")
    provider = testing.Scripted({"greet": ANSWERS})
    async with await openskelo.Engine.open(project, provider=provider) as engine:
        run_id = await engine.start(openskelo.from_document(WORKFLOW), {"names": ["Ada", "Bo"]})
        document = await testing.drive(engine, run_id, {"sign": [testing.Reply()]})
        assert document["ending"] == "ok"
        return await told(engine.store, run_id)


def test_a_run_of_models_people_and_handlers_is_told_from_its_log(tmp_path: Path) -> None:
    events, snapshot = asyncio.run(_letters(tmp_path))
    story = [event["type"] for event in events if event["type"] not in ("node.patch", "run.patch", "edge.created")]
    assert [kind for kind in story if not kind.startswith(("artifact", "tool"))] == [
        "run.mode",
        "run.phase",
        "run.phase",
        "message.assistant.final",
        "message.assistant.final",
        "message.assistant.final",
        "handoff.sent",
        "approval.requested",
        "approval.resolved",
        "run.phase",
        "run.phase",
    ]
    answers = [(one["content"], one["status"]) for one in events if one["type"] == "message.assistant.final"]
    assert answers == [("", "failed"), ("", "failed"), ("Dear all", "final")]
    phases = [event["phase"] for event in events if event["type"] == "run.phase"]
    assert phases == ["BOOT", "EXECUTE", "DOCS_SYNC", "DONE"]
    nodes = {node["key"]: node for node in snapshot["nodes"].values()}
    assert {key: (node["status"], node["outcome"], node["summary"]) for key, node in nodes.items()} == {
        "greet": ("idle", "succeeded", "Dear all"),
        "sign": ("idle", "succeeded", "Dear all"),
        "each": ("idle", "succeeded", "2 items"),
    }
    assert [verdict["passed"] for verdict in nodes["greet"]["verdicts"]] == [True]
    kinds = {artifact["kind"] for artifact in snapshot["artifacts"].values()}
    assert kinds == {"prompt", "transcript"}
    assert {kind for kind in story if kind.startswith("tool")} == {"tool.started", "tool.completed"}
