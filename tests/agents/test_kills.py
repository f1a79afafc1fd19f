"""Random kills: of the process that drives a run, of its agents, and of the programs around them.

A run of several agent blocks, each of which edits a file, asks a person about a call and edits another file, is killed
again and again at random moments. In the end every block is done, every answer was used at most once, and nothing is
left running. `make chaos` kills fifty times; the tests, which everybody waits for, five times.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from openskelo.kernel.json import Json, JsonObject
from tests import forked_skelo
from tests.agents import repository

KILLS = int(os.environ.get("SKELO_KILLS", "5"))
BLOCKS = max(3, KILLS // 4)
SEED = int(os.environ.get("SKELO_SEED", "19"))


def _project(folder: Path) -> Path:
    """Return a project whose run has several blocks with an agent that asks a hook."""
    command: Json = [sys.executable, str(repository.AGENT)]
    root = repository.make(folder, provider="claude", command=command, permissions="gated")
    blocks: list[JsonObject] = []
    for index in range(BLOCKS):
        lines = (
            f"@write first-{index}.txt x",
            f'@hook Bash {{"command": "make {index}"}}',
            f"@write second-{index}.txt y",
            f"@say done {index}",
        )
        # After a cut turn the agent is told to go on; it then plays the same lines again, as an agent would.
        prompt = "\n@next\n".join(["\n".join(lines)] * 20)
        block: dict[str, Json] = {
            "id": f"b{index}",
            "mode": "ai",
            "agent": "helper",
            "prompt": prompt,
            "outputs": {"summary": {"type": "string"}},
            "retry": {"max_attempts": 20, "stall_after": 0},
        }
        if index:
            block["inputs"] = {"before": {"type": "string", "from": f"b{index - 1}.summary"}}
        blocks.append(block)
    (root / "flow.yaml").write_text(yaml.safe_dump({"name": "killed", "blocks": blocks}))
    return root


def _document(root: Path, *words: str) -> dict[str, Any]:
    return json.loads(forked_skelo.run([*words, "--json"], folder=root).stdout)


def _start(root: Path, *words: str) -> forked_skelo.ForkedProcess:
    with (root.parent / "log").open("ab") as log:
        return forked_skelo.start(words, folder=root, log=log)


def _family(root: Path) -> list[int]:
    """Return the processes that belong to agents of this project: the agent, and the relay around it."""
    pids: list[int] = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes()
            is_ours = repository.AGENT.name.encode() in words or b"inside_sandbox" in words
            if entry.name.isdecimal() and is_ours and str(root).encode() in (entry / "environ").read_bytes() + words:
                pids.append(int(entry.name))
    return pids


def _kill_something(root: Path, driver: forked_skelo.ForkedProcess, chance: random.Random) -> None:
    """Kill the driver, or one of the agent's processes, at a random moment, unless the driver ends before that."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        driver.wait(chance.uniform(0.3, 4))
        return
    family = _family(root)
    victim = driver.pid if chance.random() < 0.6 or not family else chance.choice(family)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(victim, signal.SIGKILL)
    if victim != driver.pid:
        with contextlib.suppress(subprocess.TimeoutExpired):
            driver.wait(2)
    driver.kill()
    driver.wait()


def _survive(root: Path, chance: random.Random) -> str:
    """Drive the run through all kills to its end; return its id."""
    _kill_something(root, _start(root, "run", "flow.yaml"), chance)
    kills = 1
    while True:
        rows = _document(root, "runs")["runs"]
        if not rows:
            _kill_something(root, _start(root, "run", "flow.yaml"), chance)
            continue
        run_id = str(rows[0]["runId"])
        shown = _document(root, "show", run_id)
        if shown["ending"] is not None:
            return run_id
        if kills >= KILLS:
            for approval in shown["approvals"]:
                forked_skelo.run(["approve", str(approval["id"])[:12], "--quiet"], folder=root)
        words = ("resume", run_id)
        if shown["approvals"] and kills < KILLS:
            words = ("approve", str(chance.choice(shown["approvals"])["id"])[:12])
        driver = _start(root, *words)
        # The engine gives up a block that was cut ten times.
        is_near_limit = any(node["outcome"] is None and node["attempts"] >= 6 for node in shown["nodes"].values())
        if kills < KILLS and not is_near_limit:
            kills += 1
            _kill_something(root, driver, chance)
        else:
            driver.wait()


@pytest.mark.slow
@pytest.mark.timeout(150 + 20 * KILLS)
def test_random_kills_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    root = _project(tmp_path)
    run_id = _survive(root, random.Random(SEED))
    log = repository.events(root, run_id)  # which verifies the record, too
    data = [(str(event["type"]), cast("dict[str, Any]", event["data"])) for event in log]
    assert data[-1][1]["ending"] == "ok", data[-1]
    succeeded = [fields["node"] for kind, fields in data if kind == "attempt.succeeded"]
    assert succeeded == [f"b{index}" for index in range(BLOCKS)]  # each once, in order
    left = {path.name for path in (root / ".skelo").glob("workspaces/*/*/tree/*-*.txt")}
    assert left == {f"{name}-{index}.txt" for name in ("first", "second") for index in range(BLOCKS)}
    granted = [fields["grant"]["approvalId"] for kind, fields in data if kind == "call.granted"]
    assert len(granted) == len(set(granted))
    cut = sum(kind in ("attempt.interrupted", "attempt.failed") for kind, _ in data)
    assert cut >= min(3, KILLS // 3), "kills did happen"
    assert _family(root) == []
    assert not list((root / ".git" / "worktrees").glob("*/locked"))


def _events(root: Path, run_id: str) -> list[tuple[str, dict[str, Any]]]:
    log = repository.events(root, run_id)
    return [(str(event["type"]), cast("dict[str, Any]", event["data"])) for event in log]


@pytest.mark.slow
def test_a_call_is_in_the_log_before_the_agent_goes_on_and_a_cut_one_that_reaches_outside_is_asked_about(
    tmp_path: Path,
) -> None:
    command: Json = [sys.executable, str(repository.AGENT)]
    root = repository.make(tmp_path, provider="claude", command=command, sandbox="none")
    kill_driver = "kill -9 $(ps -o ppid= -p $PPID)"
    document = repository.block('@hook Bash {"command": "make"}', f"@run {kill_driver}", "@hang", "@next", "@say done")
    (root / "flow.yaml").write_text(yaml.safe_dump(document))

    assert forked_skelo.run(["run", "flow.yaml"], folder=root).returncode == -signal.SIGKILL
    run_id = str(_document(root, "runs")["runs"][0]["runId"])
    before = _events(root, run_id)
    paused = _document(root, "resume", run_id)
    forked_skelo.run(["approve", str(paused["approvals"][0]["id"])[:12]], folder=root)
    ended = _document(root, "show", run_id)
    (started,) = [data for kind, data in before if kind == "call.started" and data["call"]["tool"] == "Bash"]
    assert (started["reachesOutside"], started["args"]) == (True, {"value": {"command": "make"}})
    (approval,) = paused["approvals"]
    assert approval["kind"] == "uncertain"
    assert kill_driver in [call["tool"] for call in approval["args"]["calls"]]
    assert ended["ending"] == "ok", ended.get("error")
    assert _family(root) == []
