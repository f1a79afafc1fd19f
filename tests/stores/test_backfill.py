"""The write-ahead log is moved into the database beside whoever writes, and begun anew."""

from __future__ import annotations

import asyncio
import contextlib
import math
import sqlite3
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from openskelo.stores import backfill, connecting, datadir, wal
from openskelo.stores.conformance import rig

ROW = b"x" * 1400
_FRAME = wal.PAGE + 24


@contextlib.contextmanager
def _filled(database: Path, page: int) -> Generator[tuple[sqlite3.Connection, backfill.Backfill]]:
    """A database with pages of that size, whose write-ahead log nobody else moves."""
    with contextlib.closing(connecting.connect(database)) as connection:
        connection.execute(f"PRAGMA page_size = {page}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("CREATE TABLE t (lines BLOB)")
        with contextlib.closing(backfill.Backfill(connection, database)) as filling:
            yield connection, filling


def _write(connection: sqlite3.Connection, filling: backfill.Backfill, rows: int) -> None:
    for _ in range(rows):
        connection.execute("INSERT INTO t (lines) VALUES (?)", (ROW,))
        filling.count(len(ROW))


def _ended() -> bool:
    """Whether nothing is being moved any more."""
    for thread in threading.enumerate():
        if thread.name == "skelo-backfill":
            thread.join()
    return True


@pytest.mark.parametrize("page", [4096, 8192])
def test_what_was_written_is_moved_beside_the_writer_whose_log_begins_anew(tmp_path: Path, page: int) -> None:
    database = tmp_path / "log.db"
    with _filled(database, page) as (connection, filling):
        rows = math.ceil(backfill.BYTES / (page + 3 * len(ROW)))
        _write(connection, filling, rows - 1)
        assert database.stat().st_size == page
        _write(connection, filling, 1)
        assert _ended()
        assert database.stat().st_size > rows * len(ROW)
        _write(connection, filling, 2)
        _, frames, moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        assert (frames <= 4, moved) == (True, frames)
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (rows + 2,)


@pytest.mark.parametrize("page", [4096, 8192])
def test_what_a_commit_writes_is_told_from_the_size_of_its_lines(tmp_path: Path, page: int) -> None:
    """Too little would come too late, after SQLite has done it in a commit; far too much would come too often."""
    with _filled(tmp_path / "log.db", page) as (connection, filling):
        _write(connection, filling, 200)
        _, frames, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        told = filling._bytes  # pyright: ignore[reportPrivateUsage] - what it tells has no public face
        assert 0.9 < told / (frames * page) < 1.2


def test_a_store_that_is_closed_in_the_middle_of_it_waits_and_has_every_line(tmp_path: Path) -> None:
    async def run() -> bool:
        store = datadir.open_log(tmp_path)
        lines = 0
        moving = False
        while not moving and lines < 2000:
            await store.append([rig.append(lines, ROW)])
            lines += 1
            moving = any(thread.name == "skelo-backfill" for thread in threading.enumerate())
        await store.close()
        assert not (tmp_path / "log.db-wal").exists()
        again = datadir.open_log(tmp_path)
        assert len(await rig.lines(again, rig.RUN)) == lines
        await again.close()
        return moving

    assert asyncio.run(run())


def test_without_a_thread_sqlite_does_it_itself_a_little_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)

    async def run() -> int:
        store = datadir.open_log(tmp_path)
        for seq in range(600):
            await store.append([rig.append(seq, b"x" * 20_000)])
        size = (tmp_path / "log.db-wal").stat().st_size
        assert len(await rig.lines(store, rig.RUN)) == 600
        await store.close()
        return size

    assert backfill.BYTES < asyncio.run(run()) < wal.CHECKPOINT_BYTES + 64 * _FRAME
