"""What stands in the place of a file and is none: told with a code, and never waited for."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import SKELO, Skelo, clean_environment

FLOW = """\
name: pass-on
blocks:
  - id: pass
    mode: deterministic
    inputs: { text: string }
    outputs: { text: string }
    deterministic: { handler: builtin:pass }
"""
MAKE: dict[str, Callable[[Path], object]] = {"pipe": os.mkfifo, "folder": Path.mkdir}
#: A file of the data dir, a command that needs it, and the code that tells what is wrong with it.
KEPT = [
    ("version", ("runs",), "STORE_IO"),
    ("log.db", ("verify", "last"), "CORRUPT"),
    ("events/*.jsonl", ("verify", "last"), "FILE_UNREADABLE"),
    ("runs/*/head.sig", ("verify", "last"), "STORE_ERROR"),
    ("blobs/*/*", ("output", "last"), "STORE_IO"),
    ("keys/*.pem", ("export", "last", "--sign", "-o", "again.jsonl"), "KEY_UNUSABLE"),
    ("tokens.json", ("token", "list"), "STORE_IO"),
    ("standby.lock", ("serve", "--port", "0"), "STORE_IO"),
    ("session.key", ("serve", "--port", "0"), "STORE_IO"),
]
#: Each with what may stand there; what a server only locks may be a pipe as well.
ODD = [(kind, *one) for kind in MAKE for one in KEPT if (kind, one[0]) != ("pipe", "standby.lock")]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a run that has a blob, a signature and a token."""
    made = Skelo(folder=tmp_path_factory.mktemp("kept"))
    made.write("skelo.yaml", "name: test\n")
    made.write("flow.yaml", FLOW)
    made.write("long.txt", "x" * 2_000_000)
    assert made("run", "flow.yaml", "--input", "text=@long.txt").code == 0
    assert made("export", "last", "--sign", "-o", "run.jsonl").code == 0
    assert made("token", "add", "ada").code == 0
    for name in ("standby.lock", "session.key"):
        made.write(f".skelo/{name}", "x" * 32)
    return made.folder


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "pattern", "command", "code"), ODD)
def test_a_file_of_the_data_dir_that_is_none_is_named(
    kept: Path, tmp_path: Path, kind: str, pattern: str, command: tuple[str, ...], code: str
) -> None:
    skelo = Skelo(folder=Path(shutil.copytree(kept, tmp_path / "copy")))
    (file, *_) = (skelo.folder / ".skelo").glob(pattern)
    file.unlink()
    MAKE[kind](file)
    found = skelo(*command, "--json")
    wanted = 2 if pattern == "version" else 1  # nothing can be opened without it
    assert (found.code, code in found.out, "INTERNAL" in found.out) == (wanted, True, False), found


@pytest.mark.parametrize("kind", MAKE)
def test_a_file_that_somebody_names_and_that_is_none_is_refused_before_anything_starts(skelo: Skelo, kind: str) -> None:
    skelo.write("flow.yaml", FLOW)
    for name in ("odd.yaml", "odd.json"):
        MAKE[kind](skelo.folder / name)
    for command in (
        ("run", "odd.yaml"),
        ("validate", "odd.yaml"),
        ("test", "flow.yaml", "--script", "odd.yaml"),
        ("run", "flow.yaml", "--inputs", "odd.json"),
        ("run", "flow.yaml", "--input", "text=@odd.json"),
        ("verify", "odd.json"),
    ):
        found = skelo(*command)
        assert (found.code, "FILE_UNREADABLE" in found.err) == (2, True), (command, found)
    assert not (skelo.folder / ".skelo").exists()


def test_a_folder_of_drivers_that_is_none_is_named(skelo: Skelo) -> None:
    skelo.write("flow.yaml", FLOW)
    assert skelo("run", "flow.yaml", "--input", "text=hello").code == 0
    drivers = skelo.folder / ".skelo" / "drivers"
    shutil.rmtree(drivers)
    drivers.write_text("")
    found = skelo("runs")
    assert (found.code, found.err.splitlines()[0]) == (
        2,
        "error: STORE_IO the file system refused reading the locks of processes: Not a directory",
    )


def test_an_input_without_an_end_is_read_up_to_a_bound(skelo: Skelo) -> None:
    skelo.write("flow.yaml", FLOW)
    found = skelo("run", "flow.yaml", "--input", "text=@/dev/zero")
    assert (found.code, found.err) == (2, "error: FILE_TOO_LARGE /dev/zero is larger than 268435456 bytes\n")


def test_what_another_command_writes_is_read_as_a_file(skelo: Skelo) -> None:
    skelo.write("flow.yaml", FLOW)
    line = f"""{SKELO} run flow.yaml --inputs <(sleep 0.2; echo '{{"text": "hello"}}') -q && {SKELO} output last text"""
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=skelo.folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "hello"), done.stderr
