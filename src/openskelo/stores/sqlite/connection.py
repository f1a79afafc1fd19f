"""Connections to the SQLite database: how they are opened, how a transaction is made, how a busy database is awaited.

SQLite lets one connection write at a time. A commit takes a few milliseconds, so a writer first lets SQLite wait for
the lock (`AT_ONCE_SECONDS`), which blocks the event loop for a moment. If another process holds the lock for longer,
`begin` goes on waiting with `asyncio.sleep`, so that the event loop runs meanwhile, and raises STORE_BUSY after
`BUSY_SECONDS`.

An open database follows its inode, not its path. If a user moves or replaces `log.db`, SQLite goes on writing to a
file that no other process will find. `FileCheck` notices that.

A sync that failed must not be tried again as if nothing had happened: Linux reports the failure once, forgets the pages
that it could not write, and the next sync succeeds without them. Every commit is synced, so only the commit that failed
is in doubt. `SyncCheck` remembers the failure, in the data dir too, and `write_anew` removes the doubt: it copies the
write-ahead log into the database, syncs that, and begins an empty write-ahead log.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import time
from collections.abc import Generator
from pathlib import Path

from openskelo import errors
from openskelo.stores import storage_errors

#: How long a writer waits in all for the commit of another process.
BUSY_SECONDS = 10.0
#: How much of that SQLite waits itself, which blocks the event loop.
AT_ONCE_SECONDS = 0.25
#: How often `begin` tries the lock.
POLL_SECONDS = 0.02
#: SQLite moves the write-ahead log into the database when it has this many pages (4 MB).
CHECKPOINT_PAGES = 500


def create_file(path: Path) -> None:
    """Create an empty database file for its owner alone, unless there is one (OSError).

    SQLite gives the files that it puts beside a database the same mode.
    """
    # An existing file is not opened: closing it would drop every lock that this process has on it, SQLite's included.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection that syncs every commit; transactions are begun explicitly. It belongs to this thread."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_SECONDS, cached_statements=64)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # on macOS a plain fsync does not reach the disk
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        connection.execute("PRAGMA cache_size = -16000")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def use_wal(connection: sqlite3.Connection, file: str = "log.db") -> None:
    """Put a database into WAL mode, in which it stays; raise StoreError (STORE_MODE) if that is not possible.

    A copy that another program has made may be in another mode. There a reader would keep every writer out.
    """
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise errors.StoreError(
            f"{file} cannot be used in WAL mode: SQLite says {mode!r}",
            code="STORE_MODE",
            hint=f"put the data dir on a local disk, and let no other program use {file} meanwhile",
        )


def connect_read_only(path: Path, mode: str) -> sqlite3.Connection:
    """Return a connection that refuses to write, opened with an URI parameter such as `mode=ro` (sqlite3.Error)."""
    uri = f"{path.absolute().as_uri()}?{mode}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS)
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # opens the file
        connection.execute("PRAGMA query_only = ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Generator[None]:
    """Commit what is done inside. An exception, also one of the commit itself, rolls all of it back."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def set_busy_timeout(connection: sqlite3.Connection, seconds: float | None = None) -> None:
    """Set how long SQLite itself waits for a lock, AT_ONCE_SECONDS unless given."""
    if seconds is None:
        seconds = min(AT_ONCE_SECONDS, BUSY_SECONDS)
    connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")


@contextlib.contextmanager
def busy_timeout(connection: sqlite3.Connection, seconds: float) -> Generator[None]:
    """Let SQLite itself wait this long for locks inside, then as long as before."""
    set_busy_timeout(connection, seconds)
    try:
        yield
    finally:
        set_busy_timeout(connection)


async def wait_until_free(connection: sqlite3.Connection) -> None:
    """Return once no process holds the write lock; the event loop runs meanwhile (StoreError STORE_BUSY)."""
    await begin(connection)
    connection.execute("ROLLBACK")


async def begin(connection: sqlite3.Connection) -> None:
    """Begin a write transaction once no process holds the lock; the event loop runs meanwhile (STORE_BUSY)."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        is_last_try = time.monotonic() >= deadline
        try:
            with busy_timeout(connection, 0):
                connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            fault = storage_errors.from_sqlite(error)
            if is_last_try or fault.code != "STORE_BUSY":
                raise fault from error
        else:
            return
        await asyncio.sleep(POLL_SECONDS)


class FileCheck:
    """Checks now and then that the open database is still the file at its path. `error` stays set once it is not."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._identity = _file_identity(database)
        self.error: errors.StoreError | None = None

    def check(self) -> errors.StoreError | None:
        """Return the error (STORE_GONE) if the file was moved, removed or replaced."""
        if self.error is not None:
            return self.error
        try:
            is_same = _file_identity(self._database) == self._identity
        except OSError:  # the file system does not answer now; the next commit reports what is wrong with it
            return None
        if not is_same:
            self.error = errors.StoreError(
                f"{self._database} was moved, removed or replaced while it was in use",
                code="STORE_GONE",
                hint="put the data dir back and open it anew; nothing can be kept until then",
            )
        return self.error


class SyncCheck:
    """Remembers that a sync failed. `error` is set until `clear`, also in processes that open the database later."""

    def __init__(self, database: Path) -> None:
        self._marker = database.with_name("sync-failed")
        self.error: errors.StoreError | None = None
        if self._marker.exists():
            self.error = storage_errors.sync_failed("a sync failed before, and the log has not been checked since")

    def note(self, error: errors.StoreError) -> None:
        """Remember the error if it is about a sync."""
        if error.code == "STORE_SYNC":
            self.error = error
            with contextlib.suppress(OSError):  # this process remembers it in any case
                self._marker.touch(mode=0o600)

    def clear(self) -> None:
        """Forget the failure: the log was written anew."""
        with contextlib.suppress(OSError):  # the next process checks once more
            self._marker.unlink(missing_ok=True)
        self.error = None


def write_anew(connection: sqlite3.Connection) -> None:
    """Copy the write-ahead log into the database, sync it, and empty the write-ahead log (StoreError STORE_SYNC)."""
    with storage_errors.translated():
        is_busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if is_busy:
        raise storage_errors.sync_failed("another process reads the log, which has to be written anew")


def _file_identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of the file, None if there is no file."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino
