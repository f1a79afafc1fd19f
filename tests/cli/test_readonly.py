"""A data dir that cannot be written: everything in it can still be looked at, and nothing is changed."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from openskelo.stores.sqlite import data_dir
from tests.cli.conftest import Result, Skelo, clean_environment

FLOW = """\
name: one
blocks:
  - id: a
    mode: deterministic
    outputs: {x: integer}
    deterministic: {handler: builtin:transform, config: {map: {x: "1"}}}
"""
#: `skelo` as somebody who may only do what the files' modes allow, root included.
PLAIN = """\
import ctypes, os, sys
if os.geteuid() == 0:
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    assert ctypes.CDLL(None).capset(header, (ctypes.c_uint32 * 6)()) == 0
from openskelo.cli import main
sys.exit(main.main())
"""


def plain(skelo: Skelo, *words: str) -> Result:
    done = subprocess.run(
        [sys.executable, "-c", PLAIN, *words],
        cwd=skelo.folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Result(code=done.returncode, out=done.stdout, err=done.stderr)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def seal(folder: Path, *, writable: bool = False) -> None:
    for path in (folder, *folder.rglob("*")):
        bits = path.stat().st_mode
        path.chmod(bits | 0o200 if writable else bits & ~0o222)


@pytest.fixture
def sealed(skelo: Skelo) -> Generator[Path]:
    """The data dir of one run, which nobody may write to."""
    skelo.write("one.yaml", FLOW)
    assert skelo("run", "one.yaml").code == 0
    folder = skelo.folder / ".skelo"
    seal(folder)
    yield folder
    seal(folder, writable=True)


@pytest.mark.parametrize(
    "words",
    [
        ("runs",),
        ("show", "last"),
        ("output", "last"),
        ("events", "last"),
        ("receipts", "last"),
        ("verify", "last"),
        ("replay", "last"),
        ("approvals",),
        ("export", "last", "-o", "run.jsonl"),
    ],
    ids=lambda words: words[0],
)
def test_commands_that_look_need_no_write(skelo: Skelo, sealed: Path, words: tuple[str, ...]) -> None:
    before = contents(sealed)
    done = plain(skelo, *words)
    assert (done.code, done.err.count("error:")) == (0, 0), done.err
    assert done.out or done.err
    assert contents(sealed) == before


def test_what_would_write_is_refused_and_changes_nothing(skelo: Skelo, sealed: Path) -> None:
    before = contents(sealed)
    done = plain(skelo, "run", "one.yaml", "--json")
    assert (done.code, done.document["error"]["code"]) == (2, "STORE_READONLY")
    assert plain(skelo, "prune", "--keep", "0").code != 0
    assert contents(sealed) == before


def test_doctor_says_so_under_the_names_it_always_uses(skelo: Skelo, sealed: Path) -> None:
    def states(done: Result) -> dict[str, str]:
        return {check["name"]: check["state"] for check in done.document["checks"]}

    bad = states(plain(skelo, "doctor", "--json"))
    seal(sealed, writable=True)
    good = states(plain(skelo, "doctor", "--json"))
    assert list(bad) == list(good)
    wrong = {name for name, state in bad.items() if state == "fail"}
    assert wrong == {"data dir", "file locks", "durable write"}


def test_what_is_not_merged_into_the_database_yet_is_seen_in_a_sealed_copy(skelo: Skelo) -> None:
    skelo.write("one.yaml", FLOW)
    assert skelo("run", "one.yaml").code == 0
    archive = skelo.folder / "archive"

    async def copy_while_open() -> None:
        store = data_dir.open_store(skelo.folder / ".skelo")
        try:
            assert skelo("run", "one.yaml").code == 0
            archive.mkdir()
            for name in ("log.db", "log.db-wal", "version"):
                shutil.copyfile(skelo.folder / ".skelo" / name, archive / name)
        finally:
            await store.close()

    asyncio.run(copy_while_open())
    assert (archive / "log.db-wal").stat().st_size > 0
    seal(archive)
    try:
        done = plain(skelo, "runs", "--json", "--data-dir", str(archive))
        assert (done.code, len(json.loads(done.out)["runs"])) == (0, 2), done.err
        assert sorted(path.name for path in archive.iterdir()) == ["log.db", "log.db-wal", "version"]
    finally:
        seal(archive, writable=True)


def test_a_workflow_is_explained_to_one_who_may_not_see_its_runs(skelo: Skelo) -> None:
    skelo.write("flow.yaml", "name: flow\nblocks: [{id: only, mode: deterministic, deterministic: {handler: x.py}}]\n")
    skelo.write("x.py", "def handler(ctx):\n    return {}\n")
    usual = skelo("explain", "flow.yaml")
    (skelo.folder / ".skelo" / "version").mkdir(parents=True)
    found = skelo("explain", "flow.yaml")
    assert (found.code, found.out) == (0, usual.out)
    version = skelo.folder / ".skelo" / "version"
    assert found.err == f"without past runs: STORE_IO cannot read {version}: Is a directory\n"
    assert skelo("runs").code == 2
