"""A real coding agent (Qwen Code) against a scripted model: its tools, our tool `complete`, and typed outputs."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any, cast

import pytest

from openskelo.kernel.json import Json, JsonObject
from openskelo.testing import scripted_model_server
from tests.agents import repository

pytestmark = pytest.mark.slow

OUTPUTS: Json = {"count": {"type": "integer"}, "files_changed": {"type": "array", "items": {"type": "string"}}}
SETTINGS = json.dumps({"security": {"auth": {"selectedType": "openai"}}})


@pytest.fixture
def play(tmp_path: Path, qwen: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that lets the agent play lines in a block, and returns the run and what the model was told.

    TREE in a line is the folder of the workspace.
    """
    monkeypatch.setenv("MODEL_KEY", "worthless")

    def run(*lines: str) -> tuple[Path, JsonObject, list[str]]:
        with scripted_model_server.serve() as server:
            root = repository.make(
                tmp_path,
                command=[str(qwen), "--acp"],
                base_url=server.url,
                api_key="${env:MODEL_KEY}",
                model="scripted",
                home_files={".qwen/settings.json": SETTINGS},
            )
            run_id = str(uuid.uuid4())
            tree = str(root / ".skelo" / "workspaces" / run_id / "work" / "tree")  # the agent's tool wants whole paths
            script = [line.replace("TREE", tree) for line in lines]
            document = repository.play(root, repository.block(*script, outputs=OUTPUTS), run_id)
            return root, document, server.texts()

    return run


def _outputs(document: JsonObject) -> dict[str, Any]:
    assert document["ending"] == "ok", document.get("error")
    return cast("dict[str, Any]", cast("dict[str, Any]", document["nodes"])["work"]["outputs"])


def test_it_writes_a_file_runs_a_command_and_hands_in_typed_outputs(play: Any) -> None:
    lines = ("@write TREE/new.txt one\\n", "@run cp new.txt copied.txt", '@tool complete {"count": 2}', "@say Done.")
    root, document, told = play(*lines)
    assert _outputs(document) == {"count": 2, "files_changed": ["copied.txt", "new.txt"]}
    calls = [
        cast("dict[str, Any]", event["data"])["call"]["kind"]
        for event in repository.events(root, cast("str", document["runId"]))
        if event["type"] == "call.started"
    ]
    assert calls == ["edit", "execute", "mcp"]
    assert any("mcp__skelo__complete" in text for text in told)
    assert repository.processes_left(root) == []


def test_a_wrong_result_is_refused_by_the_tool_and_corrected(play: Any) -> None:
    root, document, told = play('@tool complete {"count": "two"}', '@tool complete {"count": 3}', "@say Done.")
    assert _outputs(document) == {"count": 3, "files_changed": []}
    assert any("count must be integer" in text for text in told)
    types = [event["type"] for event in repository.events(root, cast("str", document["runId"]))]
    assert types.count("attempt.started") == 1
