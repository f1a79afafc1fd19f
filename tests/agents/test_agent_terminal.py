"""An agent on a terminal and in a pipe: what it does, one line a call, and questions about its calls."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from openskelo.kernel.json import Json
from tests import forked_skelo
from tests.agents import repository
from tests.cli import terminals
from tests.cli.conftest import clean_environment

LINES = (
    '@hook Bash {"command": "pytest -q"}',
    '@hook Bash {"command": "curl evil"}',
    '@hook Write {"file_path": "hello.txt", "content": "hello\\nyou\\n"}',
    "@write hello.txt hello\\nyou\\n",
    "@say Done.",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    command: Json = [sys.executable, str(repository.AGENT)]
    policy: Json = {"allow": [{"kind": "execute", "commands": ["pytest *"]}], "deny": [{"commands": ["*curl*"]}]}
    made = repository.make(
        tmp_path, provider="claude", command=command, permissions="gated", policy=policy, sandbox="none"
    )
    (made / "agent.yaml").write_text(yaml.safe_dump(dict(repository.block(*LINES))))
    return made


def _skelo(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return forked_skelo.run(words, folder=root, env=clean_environment())


def test_a_question_about_an_edit_is_answered_on_the_terminal(root: Path) -> None:
    terminal = terminals.Terminal(root, "run", "agent.yaml")
    terminal.until("work Bash curl evil: denied, the project denies it (commands: *curl*)")
    terminal.until("work asks:")
    terminal.until("kind     edit")
    terminal.until("+you")
    terminal.until("like it  changes of hello.txt")
    terminal.until("(approve, turn, run, deny, modify, later)")
    terminal.type("turn")
    terminal.until("work Write hello.txt: ok")
    assert terminal.end() == 0
    shown = _skelo(root, "show", "last")
    assert shown.stdout.splitlines()[3].split()[:6] == ["node", "mode", "outcome", "visits", "attempts", "calls"]
    assert json.loads(_skelo(root, "show", "last", "--json").stdout)["nodes"]["work"]["calls"] == 4
    events = _skelo(root, "events", "last").stdout
    assert "may not call Bash curl evil (the project denies it (commands: *curl*))" in events
    assert "approved for this turn by" in events


def test_in_a_pipe_each_call_is_a_line_and_the_run_waits(root: Path) -> None:
    ended = _skelo(root, "run", "agent.yaml")
    assert ended.returncode == 3
    lines = [line.split("work", 1)[1].strip() for line in ended.stderr.splitlines() if " work " in line]
    assert lines[0] == "started"
    assert lines[1].endswith(", gated, no sandbox")
    assert lines[2].startswith("Bash pytest -q: ok")
    assert lines[3:5] == [
        "Bash curl evil: denied, the project denies it (commands: *curl*)",
        "waits for a person: helper wants to change hello.txt",
    ]


def test_a_run_that_waits_for_an_answer_goes_on_with_it_and_nothing_has_died(root: Path) -> None:
    assert _skelo(root, "run", "agent.yaml").returncode == 3
    waiting = _skelo(root, "events", "last").stdout
    assert "interrupted (suspended)" in waiting
    answered = _skelo(root, "approve", "last", "--for", "run")
    assert answered.returncode == 0, answered.stderr
    lines = [line.split("work", 1)[1].strip() for line in answered.stderr.splitlines() if " work " in line]
    assert lines[0].startswith("approved for this run by ")
    assert lines[1] == "started (attempt 2)"
    events = _skelo(root, "events", "last").stdout
    assert [word for word in ("recovered", "crash", "paused") if word in events] == []


def test_what_was_changed_is_told_in_both_forms(root: Path) -> None:
    (root / "agent.yaml").write_text(yaml.safe_dump(dict(repository.block("@write new.txt one\\n", "@say Done."))))
    assert _skelo(root, "run", "agent.yaml").returncode == 0
    plain = _skelo(root, "changes", "last")
    assert plain.stdout.splitlines()[-1] == "+one"
    assert plain.stderr.strip() == "work: 1 file changed, +1 -0"
    (change,) = json.loads(_skelo(root, "changes", "last", "work", "--json").stdout)["changes"]
    assert (change["filesChanged"], change["insertions"], change["deletions"]) == (["new.txt"], 1, 0)
    assert change["diff"] == plain.stdout
    unknown = _skelo(root, "changes", "last", "nobody")
    assert (unknown.returncode, "WORKSPACE_NOT_FOUND" in unknown.stderr) == (2, True)
