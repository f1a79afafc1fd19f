"""A command that is suggested works as it stands, from where its reader is."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
from pathlib import Path

import pytest

import openskelo
from tests.cli.conftest import SKELO, Skelo, clean_environment

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


def test_ids_that_begin_alike_are_suggested_as_long_as_they_must_be(skelo: Skelo) -> None:
    skelo.write("asking.yaml", FLOW)
    skelo.write("work.py", "def handler(ctx):\n    return {'x': 'no integer'}\n")
    alone, *alike = (
        "70000000-0000-4000-8000-000000000000",
        "3f0e8f0a-0000-4000-8000-000000000001",
        "3f0e8f0a-0000-4000-9000-000000000002",
    )

    async def start() -> None:
        async with await openskelo.Engine.open(openskelo.project_at(skelo.folder)) as engine:
            for run_id in (alone, *alike):
                await engine.start(openskelo.load(skelo.folder / "asking.yaml"), {}, run_id=run_id)
                await engine.wait(run_id)

    asyncio.run(start())
    listed = skelo("approvals").out
    for run_id, short in ((alone, "70000000"), (alike[0], "3f0e8f0a-0000-4000-8"), (alike[1], "3f0e8f0a-0000-4000-9")):
        assert f"(asking, run {short}): Go on?" in listed
        shown = skelo("show", short, "--json").document
        assert shown["runId"] == run_id
        assert f"skelo fork {short} --from work\n" in skelo("approve", shown["approvals"][0]["id"]).err
        assert f"skelo fork {short} --from work\n" in skelo("show", run_id).err
