"""A real coding agent (Qwen Code) against a scripted model: its tools, our tool `complete`, and typed outputs."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any, cast

import pytest

from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json
from openskelo.testing import scripted_model_server
from tests.agents import agents_under_test, repository

OUTPUTS: Json = {"count": {"type": "integer"}, "files_changed": {"type": "array", "items": {"type": "string"}}}
SETTINGS = json.dumps({"security": {"auth": {"selectedType": "openai"}}})


@pytest.fixture
def play(tmp_path: Path, qwen: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that lets the agent play lines in a block, and returns the run and what the model was told.

    TREE in a line is the folder of the workspace.
    """
    monkeypatch.setenv("MODEL_KEY", "worthless")

    def run(*lines: str) -> tuple[Path, RunDocument, list[str]]:
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


def _outputs(document: RunDocument) -> dict[str, Any]:
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


@pytest.mark.parametrize(
    ("script", "codes", "words"),
    [
        ("@fail 401", {"AGENT_REFUSED"}, "401"),
        ("@fail 402", {"AGENT_REFUSED"}, "402"),
        ("@fail 500", {"AGENT_REFUSED", "AGENT_IDLE", "TIMEOUT"}, ""),
        ("@fail 429", {"AGENT_REFUSED", "AGENT_IDLE", "TIMEOUT"}, ""),
        ("@hang", {"AGENT_IDLE", "TIMEOUT"}, ""),
        ("@say", {"AGENT_NO_RESULT", "AGENT_IDLE", "TIMEOUT"}, ""),
    ],
)
def test_a_model_that_fails_ends_the_turn_with_a_code(
    tmp_path: Path, qwen: Path, monkeypatch: pytest.MonkeyPatch, script: str, codes: set[str], words: str
) -> None:
    monkeypatch.setenv("MODEL_KEY", "worthless")
    with scripted_model_server.serve() as server:
        settings = agents_under_test.qwen(qwen).settings(server.url)
        root = repository.make(
            tmp_path,
            command=list(settings.command),
            base_url=server.url,
            api_key="${env:MODEL_KEY}",
            model="scripted",
            home_files=dict(settings.home_files),
            idle_ms=8000,
            wall_ms=12_000,
        )
        document = repository.play(root, repository.block(script, contract_repair_attempts=0))
    assert repository.processes_left(root) == []
    error = cast("dict[str, Any]", document.get("error"))
    assert error["code"] in codes, error
    assert words in error["message"]
    assert "worthless" not in str(document)


def test_a_budget_that_is_used_up_in_the_middle_ends_the_agent_and_keeps_its_work(
    tmp_path: Path, qwen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REAL_KEY", "sk-the-real-key-0123456789")
    with scripted_model_server.serve(tokens_in=40_000, tokens_out=1_000) as server:
        root = repository.make(
            tmp_path,
            base_url=server.url,
            prices={"input_usd_per_mtok": 3, "output_usd_per_mtok": 15},
            command=[str(qwen), "--acp"],
            api_key="${env:REAL_KEY}",
            model="scripted",
            home_files={".qwen/settings.json": SETTINGS},
            budget={"max_usd": 0.5},
        )
        run_id = str(uuid.uuid4())
        tree = root / ".skelo" / "workspaces" / run_id / "work" / "tree"
        lines = (f"@write {tree}/kept.txt x", *["@run true"] * 9, "@say Done.")
        document = repository.play(root, repository.block(*lines), run_id)
        error = cast("dict[str, Any]", document.get("error"))
        assert (document["ending"], error["code"]) == ("budget_exceeded", "BUDGET_EXCEEDED"), document
        assert "max_usd of helper is 0.5 USD" in error["message"]
        asked = len(server.requests)
        assert 2 <= asked < 9
        assert {headers["authorization"] for headers in server.headers} == {"Bearer sk-the-real-key-0123456789"}
    budget = cast("dict[str, Any]", document["budget"])
    assert budget["tokens"]["used"] == 41_000 * asked
    assert budget["costUsd"]["used"] == pytest.approx(0.135 * asked)
    assert "kept.txt" in repository.artifact(root, run_id, "diff.partial.patch")
    assert "of 0.5 USD are used (max_usd)" in repository.artifact(root, run_id, "work.log")
    assert repository.processes_left(root) == []
