"""Agents as nodes of a live graph: their turns, prompts and sessions, and what people do with them meanwhile."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

import openskelo
from openskelo.engine.commands import graph_commands
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import live_graph
from tests.agents import repository

Change = graph_commands.Change
Story = Callable[[openskelo.Engine, graph_commands.Graph], Awaitable[None]]


def make(folder: Path, **agent: Json) -> Path:
    """Return a project whose agent `helper` can take a word during its turn."""
    return repository.make(folder, command=[sys.executable, str(repository.AGENT), "--steering"], **agent)


def play(root: Path, story: Story) -> None:
    """Let a story happen in a new live graph."""

    async def run() -> None:
        async with repository.engine(root) as engine:
            run_id = await engine.start(live_graph.empty("talk"))
            await story(engine, engine.graph(run_id))

    asyncio.run(asyncio.wait_for(run(), 120))


async def add(graph: graph_commands.Graph, label: str = "Ann", **more: Any) -> str:
    return await graph.add_node(label, kind="agent", more=Change(**more) if more else None)


async def said(engine: openskelo.Engine, graph: graph_commands.Graph, key: str, text: str) -> str:
    """Send a message and return the answer of the turn."""
    await graph.say(key, text)
    return await answer(engine, graph, key)


async def answer(engine: openskelo.Engine, graph: graph_commands.Graph, key: str) -> str:
    node = cast("Any", await engine.wait(graph.run_id))["nodes"][key]
    assert node["outcome"] == "succeeded", node
    return str(node["outputs"]["message"])


async def log(engine: openskelo.Engine, graph: graph_commands.Graph) -> list[dict[str, Any]]:
    return [json.loads(line) async for lines in engine.store.read_events(graph.run_id) for line in lines]


async def artifacts(engine: openskelo.Engine, graph: graph_commands.Graph) -> dict[tuple[int, str], str]:
    """Return the texts of all artifacts by visit and name."""
    found: dict[tuple[int, str], str] = {}
    for event in await log(engine, graph):
        if event["type"] == "artifact.created":
            data = event["data"]
            content = await engine.history.read_blob(data["artifact"]["hash"])
            found[data["visit"], data["artifact"]["name"]] = content.decode()
    return found


async def sessions(engine: openskelo.Engine, graph: graph_commands.Graph) -> list[dict[str, Any]]:
    return [event["data"]["session"] for event in await log(engine, graph) if event["type"] == "session.opened"]


async def talking(engine: openskelo.Engine, graph: graph_commands.Graph, visit: int = 1) -> None:
    """Wait until the agent has said something in this turn."""
    run_id, heard = graph.run_id, asyncio.Event()
    stop = engine.listen(
        lambda request, _text: heard.set() if (request.run_id, request.visit) == (run_id, visit) else None
    )
    await heard.wait()
    stop()


# -- turns ------------------------------------------------------------------------------------------------------------


def test_a_turn_is_a_turn_of_the_agent_in_the_nodes_own_workspace(tmp_path: Path) -> None:
    root = make(tmp_path)

    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await add(graph)
        assert await said(engine, graph, key, "@write new.txt one\n@say wrote it") == "wrote it"
        assert await said(engine, graph, key, "@say second") == "second"
        first, second = await sessions(engine, graph)
        assert (first["continued"], second["continued"]) == (False, True)
        assert first["sessionId"] == second["sessionId"]
        texts = await artifacts(engine, graph)
        assert "+one" in texts[1, "diff.patch"]
        assert texts[2, "diff.patch"] == ""
        await graph.complete()

    play(root, story)
    assert not (root / "new.txt").exists()
    assert repository.processes_left(root) == []


def test_the_first_prompt_is_whole_and_the_next_only_what_is_new(tmp_path: Path) -> None:
    root = make(tmp_path)
    (root / "AGENTS.md").write_text("Use tabs.")
    repository.git(root, "add", "--all")
    repository.git(root, "commit", "--quiet", "-m", "two")

    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await graph.add_node("Ann", kind="agent", config={"prompt": "You know bees."}, more=Change(role="tester"))
        await said(engine, graph, key, "@say one")
        await said(engine, graph, key, "@say two")
        texts = await artifacts(engine, graph)
        full = texts[1, "prompt.full.txt"]
        assert texts[1, "prompt.sent.txt"] == full
        for part in ("You find out whether it works.", "You know bees.", "Use tabs.", "@say one"):
            assert part in full
        assert texts[2, "prompt.sent.txt"] == "@say two"
        again = texts[2, "prompt.full.txt"]
        assert "You know bees." in again
        assert again.index("They: @say one") < again.index("You: ") < again.rindex("@say two")
        assert set(json.loads(texts[2, "prompt.blocks.json"])) == {"system", "role", "mode", "task", "override"}

    play(root, story)


def test_a_role_of_the_project_shadows_the_shipped_one_and_is_read_anew(tmp_path: Path) -> None:
    root = make(tmp_path)
    role = root / "roles" / "reviewer.md"
    role.parent.mkdir()
    role.write_text("Be kind.")

    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await add(graph, role="reviewer")
        await said(engine, graph, key, "@say one")
        role.write_text("Be strict.")
        await said(engine, graph, key, "@say two")
        texts = await artifacts(engine, graph)
        assert "Be kind." in texts[1, "prompt.full.txt"]
        assert "Be strict." in texts[2, "prompt.full.txt"]
        hashes = [
            event["data"]["artifact"]["metadata"]["roleHash"]
            for event in await log(engine, graph)
            if event["type"] == "artifact.created" and event["data"]["artifact"]["name"] == "prompt.full.txt"
        ]
        assert len(set(hashes)) == 2

    play(root, story)


def test_a_restarted_engine_goes_on_with_the_session(tmp_path: Path) -> None:
    root = make(tmp_path)

    async def first() -> tuple[str, str]:
        async with repository.engine(root) as engine:
            run_id = await engine.start(live_graph.empty("talk"))
            graph = engine.graph(run_id)
            key = await add(graph)
            await said(engine, graph, key, "@say one")
            return run_id, key

    async def second(run_id: str, key: str) -> None:
        async with repository.engine(root) as engine:
            graph = engine.graph(run_id)
            assert await said(engine, graph, key, "@say two") == "two"
            one, two = await sessions(engine, graph)
            assert (two["continued"], two["sessionId"]) == (True, one["sessionId"])
            assert (await artifacts(engine, graph))[2, "prompt.sent.txt"] == "@say two"

    asyncio.run(asyncio.wait_for(second(*asyncio.run(first())), 120))


def test_a_turn_that_was_cut_before_its_prompt_was_delivered_gets_the_role_and_the_inbox_again(tmp_path: Path) -> None:
    root = repository.make(tmp_path, command=[sys.executable, str(repository.AGENT), "--misses-first"])

    async def first() -> tuple[str, str]:
        async with repository.engine(root) as engine:
            run_id = await engine.start(live_graph.empty("talk"))
            graph = engine.graph(run_id)
            key = await graph.add_node("Ann", kind="agent", config={"prompt": "You know bees."})
            await graph.say(key, "@say one")
            await repository.until(lambda: bool(list(root.glob(".skelo/workspaces/*/*/home/missed"))))
            return run_id, key

    async def second(run_id: str, key: str) -> None:
        async with repository.engine(root) as engine:
            graph = engine.graph(run_id)
            await engine.resume(run_id)
            assert await answer(engine, graph, key) == "one"
            one, two = await sessions(engine, graph)
            assert (two["continued"], two["sessionId"]) == (True, one["sessionId"])
            assert "You know bees." in (await artifacts(engine, graph))[1, "prompt.sent.txt"]

    asyncio.run(asyncio.wait_for(second(*asyncio.run(first())), 120))


def test_a_lost_session_gets_the_whole_prompt_with_the_conversation(tmp_path: Path) -> None:
    root = make(tmp_path)

    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await add(graph)
        await said(engine, graph, key, "@say one")
        await engine.performer.close()
        for file in root.rglob("session-*.json"):
            file.unlink()
        assert await said(engine, graph, key, "@say two") == "two"
        texts = await artifacts(engine, graph)
        assert texts[2, "prompt.sent.txt"] == texts[2, "prompt.full.txt"]
        assert "They: @say one" in texts[2, "prompt.sent.txt"]
        assert "does not know its session" in texts[2, "ann.log"]

    play(root, story)


def test_what_the_program_writes_to_stderr_is_kept_for_each_turn(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await add(graph)
        await said(engine, graph, key, "@complain it is hot\n@say one")
        await said(engine, graph, key, "@say two")
        texts = await artifacts(engine, graph)
        assert texts[1, "stderr.log"] == "it is hot\n"
        assert (2, "stderr.log") not in texts

    play(make(tmp_path), story)


# -- reset, another provider ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["/new", " /clear ", "button"])
def test_a_reset_begins_a_new_conversation_and_keeps_the_files(tmp_path: Path, way: str) -> None:
    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await add(graph)
        await said(engine, graph, key, "@write new.txt one\n@say one")
        if way == "button":
            await graph.reset(key)
        else:
            assert (await graph.send(key, way)).reset
        document = cast("Any", await engine.wait(graph.run_id))
        assert document["nodes"][key]["visits"] == 1  # a reset is no turn
        await said(engine, graph, key, "@delete new.txt\n@say two")
        first, second = await sessions(engine, graph)
        assert first["sessionId"] != second["sessionId"]
        texts = await artifacts(engine, graph)
        assert texts[2, "prompt.sent.txt"] == texts[2, "prompt.full.txt"]
        assert "@say one" not in texts[2, "prompt.full.txt"]

    play(make(tmp_path), story)


def test_own_reset_commands_replace_the_usual_ones(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await add(graph, reset_commands=("/again",))
        assert not (await graph.send(key, "/new\n@say read")).reset
        await answer(engine, graph, key)
        assert (await graph.send(key, "/again")).reset

    play(make(tmp_path), story)


def test_another_provider_is_handed_over_what_was_done(tmp_path: Path) -> None:
    root = make(tmp_path)
    settings = yaml.safe_load((root / "skelo.yaml").read_text())
    settings["agents"]["other"] = {**settings["agents"]["helper"], "provider": "claude"}
    (root / "skelo.yaml").write_text(yaml.safe_dump(settings))

    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await add(graph)
        await said(engine, graph, key, "Count bees.\n@write bees.txt 3\n@say counted")
        await graph.change_node(key, Change(provider="claude"))
        assert await said(engine, graph, key, "@say took over") == "took over"
        texts = await artifacts(engine, graph)
        pack = json.loads(texts[2, "contextpack.json"])
        assert (pack["from"], pack["to"]) == ("helper", "other")
        assert pack["goal"].startswith("Count bees.")
        assert pack["tried"] == ["counted"]
        assert pack["diff"]["filesChanged"] == ["bees.txt"]
        assert "You take over from another agent." in texts[2, "prompt.sent.txt"]
        kinds = [
            event["data"]["artifact"]["kind"]
            for event in await log(engine, graph)
            if event["type"] == "artifact.created" and event["data"]["artifact"]["name"] == "contextpack.json"
        ]
        assert kinds == ["contextpack"]

    play(root, story)


# -- people, meanwhile ------------------------------------------------------------------------------------------------


def test_an_interrupt_stops_the_turn_over_the_protocol_and_keeps_the_session(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await add(graph)
        heard = asyncio.ensure_future(talking(engine, graph))
        await graph.say(key, "@say so far\n@wait")
        await heard
        await graph.say(key, "@instead\n@say second", interrupt=True)
        assert await answer(engine, graph, key) == "second"
        first, second = await sessions(engine, graph)
        assert (second["continued"], second["sessionId"]) == (True, first["sessionId"])
        (stopped,) = [event for event in await log(engine, graph) if event["type"] == "attempt.cancelled"]
        assert stopped["data"]["said"] == "so far"
        texts = await artifacts(engine, graph)
        assert texts[2, "prompt.sent.txt"] == "@say so far\n@wait\n\n@instead\n@say second"
        assert "session/resume" not in texts[2, "transcript.jsonl"]

    play(make(tmp_path), story)


def test_an_agent_that_does_not_stop_is_ended_by_force(tmp_path: Path) -> None:
    root = make(tmp_path)

    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await add(graph)
        heard = asyncio.ensure_future(talking(engine, graph))
        await graph.say(key, "@say so far\n@hang")
        await heard
        await graph.say(key, "@instead\n@say second", interrupt=True)
        assert await answer(engine, graph, key) == "second"
        first, second = await sessions(engine, graph)
        assert (second["continued"], second["sessionId"]) == (True, first["sessionId"])
        assert "session/resume" in (await artifacts(engine, graph))[2, "transcript.jsonl"]

    play(root, story)
    assert repository.processes_left(root) == []


def test_a_word_during_a_turn_is_injected(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await add(graph)
        heard = asyncio.ensure_future(talking(engine, graph))
        await graph.say(key, "@say begun\n@wait")
        await heard
        assert (await graph.send(key, "hurry", steer=True)).steers
        assert await answer(engine, graph, key) == "begun[hurry]"
        document = cast("Any", await engine.wait(graph.run_id))
        assert document["nodes"][key]["visits"] == 1

    play(make(tmp_path), story)


def test_a_word_to_an_agent_that_cannot_take_it_waits_for_the_next_turn(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await add(graph)
        sent = await graph.send(key, "@say one", steer=True)
        assert not sent.steers
        assert await answer(engine, graph, key) == "one"

    play(repository.make(tmp_path), story)


def test_a_failed_turn_is_taken_again(tmp_path: Path) -> None:
    root = make(tmp_path)

    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await add(graph)
        await graph.say(key, "@run test -e flag || (touch flag; kill -9 $PPID)\n@say survived")
        node = cast("Any", await engine.wait(graph.run_id))["nodes"][key]
        assert (node["outcome"], node["error"]["code"]) == ("failed", "AGENT_EXITED")
        await graph.retry(key)
        assert await answer(engine, graph, key) == "survived"
        with pytest.raises(openskelo.Refused) as refused:
            await graph.retry(key)
        assert refused.value.code == "NODE_IDLE"

    play(root, story)


def test_a_pause_lets_the_turn_end_or_cuts_it_and_a_resume_goes_on_in_the_session(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await add(graph)
        heard = asyncio.ensure_future(talking(engine, graph))
        await graph.say(key, "@say begun\n@wait")
        await heard
        await engine.pause(graph.run_id, now=True)
        assert cast("Any", await engine.show(graph.run_id))["status"] == "paused"
        heard = asyncio.ensure_future(talking(engine, graph))
        await engine.resume(graph.run_id)
        await heard
        await graph.send(key, "go on", steer=True)
        assert await answer(engine, graph, key) == "begun[go on]"
        first, second = await sessions(engine, graph)
        assert (second["continued"], second["sessionId"]) == (True, first["sessionId"])
        sent = (await artifacts(engine, graph))[1, "prompt.sent.txt"]
        assert sent.startswith("Your last turn was stopped before its end.")

    play(make(tmp_path), story)


def test_viewers_are_told_what_the_agent_is_doing(tmp_path: Path) -> None:
    told: list[str] = []

    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        engine.listen_status(lambda _request, text: told.append(text))
        key = await add(graph)
        lines = ("@think hm", "@plan find the bug", "@run echo one; echo two", "@write src/a.py x", "@say done")
        await said(engine, graph, key, "\n".join(lines))

    play(make(tmp_path), story)
    assert told == [
        "thinking",
        "plan, 0 of 1 done: find the bug",
        "runs: echo one; echo two",
        "runs: echo one; echo two > two",
        "thinking",
        "edits src/a.py",
        "thinking",
        "answering",
    ]


# -- rights -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capabilities", "lines", "wanted"),
    [
        (
            {"writeCode": False},
            '@hook Write {"file_path": "a.py", "content": "x"}',
            "deny: this node may not change code",
        ),
        ({"writeCode": False}, '@hook Write {"file_path": "a.md", "content": "x"}', "allow: permissions: skip"),
        (
            {"writeDocs": False},
            '@hook Write {"file_path": "docs/a.html", "content": "x"}',
            "deny: this node may not change documents",
        ),
        ({"runCommands": False}, '@hook Bash {"command": "ls"}', "deny: this node may not run commands"),
        ({}, '@hook Bash {"command": "ls"}', "allow: permissions: skip"),
    ],
)
def test_capabilities_limit_what_an_agent_may_call(
    tmp_path: Path, capabilities: JsonObject, lines: str, wanted: str
) -> None:
    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await add(graph, capabilities=capabilities, provider="claude")
        assert await said(engine, graph, key, lines) == f"[{wanted}]"

    play(make(tmp_path, provider="claude"), story)


def test_a_gated_node_asks_about_calls_and_not_about_turns(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await add(graph, gated=True, provider="claude")
        await graph.say(key, '@hook Bash {"command": "ls"}')
        document = await engine.wait(graph.run_id)
        (approval,) = cast("list[JsonObject]", document["approvals"])
        assert approval["kind"] == "call"
        await engine.answer(str(approval["id"]), status="approved", by="ada")
        assert await answer(engine, graph, key) == "[allow: ada has allowed it]"

    play(make(tmp_path, provider="claude"), story)


def test_a_turn_goes_on_with_the_reason_of_a_denial_that_the_protocol_could_not_carry(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await add(graph)
        await graph.say(key, "@ask git push\n@say I could not push\n@next\n@say so I opened a request")
        (approval,) = cast("list[JsonObject]", (await engine.wait(graph.run_id))["approvals"])
        await engine.answer(str(approval["id"]), status="denied", reason="open a request", by="ada")
        assert await answer(engine, graph, key) == "so I opened a request"
        transcript = (await artifacts(engine, graph))[1, "transcript.jsonl"]
        assert "The call 'git push' was denied: ada has denied it: open a request" in transcript
        assert cast("Any", await engine.wait(graph.run_id))["nodes"][key]["visits"] == 1

    play(make(tmp_path, permissions="gated"), story)


def test_a_turn_whose_calls_are_denied_again_and_again_ends_with_what_was_said_last(tmp_path: Path) -> None:
    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        key = await add(graph)
        again = "\n@next\n".join(f"@ask git push\n@say try {number}" for number in range(20))
        assert await said(engine, graph, key, again) == "[no]try 10"

    play(make(tmp_path, permissions="gated", policy={"deny": [{"commands": ["git push*"]}]}), story)


def test_a_node_may_not_skip_what_the_project_gates(tmp_path: Path) -> None:
    async def story(_engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        with pytest.raises(openskelo.InvalidWorkflow) as raised:
            await add(graph, gated=False, provider="claude")
        (problem,) = raised.value.problems
        assert cast("Any", problem).path == "/permissions/cliPermissionsMode"

    play(make(tmp_path, provider="claude", permissions="gated"), story)


def test_an_agent_that_the_project_does_not_have_is_refused(tmp_path: Path) -> None:
    async def story(_engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        for change in (Change(provider="codex"), Change(agent="helpr")):
            with pytest.raises(openskelo.InvalidWorkflow) as raised:
                await graph.add_node("Ann", kind="agent", more=change)
            (problem,) = raised.value.problems
            assert cast("Any", problem).code == "AGENT_UNKNOWN"
            assert "helper" in str(cast("Any", problem).hint)

    play(make(tmp_path), story)


# -- many -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_thousand_idle_agents_are_rows_and_no_processes(tmp_path: Path) -> None:
    root = make(tmp_path, sandbox="none")  # else a program has others around it

    async def story(engine: openskelo.Engine, graph: graph_commands.Graph) -> None:
        keys = [await add(graph, f"Node {number}") for number in range(1000)]
        assert repository.processes_left(root) == []
        assert await said(engine, graph, keys[0], "@say first") == "first"
        assert await said(engine, graph, keys[999], "@say last") == "last"
        assert len(repository.processes_left(root)) == 2
        assert len(list((root / ".skelo" / "workspaces").glob("*/*"))) == 2

    play(root, story)
