"""The tools that an agent gets from us, over HTTP or by pipes, from inside and outside of a sandbox."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json, JsonObject
from tests.agents import repository

HTTP, PIPES = ["--tools"], list[str]()


def make(folder: Path, arguments: list[str], **settings: Json) -> Path:
    return repository.make(folder, command=[sys.executable, str(repository.AGENT), *arguments], **settings)


def outputs(document: RunDocument, node: str = "work") -> dict[str, Any]:
    assert document["ending"] == "ok", document.get("error")
    return cast("dict[str, Any]", document["nodes"])[node]["outputs"]


@pytest.mark.parametrize("arguments", [HTTP, PIPES], ids=["http", "pipes"])
@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock", "none"])
def test_a_result_is_handed_in_with_a_tool(tmp_path: Path, arguments: list[str], sandbox: str) -> None:
    root = make(tmp_path, arguments, sandbox=sandbox)
    answer: Json = {"answer": {"type": "integer"}}
    lines = ('@tell-tool complete {"answer": "many"}', '@tell-tool complete {"answer": 42}')
    document = repository.play(root, repository.block(*lines, outputs=answer))
    assert outputs(document) == {"answer": 42}
    transcript = repository.artifact(root, str(document["runId"]), "transcript.jsonl")
    assert "[/answer: " in transcript
    assert "[The result is recorded. End your turn now.]" in transcript


def reading(*references: str) -> JsonObject:
    """Return a workflow whose second agent reads artifacts of the first."""
    summary: Json = {"summary": {"type": "string"}}
    lines = [f"@tell-tool read_artifact {json.dumps({'artifact': reference})}" for reference in references]
    draft = {"id": "draft", "mode": "ai", "agent": "helper", "prompt": "@write new.txt x\n@say a draft"}
    work = {
        "id": "work",
        "mode": "ai",
        "agent": "helper",
        "prompt": "\n".join(lines),
        "inputs": {"draft": {"type": "string", "from": "draft.summary"}},
    }
    return {"name": "two", "blocks": [{**draft, "outputs": summary}, {**work, "outputs": summary}]}


@pytest.mark.parametrize("arguments", [HTTP, PIPES], ids=["http", "pipes"])
def test_an_agent_reads_what_its_run_has_kept(tmp_path: Path, arguments: list[str]) -> None:
    root = make(tmp_path, arguments)
    said = outputs(repository.play(root, reading("draft:diff.patch")))["summary"]
    assert said.startswith("[diff --git a/new.txt b/new.txt")


def test_an_artifact_that_is_not_there_is_answered_with_the_names(tmp_path: Path) -> None:
    root = make(tmp_path, HTTP)
    said = outputs(repository.play(root, reading("draft:other.txt")))["summary"]
    assert said.startswith("[this run has no artifact 'draft:other.txt'; it has: draft:prompt.full.txt, ")
    assert "draft:transcript.jsonl" in said


def test_artifacts_of_other_runs_are_not_read(tmp_path: Path) -> None:
    root = make(tmp_path, HTTP)
    first = str(repository.play(root, repository.block("@write new.txt x", "@say done"))["runId"])
    log = repository.events(root, first)
    kept = [cast("dict[str, Any]", event["data"])["artifact"] for event in log if event["type"] == "artifact.created"]
    references = (f"artifact://{first}/work:diff.patch", f"artifact://{kept[-1]['id']}")
    said = outputs(repository.play(root, reading(*references)))["summary"]
    assert said.count("this run has no artifact") == len(references)


def test_a_long_artifact_is_read_in_pages(tmp_path: Path) -> None:
    root = make(tmp_path, HTTP)
    lines = (
        '@tell-tool read_artifact {"artifact": "work:prompt.full.txt", "offset": 20}',
        '@tell-tool read_artifact {"artifact": "work:prompt.full.txt", "offset": -1}',
    )
    document = repository.play(root, repository.block(*lines, "word " * 20_000))
    transcript = repository.artifact(root, str(document["runId"]), "transcript.jsonl")
    assert f"characters follow: offset {20 + 64 * 1024}]" in transcript
    assert "[/offset: " in transcript
