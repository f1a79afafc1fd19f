"""`skelo chat`: talking to a node from a terminal or a script."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import openskelo
from openskelo.engine.commands import graph_commands
from openskelo.workflows import live_graph
from tests import forked_skelo
from tests.agents import repository, test_live_agents


def skelo(root: Path, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return forked_skelo.run(args, folder=root, stdin=stdin)


def graph(root: Path, **node: Any) -> str:
    """Return the id of a live graph with the agent `ann`."""

    async def story() -> str:
        async with repository.engine(root) as engine:
            run_id = await engine.start(live_graph.empty("pair"))
            await test_live_agents.add(engine.graph(run_id), **node)
            return run_id

    return asyncio.run(story())


def test_a_message_is_answered_and_its_calls_are_shown(tmp_path: Path) -> None:
    root = test_live_agents.make(tmp_path)
    run_id = graph(root)
    done = skelo(root, "chat", run_id, "ann", "@write a.txt x\n@say wrote it")
    assert (done.returncode, done.stderr) == (0, "")
    first, second, third, fourth = done.stdout.splitlines()
    assert (first.endswith(": @write a.txt x"), second, fourth) == (True, "@say wrote it", "ann: wrote it")
    assert third.startswith("  calls write a.txt")
    assert repository.processes_left(root) == []


def test_lines_of_standard_input_are_messages_and_the_past_is_shown_first(tmp_path: Path) -> None:
    root = test_live_agents.make(tmp_path)
    run_id = graph(root)
    assert skelo(root, "chat", run_id, "ann", stdin="@say one\n\n@say two").returncode == 0
    done = skelo(root, "chat", run_id, "ann", stdin="")
    said = [line for line in done.stdout.splitlines() if line.startswith("ann: ")]
    assert (done.returncode, said) == (0, ["ann: one", "ann: two"])


def test_json_is_one_document_a_line(tmp_path: Path) -> None:
    root = test_live_agents.make(tmp_path)
    run_id = graph(root)
    done = skelo(root, "chat", run_id, "ann", "@say one", "--json")
    documents = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["type"], one["role"], one["content"]) for one in documents] == [
        ("message", "user", "@say one"),
        ("message", "assistant", "one"),
    ]


def test_a_question_that_nobody_can_answer_here_ends_with_3_and_is_answered_later(tmp_path: Path) -> None:
    root = test_live_agents.make(tmp_path, provider="claude")
    run_id = graph(root, gated=True, provider="claude")
    asked = skelo(root, "chat", run_id, "ann", '@hook Bash {"command": "ls"}')
    assert asked.returncode == 3
    assert "asks: helper wants to run: ls" in asked.stdout
    assert "skelo approve" in asked.stderr


def test_a_failed_turn_ends_with_1_and_a_restart_takes_it_again(tmp_path: Path) -> None:
    root = test_live_agents.make(tmp_path)
    run_id = graph(root)
    failed = skelo(root, "chat", run_id, "ann", "@run test -e flag || (touch flag; kill -9 $PPID)\n@say survived")
    assert failed.returncode == 1
    assert "ann failed: AGENT_EXITED" in failed.stdout
    again = skelo(root, "chat", run_id, "ann", "--restart")
    assert (again.returncode, again.stdout.splitlines()[-1]) == (0, "ann: survived")


def test_a_reset_and_a_word_that_cannot_be_injected_are_said(tmp_path: Path) -> None:
    root = test_live_agents.make(tmp_path)
    run_id = graph(root)
    assert "a new conversation" in skelo(root, "chat", run_id, "ann", "/new").stderr
    assert "a new conversation" in skelo(root, "chat", run_id, "ann", "--reset").stderr
    steered = skelo(root, "chat", run_id, "ann", "@say one", "--steer")
    assert (steered.returncode, "queued" in steered.stderr) == (0, True)


def test_a_run_that_another_process_drives_is_interrupted_from_here(tmp_path: Path) -> None:
    root = test_live_agents.make(tmp_path)

    async def story(engine: openskelo.Engine, talk: graph_commands.Graph) -> None:
        key = await test_live_agents.add(talk)
        heard = asyncio.ensure_future(test_live_agents.talking(engine, talk))
        await talk.say(key, "@say so far\n@wait")
        await heard
        args = ("chat", talk.run_id, "ann", "@instead\n@say other", "--interrupt")
        done = await asyncio.to_thread(skelo, root, *args)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "ann: other"), done
        assert "ann (interrupted): so far" in done.stdout

    test_live_agents.play(root, story)


def test_a_node_that_is_not_there_is_said_with_those_that_are(tmp_path: Path) -> None:
    root = test_live_agents.make(tmp_path)
    done = skelo(root, "chat", graph(root), "anne", "x")
    assert (done.returncode, "did you mean ann?" in done.stderr) == (2, True), done
