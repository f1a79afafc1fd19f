"""Room for SQLite's write-ahead log, made ahead: syncing a file costs less while it does not grow."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from openskelo.stores import faults

#: The size of a new database's pages: rows of a step take some 1,400 bytes, and leave a third of 4 KiB unused.
PAGE = 8192
#: SQLite moves its write-ahead log into the database after so many bytes of pages, then writes it again from the start.
CHECKPOINT_BYTES = 4_096_000
#: Room is made in steps, each after so many commits of one process: a short run does not pay for a long one. The last
#: is what SQLite fills before it starts anew, with the heads of its frames and the end of the commit that fills it.
STEPS = {2: 512 * 1024, 60: CHECKPOINT_BYTES + 288 * 1024}


def page_size(connection: sqlite3.Connection) -> int:
    """The size of the database's pages, which it was made with: older ones have 4 KiB."""
    return connection.execute("PRAGMA page_size").fetchone()[0]


def reserve(connection: sqlite3.Connection, database: Path, size: int) -> None:
    """Extend the write-ahead log to `size` bytes by zeros, which SQLite takes for frames that are not there.

    The write lock is held meanwhile, so that nobody adds frames where the zeros go. When there is no room for it, the
    file is as it was, and commits go on at the price of a growing file.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        descriptor = os.open(f"{database}-wal", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            _extend(descriptor, size)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise faults.of_os(error, "making room for the log") from error
    finally:
        connection.execute("ROLLBACK")


def _extend(descriptor: int, size: int) -> None:
    before = os.fstat(descriptor).st_size
    if before >= size:
        return
    try:
        at = before
        zeros = bytes(256 * 1024)
        while at < size:
            at += os.pwrite(descriptor, zeros[: size - at], at)
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, before)
