"""A connection to SQLite as the log has it, and transactions over one: what is in them is done whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Generator
from pathlib import Path

from openskelo.stores import patience, wal


def make(path: Path) -> None:
    """An empty database where there is none, for its owner alone as what SQLite puts beside it (OSError)."""
    # Not opened if it is there: to close a file gives up all the locks that this process holds on it, SQLite's too.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def connect(path: Path, *, any_thread: bool = False) -> sqlite3.Connection:
    """A connection as the store uses it: every commit synced, transactions begun by hand.

    It belongs to the thread that made it, unless it is for `any_thread`: one at a time.
    """
    connection = sqlite3.connect(
        path,
        isolation_level=None,
        timeout=patience.BUSY_SECONDS,
        cached_statements=64,
        check_same_thread=not any_thread,
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # on macOS a plain fsync does not reach the disk
        pages = wal.CHECKPOINT_BYTES // wal.page_size(connection)
        connection.execute(f"PRAGMA wal_autocheckpoint = {pages}")
        connection.execute("PRAGMA cache_size = -16000")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Generator[None]:
    """Commit what is done inside; whatever is raised there, by the commit too, undoes all of it."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
