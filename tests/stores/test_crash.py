"""A process killed at any moment loses nothing that it was told is durable, and keeps no half of a batch."""

from __future__ import annotations

import asyncio
import random
import shutil
import time
from pathlib import Path

from openskelo.stores import api
from openskelo.stores.sqlite import data_dir as stores_data_dir
from tests.stores import child, processes


def _lines(data_dir: Path) -> list[bytes]:
    async def read() -> list[bytes]:
        store = stores_data_dir.open_store(data_dir)
        lines = [line async for chunk in store.read_events(child.RUN) for line in chunk]
        await store.close()
        return lines

    return asyncio.run(read())


def _whole_batches(lines: list[bytes]) -> bool:
    seq = 0
    while seq < len(lines):
        seq += child.batch_size(seq)
    return seq == len(lines)


def test_a_killed_writer_leaves_whole_batches_and_a_file_that_is_mended(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    kept = 0
    for _ in range(12):
        with processes.child("append", data_dir) as process:
            acknowledged = int(processes.say(process))
            time.sleep(random.uniform(0, 0.08))
            process.kill()
            assert process.stdout is not None
            for text in process.stdout:
                acknowledged = int(text) if text.endswith("\n") else acknowledged
        lines = _lines(data_dir)
        assert len(lines) >= acknowledged > kept
        assert lines == [child.line(seq) for seq in range(1, len(lines) + 1)]
        assert _whole_batches(lines)
        mirror = (data_dir / "events" / "000000000001.jsonl").read_bytes()
        assert mirror == b"".join(line + b"\n" for line in lines)
        assert list((data_dir / "drivers").iterdir()) == []
        kept = len(lines)


def _copy_of_a_live_log(data_dir: Path) -> tuple[bytes, bytes, list[bytes]]:
    """The database, its write-ahead log, and the lines in them, as a crash at this moment would leave them."""

    async def write() -> tuple[bytes, bytes, list[bytes]]:
        store = stores_data_dir.open_store(data_dir)
        seq = 0
        while seq < 60:
            lines = tuple(child.line(number) for number in range(seq + 1, seq + 1 + child.batch_size(seq)))
            await store.append([api.Append(run_id=child.RUN, expected_seq=seq, lines=lines)])
            seq += len(lines)
        copied = shutil.copytree(data_dir, data_dir.with_name("copied"))
        lines = [line async for chunk in store.read_events(child.RUN) for line in chunk]
        await store.close()
        return (copied / "log.db").read_bytes(), (copied / "log.db-wal").read_bytes(), lines

    return asyncio.run(write())


def _opened_with(folder: Path, database: bytes, tail: bytes) -> list[bytes]:
    folder.mkdir()
    (folder / "version").write_text(f"{stores_data_dir.VERSION}\n")
    (folder / "log.db").write_bytes(database)
    (folder / "log.db-wal").write_bytes(tail)
    return _lines(folder)


def _used(tail: bytes) -> int:
    """How much of it holds anything: behind is room that was made ahead."""
    return len(tail.rstrip(b"\0"))


def test_a_torn_write_ahead_log_is_a_beginning_in_whole_batches(tmp_path: Path) -> None:
    database, tail, written = _copy_of_a_live_log(tmp_path / "data")
    used = _used(tail)
    assert used > 100_000
    lengths: set[int] = set()
    for number, cut in enumerate(sorted(random.sample(range(used), 25))):
        lines = _opened_with(tmp_path / f"cut-{number}", database, tail[:cut])
        assert lines == written[: len(lines)]
        assert _whole_batches(lines)
        lengths.add(len(lines))
    assert len(lengths) > 5
    assert _opened_with(tmp_path / "whole", database, tail) == written


def test_garbage_in_the_write_ahead_log_ends_it_there(tmp_path: Path) -> None:
    database, tail, written = _copy_of_a_live_log(tmp_path / "data")
    for number in range(15):
        at = random.randrange(32, _used(tail))
        garbage = random.randbytes(random.randrange(1, 5000))
        lines = _opened_with(tmp_path / f"cut-{number}", database, (tail[:at] + garbage + tail[at + len(garbage) :]))
        assert lines == written[: len(lines)]
        assert _whole_batches(lines)
    assert _opened_with(tmp_path / "longer", database, tail + random.randbytes(10_000)) == written


def test_after_a_torn_end_the_log_goes_on(tmp_path: Path) -> None:
    database, tail, written = _copy_of_a_live_log(tmp_path / "data")
    lines = _opened_with(tmp_path / "torn", database, tail[: _used(tail) * 2 // 3])
    assert 0 < len(lines) < len(written)

    async def go_on() -> list[bytes]:
        store = stores_data_dir.open_store(tmp_path / "torn")
        assert await store.claim_run(child.RUN)
        await store.append([api.Append(run_id=child.RUN, expected_seq=len(lines), lines=(b"more",))])
        found = [line async for chunk in store.read_events(child.RUN) for line in chunk]
        await store.close()
        return found

    assert asyncio.run(go_on()) == [*lines, b"more"]
    mirror = (tmp_path / "torn" / "events" / "000000000001.jsonl").read_bytes()
    assert mirror == b"".join(line + b"\n" for line in [*lines, b"more"])
