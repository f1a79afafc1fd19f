"""Every command and every file shown in the README and the guide does what the page says."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked_skelo
from tests.cli.terminals import Terminal
from tests.repo import documents, tracked

PAGES = [str(page.relative_to(tracked.ROOT)) for page in tracked.files("README.md", "docs/guide/*.md", "examples/*.md")]

_AGENT_LINES = ["@write greeting.txt Welcome!\\n", "@say Say welcome"]
#: Runs one command where the last one left off, and remembers where that is.
SHELL = 'cd "$(cat "$1")" && eval "$2"; code=$?; pwd >"$1"; exit $code'


def _environment(home: Path) -> dict[str, str]:
    return {
        "PATH": f"{home.with_name('bin')}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "SKELO_FORK_SERVER": forked_skelo.shell_command(home.with_name("bin")),
        "LANG": "C.UTF-8",
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }


def _make_agent(home: Path) -> None:
    """Put the coding agent of the pages on the PATH: the scripted one, which plays these lines at each prompt."""
    source = (tracked.ROOT / "tests" / "agents" / "acp_agent.py").read_text("utf-8")
    own_lines = "LINES: list[str] = []"
    assert own_lines in source
    program = home.with_name("bin") / "my-agent"
    program.write_text(f"#!{sys.executable}\n{source.replace(own_lines, f'LINES = {_AGENT_LINES}')}", "utf-8")
    program.chmod(0o755)
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")


def _run(text: str, place: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    if " & " in text:  # in the background, and killed later: this has to be the real `skelo`
        environment = environment | {"PATH": environment["PATH"].partition(os.pathsep)[2]}
    return subprocess.run(
        ["bash", "-c", SHELL, "page", str(place), text],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        text=True,
        timeout=200,
        check=False,
    )


def _perform(command: documents.Command, place: Path, environment: dict[str, str]) -> str | None:
    """Run the command; gives what is wrong, if anything is."""
    done = _run(command.text, place, environment)
    if done.returncode != command.exit_code:
        return f"exits with {done.returncode}, not {command.exit_code}, and prints:\n{done.stdout}"
    printed = done.stdout.replace(str(place.with_name("project")), "/home/ada")
    if command.printed is not None and not documents.fits(command.printed, printed):
        return f"prints:\n{printed}\nwhere the page shows:\n{command.printed}"
    return None


def _write(file: documents.File, place: Path) -> None:
    target = Path(place.read_text().strip()) / file.name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(file.text, "utf-8")


def _copy(example: Path, folder: Path) -> None:
    """The example's own files, as somebody who copies it has them."""
    for path in tracked.files(str(example)):
        target = folder / path.relative_to(example)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_page_runs_as_written(name: str, tmp_path: Path) -> None:
    page = tracked.ROOT / name
    folder, home, place = tmp_path / "project", tmp_path / "home", tmp_path / "place"
    for empty in (folder, home, tmp_path / "bin"):
        empty.mkdir()
    if name.startswith("examples/"):
        _copy(page.parent, folder)
    place.write_text(str(folder))
    environment = _environment(home)
    _make_agent(home)
    for step in documents.steps(page.read_text("utf-8")):
        match step:
            case documents.File():
                _write(step, place)
            case documents.Command():
                wrong = _perform(step, place, environment)
                assert wrong is None, f"{name}:{step.line}: `{step.text}` {wrong}"


def _stops_at_a_question(command: documents.Command) -> bool:
    return command.exit_code == 3 and "waiting for a person:" in (command.printed or "")


@pytest.mark.slow
def test_the_readme_on_a_terminal_goes_on_as_shown_after_later(tmp_path: Path) -> None:
    """Nothing but the word `later`, which the text before the command names, has to be typed at a question."""
    text = (tracked.ROOT / "README.md").read_text("utf-8")
    lines = text.splitlines()
    folder, home, place = tmp_path / "project", tmp_path / "home", tmp_path / "place"
    for empty in (folder, home, tmp_path / "bin"):
        empty.mkdir()
    place.write_text(str(folder))
    environment = _environment(home)
    last_question, left_for_later = 0, 0
    for step in documents.steps(text):
        if isinstance(step, documents.File):
            _write(step, place)
            continue
        if not step.text.startswith("skelo ") or " & " in step.text or " > " in step.text:
            assert _run(step.text, place, environment).returncode == step.exit_code
            continue
        stops = step.exit_code == 3
        if stops:
            assert "`later`" in "\n".join(lines[last_question : step.line]), f"README.md:{step.line}"
            last_question, left_for_later = step.line, left_for_later + 1
        terminal = Terminal(folder, *shlex.split(step.text)[1:], env={"HOME": str(home)})
        if stops:
            terminal.until("Your answer")
            terminal.type("later")
            terminal.until("waiting for a person:")
        assert terminal.end() == step.exit_code, f"README.md:{step.line}: {terminal.seen}"
    assert left_for_later == 3


def test_a_page_with_a_question_says_how_to_leave_it_on_a_terminal() -> None:
    """What the page shows is what a script sees; on a terminal the command asks at once."""
    silent: list[str] = []
    for page in map(Path, PAGES):
        text = (tracked.ROOT / page).read_text("utf-8")
        commands = [step for step in documents.steps(text) if isinstance(step, documents.Command)]
        if any(map(_stops_at_a_question, commands)) and "`later`" not in text:
            silent.append(str(page))
    assert silent == []


def test_the_readme_shows_commands_and_python() -> None:
    commands = [step.text for step in documents.steps((tracked.ROOT / "README.md").read_text("utf-8"))]
    assert any(text.startswith("skelo run") for text in commands)
    assert any("openskelo" in text for text in commands)


def test_a_reader_sees_the_name_of_each_file() -> None:
    """A rendered page does not show the options of a fence, so the paragraph before it names the file."""
    unnamed: list[str] = []
    for page in tracked.files("README.md", "docs/guide/*.md"):
        text = page.read_text("utf-8")
        lines = text.splitlines()
        for step in documents.steps(text):
            if not isinstance(step, documents.File) or "file=" not in lines[step.line - 2]:
                continue
            before = "\n".join(lines[: step.line - 2]).rstrip("\n").rpartition("\n\n")[2]
            if f"`{step.name}`" not in before:
                unnamed.append(f"{page.name}:{step.line}: {step.name}")
    assert unnamed == []
