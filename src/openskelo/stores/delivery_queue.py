"""The queue of deliveries to webhooks and trace exporters, in an SQLite file of its own: no run ever waits for it.

A delivery names an event of the log and holds nothing of it. A reader of the feed adds deliveries and saves its place
in one transaction, so that no event is missed or queued twice, whenever the process ends. A sender leases due
deliveries, then reports each as delivered, failed (due again later, or given up) or returned. Only the process that
holds the `SenderLock` sends, so leases that it finds at its start are those of a dead process.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from openskelo import errors
from openskelo.stores import storage_errors
from openskelo.stores.sqlite import connection as sqlite_connection
from openskelo.structs import frozen

FILE = "webhooks.db"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS readers (name TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS deliveries (
  id TEXT PRIMARY KEY,
  hook TEXT NOT NULL,
  run_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  type TEXT NOT NULL,
  queued_at INTEGER NOT NULL,
  due_at INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0,
  leased INTEGER NOT NULL DEFAULT 0,
  error TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS deliveries_due ON deliveries (hook, due_at);
"""


@frozen
class Delivery:
    """One event for one hook."""

    id: str
    hook: str
    run_id: str
    seq: int
    type: str
    #: The time at which the event was read from the feed, in milliseconds.
    queued_at: int
    #: The number of attempts so far.
    attempts: int = 0


@frozen
class Backlog:
    """The deliveries of one hook: how many wait, since when the oldest, how many were given up, and the last error."""

    hook: str
    waiting: int
    dead: int
    oldest: int | None
    error: str | None


class DeliveryQueue:
    """The deliveries of one data dir. Belongs to the thread that opened it."""

    def __init__(self, data_dir: Path) -> None:
        try:
            sqlite_connection.create_file(data_dir / FILE)
        except OSError as error:
            raise storage_errors.from_os(error, f"for {FILE}") from error
        with storage_errors.translated():
            self._connection = _connect(data_dir / FILE)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def position(self, reader: str) -> int | None:
        """Return the position up to which a reader has read the feed; None if it never has."""
        with storage_errors.translated():
            row = self._connection.execute("SELECT position FROM readers WHERE name = ?", (reader,)).fetchone()
        return None if row is None else row[0]

    def add(self, reader: str, position: int, deliveries: Sequence[Delivery]) -> None:
        """Queue deliveries, and save the position up to which the reader has read the feed."""
        rows = [
            (item.id, item.hook, item.run_id, item.seq, item.type, item.queued_at, item.queued_at)
            for item in deliveries
        ]
        with storage_errors.translated(), sqlite_connection.transaction(self._connection):
            self._connection.executemany(
                "INSERT INTO deliveries (id, hook, run_id, seq, type, queued_at, due_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (id) DO NOTHING",
                rows,
            )
            self._connection.execute(
                "INSERT INTO readers (name, position) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET position = ?2",
                (reader, position),
            )

    def lease(self, hook: str, *, now: int, limit: int) -> Sequence[Delivery]:
        """Return deliveries that are due, the oldest first. They are not returned again until one is reported on."""
        with storage_errors.translated(), sqlite_connection.transaction(self._connection):
            rows = self._connection.execute(
                "SELECT id, hook, run_id, seq, type, queued_at, attempts FROM deliveries"
                " WHERE hook = ? AND due_at <= ? AND NOT leased ORDER BY due_at, queued_at, seq LIMIT ?",
                (hook, now, limit),
            ).fetchall()
            self._connection.executemany("UPDATE deliveries SET leased = 1 WHERE id = ?", [(row[0],) for row in rows])
        return [
            Delivery(id=row[0], hook=row[1], run_id=row[2], seq=row[3], type=row[4], queued_at=row[5], attempts=row[6])
            for row in rows
        ]

    def end_leases(self) -> None:
        """End all leases, those of a process that is dead: the deliveries are due as before."""
        self._change("UPDATE deliveries SET leased = 0 WHERE leased", ())

    def delete(self, delivery: str) -> None:
        """Delete a delivery that has arrived, or that has nothing left to send."""
        self._change("DELETE FROM deliveries WHERE id = ?", (delivery,))

    def fail(self, delivery: str, error: str, due_at: int | None) -> None:
        """Record a failed attempt: the delivery is due again at a time, or (None) given up."""
        statement = "UPDATE deliveries SET attempts = attempts + 1, leased = 0, error = ?, due_at = ? WHERE id = ?"
        self._change(statement, (error[:500], due_at, delivery))

    def end_lease(self, delivery: str) -> None:
        """End the lease of a delivery that may or may not have arrived: it is due as before."""
        self._change("UPDATE deliveries SET leased = 0 WHERE id = ?", (delivery,))

    def revive(self, hook: str, due_at: int) -> None:
        """Make the deliveries that were given up due again."""
        self._change("UPDATE deliveries SET due_at = ? WHERE hook = ? AND due_at IS NULL", (due_at, hook))

    def backlog(self) -> Sequence[Backlog]:
        """Return the backlog of every hook that has deliveries."""
        with storage_errors.translated():
            rows = self._connection.execute(
                "SELECT hook, count(due_at), count(*) - count(due_at),"
                " min(queued_at) FILTER (WHERE due_at IS NOT NULL), max(error)"
                " FROM deliveries GROUP BY hook ORDER BY hook"
            ).fetchall()
        return [Backlog(hook=row[0], waiting=row[1], dead=row[2], oldest=row[3], error=row[4]) for row in rows]

    def _change(self, statement: str, values: tuple[object, ...]) -> None:
        with storage_errors.translated():
            self._connection.execute(statement, values)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=10.0)
    try:
        sqlite_connection.use_wal(connection, FILE)
        # A power loss may undo the last moments: they are read from the feed, or sent, once more.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(_SCHEMA)
    except (sqlite3.Error, errors.StoreError):
        connection.close()
        raise
    return connection


class SenderLock:
    """The lock of the process that sends, one for each data dir. It is dropped with the process."""

    def __init__(self, data_dir: Path, name: str = "webhooks") -> None:
        self._path = data_dir / f"{name}.lock"
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """True if this process holds the lock now."""
        if self._descriptor is not None:
            return True
        try:
            descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise storage_errors.from_os(error, f"for {self._path.name}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Release the lock for another process."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
