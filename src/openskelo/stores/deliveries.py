"""What webhooks are still owed, in a SQLite file of its own beside the log: no run ever waits for it.

A delivery names a fact of the log and holds nothing of it. Taking facts in and noting how far the feed was read is one
transaction, so that none is missed or taken twice, whenever the process ends.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from openskelo.frozen import frozen
from openskelo.stores import connecting, faults

FILE = "webhooks.db"
_LAYOUT = """
CREATE TABLE IF NOT EXISTS readers (name TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS deliveries (
  id TEXT PRIMARY KEY,
  hook TEXT NOT NULL,
  run_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  type TEXT NOT NULL,
  taken_at INTEGER NOT NULL,
  due_at INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0,
  lent INTEGER NOT NULL DEFAULT 0,
  error TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS deliveries_due ON deliveries (hook, due_at);
"""


@frozen
class Delivery:
    """One fact for one hook. Times are milliseconds; `attempts` were made so far."""

    id: str
    hook: str
    run_id: str
    seq: int
    type: str
    taken_at: int
    attempts: int = 0


@frozen
class Backlog:
    """What one hook is owed: how many wait (since when the oldest), how many were given up, what went wrong last."""

    hook: str
    waiting: int
    dead: int
    oldest: int | None
    error: str | None


class Deliveries:
    """The deliveries of one data dir. Belongs to the thread that opened it."""

    def __init__(self, data_dir: Path) -> None:
        try:
            connecting.make(data_dir / FILE)
        except OSError as error:
            raise faults.of_os(error, f"for {FILE}") from error
        with faults.translated():
            self._connection = _connected(data_dir / FILE)
        self._execute = self._connection.execute

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def position(self, reader: str) -> int | None:
        """How far a reader has read the feed; None for one that never did."""
        with faults.translated():
            found = self._execute("SELECT position FROM readers WHERE name = ?", (reader,)).fetchone()
        return None if found is None else found[0]

    def take(self, reader: str, position: int, taken: Sequence[Delivery]) -> None:
        """Owe these from now on, and note that the reader has come so far."""
        rows = [(one.id, one.hook, one.run_id, one.seq, one.type, one.taken_at, one.taken_at) for one in taken]
        with faults.translated(), connecting.transaction(self._connection):
            self._connection.executemany(
                "INSERT INTO deliveries (id, hook, run_id, seq, type, taken_at, due_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (id) DO NOTHING",
                rows,
            )
            self._execute(
                "INSERT INTO readers (name, position) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET position = ?2",
                (reader, position),
            )

    def lend(self, hook: str, *, now: int, limit: int) -> Sequence[Delivery]:
        """Deliveries that are due, the oldest first; nobody is given them again until they are spoken of."""
        with faults.translated(), connecting.transaction(self._connection):
            rows = self._execute(
                "SELECT id, hook, run_id, seq, type, taken_at, attempts FROM deliveries"
                " WHERE hook = ? AND due_at <= ? AND NOT lent ORDER BY due_at, taken_at, seq LIMIT ?",
                (hook, now, limit),
            ).fetchall()
            self._connection.executemany("UPDATE deliveries SET lent = 1 WHERE id = ?", [(row[0],) for row in rows])
        return [
            Delivery(id=row[0], hook=row[1], run_id=row[2], seq=row[3], type=row[4], taken_at=row[5], attempts=row[6])
            for row in rows
        ]

    def reclaim(self) -> None:
        """Whoever was lent something is dead: it is due as before."""
        self._change("UPDATE deliveries SET lent = 0 WHERE lent", ())

    def done(self, delivery: str) -> None:
        """It has arrived, or there is nothing left to tell."""
        self._change("DELETE FROM deliveries WHERE id = ?", (delivery,))

    def failed(self, delivery: str, error: str, due_at: int | None) -> None:
        """It did not arrive: try again at a time, or (None) never."""
        statement = "UPDATE deliveries SET attempts = attempts + 1, lent = 0, error = ?, due_at = ? WHERE id = ?"
        self._change(statement, (error[:500], due_at, delivery))

    def give_back(self, delivery: str) -> None:
        """Nobody knows whether it has arrived: it is due as before."""
        self._change("UPDATE deliveries SET lent = 0 WHERE id = ?", (delivery,))

    def revive(self, hook: str, due_at: int) -> None:
        """Try once more what was given up."""
        self._change("UPDATE deliveries SET due_at = ? WHERE hook = ? AND due_at IS NULL", (due_at, hook))

    def backlog(self) -> Sequence[Backlog]:
        """What every hook is owed, those that are owed nothing left out."""
        with faults.translated():
            rows = self._execute(
                "SELECT hook, count(due_at), count(*) - count(due_at), min(taken_at) FILTER (WHERE due_at IS NOT NULL),"
                " max(error) FROM deliveries GROUP BY hook ORDER BY hook"
            ).fetchall()
        return [Backlog(hook=row[0], waiting=row[1], dead=row[2], oldest=row[3], error=row[4]) for row in rows]

    def _change(self, statement: str, values: tuple[object, ...]) -> None:
        with faults.translated():
            self._execute(statement, values)


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=10.0)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # A power loss may undo the last moments: they are read from the feed, or sent, once more.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(_LAYOUT)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


class Turn:
    """The right to send, which one process of a data dir has at a time; gone with the process."""

    def __init__(self, data_dir: Path, name: str = "webhooks") -> None:
        self._path = data_dir / f"{name}.lock"
        self._held: int | None = None

    def take(self) -> bool:
        """Whether it is ours now."""
        if self._held is not None:
            return True
        try:
            descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise faults.of_os(error, f"for {self._path.name}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._held = descriptor
        return True

    def leave(self) -> None:
        """Let another process have it."""
        if self._held is not None:
            os.close(self._held)
            self._held = None
