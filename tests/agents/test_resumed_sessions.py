"""A provider session that another process continues: nothing is recorded twice, and a lost one is begun anew."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, cast

import openskelo
from openskelo.kernel.json import Json, JsonObject
from tests.agents import repository

ANSWER: Json = {"answer": {"type": "integer"}}


def cut(root: Path, document: JsonObject) -> str:
    """Start a run, and close the engine in the middle of the turn in which the agent writes first.txt."""

    async def story() -> str:
        async with repository.engine(root) as engine:
            run_id = await engine.start(openskelo.from_document(document, root=root))
            await repository.until(lambda: bool(list(root.glob(".skelo/workspaces/*/*/tree/first.txt"))))
            return run_id

    return asyncio.run(asyncio.wait_for(story(), 120))


def resume(root: Path, run_id: str) -> openskelo.RunDocument:
    async def story() -> openskelo.RunDocument:
        async with repository.engine(root) as engine:
            await engine.resume(run_id)
            return await engine.wait(run_id)

    return asyncio.run(asyncio.wait_for(story(), 120))


def sessions(root: Path, run_id: str) -> list[dict[str, Any]]:
    log = repository.events(root, run_id)
    return [cast("dict[str, Any]", event["data"])["session"] for event in log if event["type"] == "session.opened"]


def test_what_a_loaded_session_repeats_is_not_recorded_again(tmp_path: Path) -> None:
    root = repository.make(tmp_path, command=[sys.executable, str(repository.AGENT), "--loads"])
    block = repository.block("@write first.txt x", "@hang", "@next", "@write second.txt y", "@say resumed")
    run_id = cut(root, block)
    document = resume(root, run_id)
    assert document["ending"] == "ok", document.get("error")
    assert [session["continued"] for session in sessions(root, run_id)] == [False, True]
    outputs = cast("dict[str, Any]", document["nodes"])["work"]["outputs"]
    assert (outputs["summary"], outputs["files_changed"]) == ("resumed", ["first.txt", "second.txt"])
    log = repository.events(root, run_id)
    calls = [cast("dict[str, Any]", event["data"])["call"]["tool"] for event in log if event["type"] == "call.started"]
    assert calls == ["write first.txt", "write second.txt"]
    left = {artifact.name: artifact.text for artifact in repository.artifacts(root, run_id) if artifact.attempt == 2}
    assert "said before" not in left["transcript.jsonl"]
    assert '"method":"session/load"' in left["transcript.jsonl"]
    assert "does not know its session" not in left.get("work.log", "")


def test_a_lost_session_gets_the_whole_prompt_with_what_was_refused_and_the_record_says_so(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    lines = ('@json {"answer": "many"}', "@next", "@write first.txt x", "@hang", "@next", '@json {"answer": 7}')
    run_id = cut(root, repository.block("Count the bees.", *lines, outputs=ANSWER))
    for session in root.glob(".skelo/workspaces/*/*/home/session-*.json"):
        session.write_text("[]")  # another one gets the same lines, and answers the first of them
        session.rename(session.with_name("lost.json"))
    resume(root, run_id)
    first, repaired, lost, *_ = sessions(root, run_id)
    assert [first["continued"], repaired["continued"], lost["continued"]] == [False, True, False]
    assert lost["sessionId"] != first["sessionId"]
    left = [artifact for artifact in repository.artifacts(root, run_id) if artifact.attempt == lost["attempt"]]
    texts = {artifact.name: artifact.text for artifact in left}
    assert texts["prompt.sent.txt"] == texts["prompt.full.txt"]
    assert "Count the bees." in texts["prompt.sent.txt"]
    assert "refused" in texts["prompt.blocks.json"]
    assert "the agent does not know its session any more: it gets the whole prompt" in texts["work.log"]
