"""A log whose newest bytes are torn: the run goes on from a whole beginning of its record, or the damage is said."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import openskelo
from openskelo import errors
from openskelo.cli import main
from openskelo.engine import health
from openskelo.history import loading
from openskelo.stores.sqlite import data_dir as stores_data_dir
from openskelo.workflows.project import project_file
from tests.crash import witness
from tests.crash.world import World
from tests.record import verifying

pytestmark = pytest.mark.slow

NewWorld = Callable[[], World]
PASS = {"id": "a", "mode": "deterministic", "deterministic": {"handler": "builtin:pass"}}


def read(data_dir: Path) -> list[bytes]:
    """The record as the engine reads it, once it is folded and verified; nothing when there is no run."""

    async def lines() -> list[bytes]:
        store = stores_data_dir.open_store(data_dir)
        try:
            rows = await store.list_runs()
            if not rows:
                return []
            found = [line async for lines in store.read_events(rows[0].run_id) for line in lines]
            run = (await loading.load(store, rows[0].run_id)).run
            verified = verifying.lines(found, workflow=run.workflow)
            assert (verified.problems, verified.ended) == ((), run.ended)
            return found
        finally:
            await store.close()

    return asyncio.run(lines())


def killed(world: World) -> tuple[list[bytes], set[int], bytes]:
    """Kill a run amid its items; gives its lines, the lengths that whole appends have, and the write-ahead log."""
    assert not world.play("before append", 9)
    tail = (world.root / ".skelo" / "log.db-wal").read_bytes()
    lines = (world.root / "acknowledged.jsonl").read_bytes().splitlines()
    return lines, world.append_ends(), tail


@pytest.mark.parametrize("harm", ["cut", "garbage"])
def test_a_torn_write_ahead_log_leaves_a_beginning_in_whole_appends(
    new_world: NewWorld, tmp_path: Path, harm: str
) -> None:
    world = new_world()
    lines, ends, tail = killed(world)
    chance = random.Random(3)
    lengths: set[int] = set()
    for number in range(40):
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(world.root / ".skelo", copy)
        (copy / "log.db-shm").unlink(missing_ok=True)  # it is memory of the killed process, gone after a power loss
        at = chance.randrange(len(tail))
        torn = tail[:at] if harm == "cut" else tail[:at] + chance.randbytes(600) + tail[at + 600 :]
        (copy / "log.db-wal").write_bytes(torn)
        try:
            found = read(copy)
        except errors.StoreError as error:
            assert error.code in {"CORRUPT", "STORE_ERROR"}  # noqa: PT017 -- either is an answer, but no other
            continue
        assert found == lines[: len(found)]
        assert len(found) in ends
        lengths.add(len(found))
    assert len(lengths) > 3


@pytest.mark.parametrize("left_out", ["nothing", "drivers", "version"])
def test_a_flipped_byte_in_any_page_of_the_write_ahead_log_loses_nothing_without_a_word(
    new_world: NewWorld, tmp_path: Path, capsys: pytest.CaptureFixture[str], left_out: str
) -> None:
    """Either all acknowledged events are there, or `doctor` and `verify` name the run, and the file is kept."""
    world = new_world()
    lines, _, tail = killed(world)
    page_size = int.from_bytes(tail[8:12], "big")
    frames = range(32, len(tail), 24 + page_size)
    run_id = json.loads(lines[0])["runId"]
    lost = 0
    for number, at in enumerate([8, 20, *(at + offset for at in frames for offset in (9, 24 + page_size // 2))]):
        root = tmp_path / f"copy-{number}"
        shutil.copytree(world.root / ".skelo", root / ".skelo", ignore=shutil.ignore_patterns(left_out))
        (root / ".skelo" / "log.db-shm").unlink(missing_ok=True)
        flipped = tail[:at] + bytes([tail[at] ^ 1]) + tail[at + 1 :]
        (root / ".skelo" / "log.db-wal").write_bytes(flipped)
        found = asyncio.run(_doctor(root))
        assert (_kept(root), found.state) == ([flipped], "fail"), at
        if read(root / ".skelo") != lines:
            lost += 1
            assert run_id in found.detail
            code = main.main(["--data-dir", str(root / ".skelo"), "verify", run_id, "--json"])
            out = capsys.readouterr().out
            assert (code != 0, "EVENTS_LOST" in out or run_id in json.loads(out)["error"]["message"]) == (True, True), (
                out
            )
    assert lost > len(frames)
    root = tmp_path / "copy-0"
    kept = _kept(root)
    for _ in range(2):
        openskelo.run(
            openskelo.from_document({"name": "other", "blocks": [PASS]}), project=project_file.project_at(root)
        )
    main.main(["--data-dir", str(root / ".skelo"), "prune", "--keep", "0"])
    assert _kept(root) == kept


def _kept(root: Path) -> list[bytes]:
    """The damaged write-ahead logs that were kept."""
    return [path.read_bytes() for path in (root / ".skelo").glob("log.db-wal.damaged-*")]


async def _doctor(root: Path) -> health.Finding:
    findings = await health.doctor(project_file.project_at(root))
    return next(finding for finding in findings if finding.name == "write-ahead log")


def test_a_run_goes_on_from_what_a_torn_log_has_kept(new_world: NewWorld) -> None:
    chance = random.Random(4)
    went_on = 0
    while went_on < 4:
        world = new_world()
        lines, _, tail = killed(world)
        data_dir = world.root / ".skelo"
        (data_dir / "log.db-shm").unlink(missing_ok=True)
        (data_dir / "log.db-wal").write_bytes(tail[: chance.randrange(len(tail) // 2, len(tail))])
        kept = read(data_dir)
        if not kept:
            continue  # the run itself is not in what is left
        went_on += 1
        assert kept == lines[: len(kept)]
        assert world.play()
        assert (world.result()["ending"], world.result()["outputs"]) == ("ok", witness.OUTPUTS)
        assert world.files() == witness.FILES
        record = read(data_dir)
        assert record[: len(kept)] == kept
        assert len(record) > len(kept)


@pytest.mark.parametrize("harm", ["cut", "garbage"])
def test_a_damaged_database_is_said_to_be_one_or_proves_to_be(new_world: NewWorld, tmp_path: Path, harm: str) -> None:
    world = new_world()
    assert world.play()
    whole = read(world.root / ".skelo")
    database = (world.root / ".skelo" / "log.db").read_bytes()
    used = [at for at, byte in enumerate(database) if byte]  # most of a small database is room for more
    chance = random.Random(5)
    said = 0
    for number in range(30):
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(world.root / ".skelo", copy)
        at = chance.choice(used)
        harmed = database[:at] if harm == "cut" else database[:at] + chance.randbytes(64) + database[at + 64 :]
        (copy / "log.db").write_bytes(harmed)
        try:
            found = read(copy)
        except (errors.StoreError, errors.NotFound, AssertionError):  # the last one is `verify`, which finds the rest
            said += 1
            continue
        assert found in (whole, [])
    assert said > 20
