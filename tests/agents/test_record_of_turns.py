"""What a turn leaves in the record, whichever way it ends: prompts, messages, stderr, text, and the diff."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

import openskelo
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json, JsonObject
from tests.agents import repository

PROMPTS = {"prompt.full.txt", "prompt.sent.txt", "prompt.blocks.json"}
TURN = {*PROMPTS, "transcript.jsonl", "stderr.log"}
ANSWER: Json = {"answer": {"type": "integer"}}
#: A turn that has told, changed and complained, and is still at work.
HALF_DONE = ("@complain a warning", "@say half of the", "@write kept.txt x", "@wait")


def stop_at_work(
    root: Path, document: JsonObject, stop: Callable[[openskelo.Engine, str], Awaitable[None]], marker: str = "kept.txt"
) -> str:
    """Start a run, stop it once its agent has written the marker, and return the run's id."""

    async def story() -> str:
        async with repository.engine(root) as engine:
            run_id = await engine.start(openskelo.from_document(document, root=root))
            await repository.until(lambda: bool(list(root.glob(f".skelo/workspaces/*/*/tree/{marker}"))))
            await stop(engine, run_id)
            return run_id

    return asyncio.run(asyncio.wait_for(story(), 120))


def resume(root: Path, run_id: str) -> RunDocument:
    async def story() -> RunDocument:
        async with repository.engine(root) as engine:
            await engine.resume(run_id)
            return await engine.wait(run_id)

    return asyncio.run(asyncio.wait_for(story(), 120))


async def cancel(engine: openskelo.Engine, run_id: str) -> None:
    await engine.cancel(run_id)
    assert (await engine.wait(run_id))["ending"] == "cancelled"


async def pause(engine: openskelo.Engine, run_id: str) -> None:
    await engine.pause(run_id, now=True)
    await engine.wait(run_id)


async def suspend(engine: openskelo.Engine, _run_id: str) -> None:
    await engine.suspend()


async def close(_engine: openskelo.Engine, _run_id: str) -> None:
    """Stop the agent as a kill of this process would: to the log the attempt was cut."""


@pytest.mark.parametrize(
    ("lines", "settings", "files"),
    [
        (["@say done"], {}, {"diff.patch"}),
        (["@say half", "@exit 3"], {}, {"diff.partial.patch", "answer.partial.txt"}),
        (["@say half", "@error no model"], {}, {"diff.partial.patch", "answer.partial.txt"}),
        (["@say half", "@hang"], {"idle_ms": 1500}, {"diff.partial.patch", "answer.partial.txt"}),
        (["@say half", "@hang"], {"wall_ms": 3000}, {"diff.partial.patch", "answer.partial.txt"}),
        (["@say no result"], {"outputs": ANSWER}, {"diff.partial.patch", "answer.refused.txt"}),
    ],
    ids=["success", "exit", "error", "idle", "timeout", "no result"],
)
def test_each_end_of_a_turn_leaves_all_files(
    tmp_path: Path, lines: list[str], settings: dict[str, Json], files: set[str]
) -> None:
    outputs = {"outputs": settings.pop("outputs")} if "outputs" in settings else {}
    root = repository.make(tmp_path, **settings)
    block = repository.block("@complain a warning", "@write kept.txt x", *lines, contract_repair_attempts=0, **outputs)
    run_id = str(repository.play(root, block)["runId"])
    left = {artifact.name: artifact.text for artifact in repository.artifacts(root, run_id)}
    assert set(left) == {*TURN, *files}
    assert left["stderr.log"].startswith("a warning\n")
    assert left["transcript.jsonl"].count('"session/prompt"') == 1
    (diff,) = (text for name, text in left.items() if name.endswith(".patch"))
    assert diff.startswith("diff --git a/kept.txt b/kept.txt")


@pytest.mark.parametrize("stop", [cancel, pause, suspend])
def test_a_turn_that_is_stopped_keeps_its_diff_and_its_text_so_far(
    tmp_path: Path, stop: Callable[[openskelo.Engine, str], Awaitable[None]]
) -> None:
    root = repository.make(tmp_path)
    run_id = stop_at_work(root, repository.block(*HALF_DONE), stop)
    left = {artifact.name: artifact.text for artifact in repository.artifacts(root, run_id)}
    assert set(left) == {*TURN, "diff.partial.patch", "answer.partial.txt"}
    assert left["answer.partial.txt"] == "half of the"
    assert left["stderr.log"] == "a warning\n"
    assert left["diff.partial.patch"].startswith("diff --git a/kept.txt b/kept.txt")
    assert left["transcript.jsonl"].count('"agent_message_chunk"') == 1


def test_the_attempt_after_one_that_was_killed_keeps_what_that_has_changed(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    block = repository.block(*HALF_DONE, "@next", "@write second.txt y", "@say resumed")
    run_id = stop_at_work(root, block, close)
    assert {artifact.name for artifact in repository.artifacts(root, run_id)} == PROMPTS
    assert resume(root, run_id)["ending"] == "ok"
    left = {artifact.name: artifact for artifact in repository.artifacts(root, run_id) if artifact.attempt == 2}
    assert set(left) == {*PROMPTS, "transcript.jsonl", "diff.cut.patch", "diff.patch"}
    assert "kept.txt" in left["diff.cut.patch"].text
    assert "kept.txt" not in left["diff.patch"].text
    assert "second.txt" in left["diff.patch"].text


def test_a_later_turn_that_fails_keeps_its_own_text(tmp_path: Path) -> None:
    root = repository.make(tmp_path, until="complete", max_turns=3)
    lines = ("@say thinking", "@next", "@say half of it", "@exit 3")
    document = repository.play(root, repository.block(*lines, outputs=ANSWER, contract_repair_attempts=0))
    left = {artifact.name: artifact.text for artifact in repository.artifacts(root, str(document["runId"]))}
    assert (left["answer.refused.txt"], left["answer.partial.txt"]) == ("thinking", "half of it")
    assert left["transcript.jsonl"].count('"session/prompt"') == 2


def test_the_diff_of_a_cancelled_turn_does_not_hide_that_it_could_not_be_made(tmp_path: Path) -> None:
    root = repository.make(tmp_path, sandbox="none")
    block = repository.block("@say half", "@write kept.txt x", "@run touch ../../seen; rm -rf ../tree", "@wait")

    async def story() -> str:
        async with repository.engine(root) as engine:
            run_id = await engine.start(openskelo.from_document(block, root=root))
            await repository.until(
                lambda: (
                    bool(list(root.glob(".skelo/workspaces/*/seen")))
                    and not list(root.glob(".skelo/workspaces/*/*/tree"))
                )
            )
            await cancel(engine, run_id)
            return run_id

    run_id = asyncio.run(asyncio.wait_for(story(), 120))
    left = {artifact.name: artifact.text for artifact in repository.artifacts(root, run_id)}
    assert "diff.partial.patch" not in left
    assert left["answer.partial.txt"] == "half"
    assert "the diff of the turn could not be made" in left["work.log"]
    assert "half" in left["transcript.jsonl"]


def test_the_receipt_names_agent_session_prompt_and_files(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    run_id = str(repository.play(root, repository.block("@write new.txt x", "@cost 0.25", "@say done"))["runId"])
    log = [(event["type"], cast("dict[str, Any]", event["data"])) for event in repository.events(root, run_id)]
    (session,) = (data["session"] for kind, data in log if kind == "session.opened")
    (receipt,) = (data["receipt"] for kind, data in log if kind == "attempt.succeeded")
    hashes = {data["artifact"]["name"]: data["artifact"]["hash"] for kind, data in log if kind == "artifact.created"}
    tree = receipt["agent"]["tree_after"]
    assert (receipt["op"], receipt["agent"]) == (
        "agent",
        {
            "name": "helper",
            "provider": "custom",
            "program": "scripted",
            "version": "1.0",
            "session": session["sessionId"],
            "tree_before": session["tree"],
            "tree_after": tree,
            "prompt_hash": hashes["prompt.sent.txt"],
            "reported": {"tokens_in": 10, "tokens_out": 5, "cost_nanousd": 250_000_000},
        },
    )
    (shadow,) = root.glob(".skelo/workspaces/*/*/shadow.git")
    assert "new.txt" in repository.git(shadow, "ls-tree", "--name-only", tree).splitlines()
