"""A block with an agent: what it hands in, what it leaves in the record, and each way in which a turn can end badly."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

import openskelo
from openskelo.executors import gate_evaluation
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json, JsonObject
from tests import forked_skelo
from tests.agents import repository

ANSWER: Json = {"answer": {"type": "integer"}, "files_changed": {"type": "array"}}


def _node(document: RunDocument) -> dict[str, Any]:
    return cast("dict[str, Any]", cast("dict[str, Any]", document["nodes"])["work"])


def _code(document: RunDocument) -> str:
    return cast("str", cast("dict[str, Any]", document.get("error"))["code"])


def test_it_changes_a_worktree_and_hands_in_its_diff(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    document = repository.play(root, repository.block("@write new.txt one\\ntwo\\n", "@say I wrote it."))
    assert document["ending"] == "ok"
    outputs = _node(document)["outputs"]
    assert (outputs["files_changed"], outputs["summary"]) == (["new.txt"], "I wrote it.")
    assert "+one\n+two\n" in outputs["diff"]
    assert not (root / "new.txt").exists()
    assert repository.git(root, "status", "--porcelain") == ""
    assert repository.processes_left(root) == []


def test_the_record_has_the_session_the_calls_and_the_prompts(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    (root / "AGENTS.md").write_text("Use tabs.")
    repository.git(root, "add", "--all")
    repository.git(root, "commit", "--quiet", "-m", "two")
    run_id = repository.play(root, repository.block("@write new.txt x", "@say done"))["runId"]
    log = repository.events(root, run_id)
    assert [event["type"] for event in log] == [
        "run.created",
        "attempt.started",
        "session.opened",
        *["artifact.created"] * 3,
        "call.started",
        "call.completed",
        *["artifact.created"] * 2,
        "attempt.succeeded",
        "run.ended",
    ]
    session = cast("dict[str, Any]", log[2]["data"])["session"]
    assert {key: session[key] for key in ("agent", "provider", "continued", "sandbox", "permissions")} == {
        "agent": "helper",
        "provider": "custom",
        "continued": False,
        "sandbox": {"kind": "bubblewrap", "limits": []},
        "permissions": "skip",
    }
    call = cast("dict[str, Any]", log[6]["data"])
    assert (call["call"]["tool"], call["call"]["kind"]) == ("write new.txt", "edit")
    assert call["args"] == {"value": {"path": "new.txt"}}
    prompt = repository.artifact(root, run_id, "prompt.full.txt")
    assert "AGENTS.md of the repository (data):\n```\nUse tabs.\n```" in prompt
    assert repository.artifact(root, run_id, "prompt.sent.txt") == prompt
    assert "session/prompt" in repository.artifact(root, run_id, "transcript.jsonl")
    metadata = [
        cast("dict[str, Any]", event["data"])["artifact"].get("metadata")
        for event in log
        if event["type"] == "artifact.created"
    ]
    assert metadata == [
        None,
        None,
        None,
        None,
        {"filesChanged": ["new.txt"], "summary": "1 file changed, +1 -0", "insertions": 1, "deletions": 0},
    ]
    assert repository.artifact(root, run_id, "diff.patch").startswith("diff --git a/new.txt b/new.txt")


def test_an_agent_without_our_tools_ends_with_json(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    document = repository.play(root, repository.block('@json {"answer": 42}', outputs=ANSWER))
    assert _node(document)["outputs"] == {"answer": 42, "files_changed": []}


def test_a_result_that_breaks_the_contract_is_repaired_in_the_same_session(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    lines = ('@json {"answer": "many"}', "@next", '@json {"answer": 7}')
    document = repository.play(root, repository.block(*lines, outputs=ANSWER))
    assert (document["ending"], _node(document)["outputs"]["answer"]) == ("ok", 7)
    log = repository.events(root, document["runId"])
    sessions = [cast("dict[str, Any]", event["data"])["session"] for event in log if event["type"] == "session.opened"]
    assert [session["continued"] for session in sessions] == [False, True]
    assert sessions[0]["sessionId"] == sessions[1]["sessionId"]
    sent = repository.artifact(root, document["runId"], "prompt.sent.txt")
    assert "@json" not in sent
    assert "refused" in sent


def test_a_gate_sends_the_agent_back_and_sees_all_of_its_changes(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    lines = (
        "@write secret/key.txt x",
        "@say first",
        "@next",
        "@delete secret/key.txt",
        "@write ok.txt y",
        "@say second",
    )
    gates: Json = [{"type": "scope", "port": "files_changed", "allowed_paths": ["*.txt"]}]
    bounce: Json = [{"when_gate": "scope", "route_to": "work", "max_bounces": 1}]
    document = repository.play(root, repository.block(*lines, post_gates=gates, on_gate_fail=bounce))
    assert document["ending"] == "ok", document.get("error")
    assert _node(document)["outputs"]["files_changed"] == ["ok.txt"]
    assert _node(document)["visits"] == 2


def test_a_command_gate_runs_in_the_workspace(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    gates: Json = [{"type": "command", "argv": ["test", "-f", "made.txt"]}]
    assert repository.play(root, repository.block("@write made.txt x", "@say ok", post_gates=gates))["ending"] == "ok"
    refused = repository.play(root, repository.block("@write other.txt x", "@say ok", post_gates=gates))
    assert (refused["ending"], _code(refused)) == ("failed", "POST_GATE_FAILED")


@pytest.mark.parametrize(
    ("agent", "gate", "expected"),
    [
        ("helper", {"type": "command", "argv": ["true"]}, False),
        ("helper", {"type": "not_empty", "port": "summary"}, True),
        (None, {"type": "command", "argv": ["true"]}, True),
    ],
)
def test_a_command_gate_of_an_agent_is_not_judged_later_without_the_workspace(
    tmp_path: Path, agent: str | None, gate: JsonObject, expected: bool
) -> None:
    root = repository.make(tmp_path)
    (block,) = cast("list[dict[str, Json]]", repository.block("@say ok", post_gates=[gate])["blocks"])
    if agent is None:
        del block["agent"]
    flow = openskelo.from_document({"name": "one", "blocks": [block]}, root=root)
    assert gate_evaluation.can_judge_later(flow.nodes["work"]) is expected


def test_every_permission_is_allowed_once_and_never_for_longer(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    document = repository.play(root, repository.block("@ask rm -rf build"))
    assert _node(document)["outputs"]["summary"] == "[once]"


@pytest.mark.parametrize(
    ("lines", "settings", "code", "words"),
    [
        (["@exit 3"], {}, "AGENT_EXITED", "exit code 3; its last words: the agent gives up"),
        (["@hang"], {"idle_ms": 300}, "AGENT_IDLE", "no sign for 0.3 seconds"),
        (["@calls 5"], {"max_calls": 3}, "AGENT_CALLS", "more than 3 calls"),
        ([], {}, "AGENT_NO_RESULT", "it said nothing"),
        (["@say nothing to hand in"], {"outputs": ANSWER}, "ANSWER_INVALID", "without handing in its result"),
        (["@hang"], {"wall_ms": 400}, "TIMEOUT", "stopped after 400 ms"),
    ],
)
def test_a_turn_that_ends_badly_fails_with_a_code(
    tmp_path: Path, lines: list[str], settings: dict[str, Json], code: str, words: str
) -> None:
    outputs = {"outputs": settings.pop("outputs")} if "outputs" in settings else {}
    root = repository.make(tmp_path, **settings)
    document = repository.play(
        root, repository.block("@write kept.txt x", *lines, contract_repair_attempts=0, **outputs)
    )
    if not lines:
        document = repository.play(root, repository.block("nothing to play", contract_repair_attempts=0))
    assert (document["ending"], _code(document)) == ("failed", code)
    assert words in cast("dict[str, Any]", document.get("error"))["message"]
    if lines:
        assert "kept.txt" in repository.artifact(root, document["runId"], "diff.partial.patch")
    assert repository.processes_left(root) == []


def test_lines_and_messages_that_are_no_part_of_the_protocol_do_no_harm(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    document = repository.play(root, repository.block("@garbage", "@unknown", "@late", "@say fine"))
    assert (document["ending"], _node(document)["outputs"]["summary"]) == ("ok", "fine")


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"command": ["./no-such-agent"]}, "AGENT_NOT_STARTED"),
        ({"env": {"AGENT_PROTOCOL": "${env:TWO}"}}, "AGENT_PROTOCOL"),
    ],
)
def test_an_agent_that_cannot_be_used_fails_before_any_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Json], code: str
) -> None:
    monkeypatch.setenv("TWO", "2")
    root = repository.make(tmp_path, **settings)
    assert _code(repository.play(root, repository.block("@say x"))) == code


def test_turns_go_on_until_the_result_is_there(tmp_path: Path) -> None:
    root = repository.make(tmp_path, until="complete", max_turns=3)
    lines = ("@say thinking", "@next", "@say still", "@next", '@json {"answer": 3}')
    document = repository.play(root, repository.block(*lines, outputs=ANSWER))
    assert _node(document)["outputs"]["answer"] == 3


def test_the_cost_of_a_session_counts_once_and_the_transcript_has_all_turns(tmp_path: Path) -> None:
    root = repository.make(tmp_path, until="complete", max_turns=3)
    lines = ("@cost 0.25", "@say thinking", "@next", "@cost 0.5", '@json {"answer": 3}')
    document = repository.play(root, repository.block(*lines, outputs=ANSWER))
    assert cast("dict[str, Any]", document["budget"])["costUsd"]["used"] == 0.5
    transcript = repository.artifact(root, document["runId"], "transcript.jsonl")
    assert transcript.count('"session/prompt"') == 2


def test_a_killed_agent_is_resumed_by_the_next_engine(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    flow = openskelo.from_document(
        repository.block("@write first.txt x", "@hang", "@next", "@write second.txt y", "@say resumed"), root=root
    )

    async def begin() -> str:
        async with repository.engine(root) as opened:
            run_id = await opened.start(flow)
            await repository.until(lambda: bool(list(root.glob(".skelo/workspaces/*/*/tree/first.txt"))))
            return run_id

    async def go_on(run_id: str) -> RunDocument:
        async with repository.engine(root) as opened:
            await opened.resume(run_id)
            return await opened.wait(run_id)

    run_id = asyncio.run(asyncio.wait_for(begin(), 120))
    assert repository.processes_left(root) == []
    document = asyncio.run(asyncio.wait_for(go_on(run_id), 120))
    assert document["ending"] == "ok", document.get("error")
    assert _node(document)["outputs"]["files_changed"] == ["first.txt", "second.txt"]
    log = repository.events(root, run_id)
    sessions = [cast("dict[str, Any]", event["data"])["session"] for event in log if event["type"] == "session.opened"]
    assert [session["continued"] for session in sessions] == [False, True]


def test_an_agent_that_was_cut_before_it_got_its_prompt_gets_it_from_the_next_engine(tmp_path: Path) -> None:
    root = repository.make(tmp_path, command=[sys.executable, str(repository.AGENT), "--misses-first"])
    flow = openskelo.from_document(repository.block("Count the bees.", "@say counted"), root=root)

    async def begin() -> str:
        async with repository.engine(root) as opened:
            run_id = await opened.start(flow)
            await repository.until(lambda: bool(list(root.glob(".skelo/workspaces/*/*/home/missed"))))
            return run_id

    async def go_on(run_id: str) -> RunDocument:
        async with repository.engine(root) as opened:
            await opened.resume(run_id)
            return await opened.wait(run_id)

    run_id = asyncio.run(asyncio.wait_for(begin(), 120))
    document = asyncio.run(asyncio.wait_for(go_on(run_id), 120))
    assert document["ending"] == "ok", document.get("error")
    assert _node(document)["outputs"]["summary"] == "counted"
    sent = repository.artifact(root, run_id, "prompt.sent.txt")
    full = repository.artifact(root, run_id, "prompt.full.txt")
    assert sent == f"Your last turn did not end well. Go on with the task from where you are.\n\n{full}"
    log = repository.events(root, run_id)
    sessions = [cast("dict[str, Any]", event["data"])["session"] for event in log if event["type"] == "session.opened"]
    assert [session["continued"] for session in sessions] == [False, True]
    assert sessions[0]["sessionId"] == sessions[1]["sessionId"]


def test_a_block_that_is_entered_again_gets_its_new_inputs_in_the_same_session(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    gates: Json = [{"name": "good", "type": "regex", "port": "summary", "pattern": "good"}]
    blocks: Json = [
        {
            "id": "plan",
            "mode": "ai",
            "agent": "helper",
            "prompt": "@say the first plan\n@next\n@say the second plan",
            "outputs": {"summary": {"type": "string"}},
        },
        {
            "id": "work",
            "mode": "ai",
            "agent": "helper",
            "prompt": "@say bad\n@next\n@say good",
            "inputs": {"plan": {"type": "string", "from": "plan.summary"}},
            "outputs": {"summary": {"type": "string"}},
            "post_gates": gates,
            "on_gate_fail": [{"when_gate": "good", "route_to": "plan", "max_bounces": 1}],
        },
    ]
    document = repository.play(root, {"name": "two", "blocks": blocks})
    assert document["ending"] == "ok", document.get("error")
    assert (_node(document)["visits"], _node(document)["outputs"]) == (2, {"summary": "good"})
    run_id = document["runId"]
    log = [(event["type"], cast("dict[str, Any]", event["data"])) for event in repository.events(root, run_id)]
    sessions = [data["session"] for kind, data in log if kind == "session.opened" and data["node"] == "work"]
    assert [session["continued"] for session in sessions] == [False, True]
    sent = repository.artifact(root, run_id, "prompt.sent.txt")
    assert "the second plan" in sent
    assert "did not end well" not in sent
    assert "You do one step of a workflow" not in sent


def test_without_its_session_a_cut_turn_begins_with_the_files_as_they_were(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    flow = openskelo.from_document(repository.block("@write first.txt x", "@hang", "@say never"), root=root)

    async def begin() -> str:
        async with repository.engine(root) as opened:
            run_id = await opened.start(flow)
            await repository.until(lambda: bool(list(root.glob(".skelo/workspaces/*/*/tree/first.txt"))))
            return run_id

    run_id = asyncio.run(asyncio.wait_for(begin(), 120))
    (home,) = (root / ".skelo").glob("workspaces/*/*/home")
    for session in home.glob("session-*.json"):
        session.unlink()
    half_done = home.parent / "tree" / "half-done.txt"
    half_done.write_text("what the cut turn has left")

    async def go_on() -> RunDocument:
        async with repository.engine(root) as opened:
            await opened.resume(run_id)
            await repository.until(lambda: not half_done.exists() and (home.parent / "tree" / "first.txt").exists())
            await opened.cancel(run_id)
            return await opened.wait(run_id)

    assert asyncio.run(asyncio.wait_for(go_on(), 120))["ending"] == "cancelled"
    log = repository.events(root, run_id)
    sessions = [cast("dict[str, Any]", event["data"])["session"] for event in log if event["type"] == "session.opened"]
    assert [session["continued"] for session in sessions] == [False, False]
    assert sessions[0]["tree"] == sessions[1]["tree"]


def test_agents_die_with_a_killed_process(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    (root / "flow.yaml").write_text(yaml.safe_dump(repository.block("@write first.txt x", "@hang")))

    async def scenario() -> None:
        with (tmp_path / "log").open("wb") as log:
            process = forked_skelo.start(["run", "flow.yaml"], folder=root, log=log)
        await repository.until(lambda: bool(list(root.glob(".skelo/workspaces/*/*/tree/first.txt"))))
        process.kill()
        await asyncio.to_thread(process.wait)
        await repository.until(lambda: not repository.processes_left(root))

    asyncio.run(asyncio.wait_for(scenario(), 120))


def test_an_agent_that_removes_its_folder_fails_and_the_next_attempt_has_the_files_again(tmp_path: Path) -> None:
    root = repository.make(tmp_path, sandbox="none")
    lines = ("@run rm -rf ../tree", "@say Oh.", "@next", "@write new.txt x", "@say Done.")
    document = repository.play(root, repository.block(*lines, retry={"max_attempts": 2}))
    assert document["ending"] == "ok", document.get("error")
    assert _node(document)["outputs"]["files_changed"] == ["new.txt"]
    log = repository.events(root, str(document["runId"]))
    (failed,) = [cast("dict[str, Any]", event["data"]) for event in log if event["type"] == "attempt.failed"]
    assert failed["error"]["code"] == "WORKSPACE_GONE"


def test_a_diff_that_cannot_be_made_does_not_hide_why_the_turn_failed(tmp_path: Path) -> None:
    root = repository.make(tmp_path, sandbox="none")
    document = repository.play(root, repository.block("@complain no key", "@run rm -rf ../tree", "@exit 3"))
    assert _code(document) == "AGENT_EXITED"
    assert "no key" in str(cast("dict[str, Any]", document.get("error"))["message"])


def test_a_failed_turn_says_what_the_program_has_last_written_to_stderr(tmp_path: Path) -> None:
    root = repository.make(tmp_path, idle_ms=1000)
    document = repository.play(root, repository.block("@complain the model is down", "@hang"))
    assert _code(document) == "AGENT_IDLE"
    message = str(cast("dict[str, Any]", document.get("error"))["message"])
    assert "its last words: the model is down" in message
    assert "raise `idle_ms`" in message


def test_a_plain_value_of_env_reaches_the_program(tmp_path: Path) -> None:
    root = repository.make(tmp_path, env={"MODE": "plain text"})
    document = repository.play(root, repository.block("@say %MODE%"))
    assert _node(document)["outputs"]["summary"] == "plain text"
