"""A command that is suggested works as it stands, from where its reader is."""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
from pathlib import Path

import pytest

import openskelo
from tests.cli.conftest import SKELO, Skelo, clean_environment
from tests.cli.terminals import Terminal

FLOW = """\
name: asking
blocks:
  - { id: ask, mode: approval, approval: { prompt: Go on? } }
  - { id: work, mode: deterministic, after: [ask], outputs: { x: integer }, deterministic: { handler: work.py } }
"""


def test_a_data_dir_brings_its_project_along(skelo: Skelo, tmp_path: Path) -> None:
    skelo.write("asking.yaml", FLOW)
    skelo.write("work.py", "def handler(ctx):\n    return {'x': 1}\n")
    assert skelo("run", "asking.yaml").code == 3
    other = tmp_path / "other"
    other.mkdir()
    (other / "skelo.yaml").write_text("name: other\n")
    kept = str(skelo.folder / ".skelo")
    (asked,) = skelo("approvals", "--data-dir", kept, "--json", folder=other).document["approvals"]
    done = skelo("approve", asked["id"], "--data-dir", kept, "--json", folder=other)
    assert (done.code, done.document["outputs"]) == (0, {"x": 1})


def test_a_current_folder_that_is_gone_is_told_where_it_is_needed(skelo: Skelo, tmp_path: Path) -> None:
    skelo.write("asking.yaml", FLOW)
    skelo.write("work.py", "def handler(ctx):\n    return {'x': 1}\n")

    def nowhere(command: str) -> tuple[int, str]:
        (tmp_path / "gone").mkdir()
        done = subprocess.run(
            ["sh", "-c", f"rmdir ../gone; exec {SKELO} {command}"],
            cwd=tmp_path / "gone",
            env=clean_environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    for command in ("runs", "doctor", "serve --port 0", "run asking.yaml --data-dir x", "approvals --data-dir x"):
        code, said = nowhere(command)
        assert (code, "INTERNAL" in said, "Traceback" in said) == (2, False, False), (command, said)
    code, said = nowhere(f"run {skelo.folder}/asking.yaml")
    assert (code, f"cd {skelo.folder} && skelo approve " in said) == (3, True), said
    assert nowhere(f"runs --data-dir {skelo.folder}/.skelo")[0] == 0


@pytest.mark.parametrize("place", ["in it", "beside it", "in it with another data dir", "beside it with another"])
def test_an_approval_is_answered_by_the_command_that_is_printed(skelo: Skelo, tmp_path: Path, place: str) -> None:
    skelo.write("asking.yaml", FLOW)
    skelo.write("work.py", "def handler(ctx):\n    return {'x': 1}\n")
    folder = skelo.folder if place.startswith("in it") else tmp_path
    more = ["--data-dir", "other data"] if "another" in place else []
    file = str((skelo.folder / "asking.yaml").relative_to(folder))
    asked = skelo("run", file, *more, folder=folder)
    assert asked.code == 3, asked
    commands = [line.strip() for line in asked.out.splitlines() if "skelo approve" in line]
    wanted = "" if folder == skelo.folder else f"cd {shlex.quote(str(skelo.folder))} && "
    kept = f" --data-dir {shlex.quote(str(folder / 'other data'))}" if more else ""
    (command,) = commands
    assert (command.startswith(f"{wanted}skelo approve "), command.endswith(kept)) == (True, True), command
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=clean_environment() | {"PATH": f"{SKELO.parent}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1].split()) == (0, ["x", "1"]), done.stderr


#: Two ids that begin alike, and the shortest form of the first one that names no other run.
ALIKE = ("3f0e8f0a-0000-4000-8000-000000000001", "3f0e8f0a-0000-4000-9000-000000000002")
SHORT = "3f0e8f0a-0000-4000-8"


def _start(skelo: Skelo, file: str, *run_ids: str) -> None:
    """Start a run of the file under each id, and drive it until it waits."""

    async def start() -> None:
        async with await openskelo.Engine.open(openskelo.project_at(skelo.folder)) as engine:
            for run_id in run_ids:
                await engine.start(openskelo.load(skelo.folder / file), {}, run_id=run_id)
                await engine.wait(run_id)

    asyncio.run(start())


def test_ids_that_begin_alike_are_suggested_as_long_as_they_must_be(skelo: Skelo) -> None:
    skelo.write("asking.yaml", FLOW)
    skelo.write("work.py", "def handler(ctx):\n    return {'x': 'no integer'}\n")
    alone = "70000000-0000-4000-8000-000000000000"
    _start(skelo, "asking.yaml", alone, *ALIKE)
    listed = skelo("approvals").out
    for run_id, short in ((alone, "70000000"), (ALIKE[0], SHORT), (ALIKE[1], "3f0e8f0a-0000-4000-9")):
        assert f"(asking, run {short}): Go on?" in listed
        shown = skelo("show", short, "--json").document
        assert shown["runId"] == run_id
        assert f"skelo fork {short} --from work\n" in skelo("approve", shown["approvals"][0]["id"]).err
        assert f"skelo fork {short} --from work\n" in skelo("show", run_id).err


LONG = """\
plan_id: long
steps:
  - id: ask
    op: ask_human
    args:
      request: {message: Take it?, details: {lines: %s}}
  - {id: end, op: emit, args: {result_ref: "input:none"}}
inputs: {none: ""}
"""


def test_the_command_for_a_long_question_names_its_run_among_runs_that_begin_alike(skelo: Skelo) -> None:
    skelo.write("long.yaml", LONG % json.dumps("line\n" * 1000))
    _start(skelo, "long.yaml", *ALIKE)
    hint = f"not all of it is shown: skelo approvals {SHORT} --json\n"
    assert hint in skelo("show", ALIKE[0]).out
    assert hint in skelo("approvals").out
    terminal = Terminal(skelo.folder, "resume", ALIKE[0])
    terminal.until(hint.rstrip())
    terminal.until("Your answer")
    terminal.type("later")
    assert terminal.end() == 3


LOGGING = """\
name: logging
blocks:
  - { id: ask, mode: approval, approval: { prompt: Go on? } }
  - id: work
    mode: deterministic
    after: [ask]
    foreach: { items: "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]", as: n }
    deterministic: { handler: work.py }
"""


def test_the_command_for_more_logs_names_its_run_among_runs_that_begin_alike(skelo: Skelo) -> None:
    skelo.write("logging.yaml", LOGGING)
    skelo.write("work.py", "def handler(ctx):\n    ctx.log('at it')\n    return {}\n")
    _start(skelo, "logging.yaml", *ALIKE)
    (approval,) = skelo("show", ALIKE[0], "--json").document["approvals"]
    assert f"not shown here: skelo show {SHORT} --logs)\n" in skelo("approve", approval["id"]).err
