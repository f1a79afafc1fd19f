"""Removes data from the SQLite database: shortens lines, deletes runs, deletes blobs that nothing refers to.

Each step is one transaction. What a crash leaves undone is done by the next call. Deleted bytes are overwritten with
zeros (`secure_delete`), and a checkpoint clears the write-ahead log, where they would stay as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Collection, Generator, Mapping
from typing import Any, TypeAlias, cast

import orjson

from openskelo.stores import api, blobs
from openskelo.stores.sqlite import connection as sqlite_connection

#: How many rows one transaction reads and changes.
ROWS_PER_STEP = 512
_Row: TypeAlias = tuple[Any, ...]  # the row type of sqlite3; each is unpacked where its statement is named
_AFTER_ALL = 2**62
#: The notes with this prefix are the runs whose lines are still to be taken out of the event files.
_PRUNED = "pruned run "


class Pruner:
    """Removes data over one connection."""

    def __init__(self, connection: sqlite3.Connection, sql: Mapping[str, str]) -> None:
        self._connection = connection
        self._sql = sql

    async def rewrite(self, run: int, run_id: str, shorten: Callable[[bytes], bytes]) -> None:
        """Shorten the lines of a run from the last to the first; other commits may happen in between."""
        before = _AFTER_ALL
        while rows := self._fetch_all("read_backwards", run, before, ROWS_PER_STEP):
            before = rows[-1][0]
            changes: list[tuple[bytes, int]] = []
            for position, text in rows:
                shorter = api.join_lines([shorten(line) for line in text.split(b"\n")])
                if shorter != text:
                    changes.append((shorter, position))
            if changes:
                with self._zeroing_transaction():
                    self._mark_pruned(run_id)  # each time: another process may have rewritten the event files since
                    self._connection.executemany(self._sql["replace_lines"], changes)
            await asyncio.sleep(0)

    def delete_run(self, run: int, run_id: str) -> None:
        """Delete a run and everything that is stored under its id."""
        with self._zeroing_transaction():
            self._mark_pruned(run_id)
            for statement in ("blank_newest_row", "delete_rows", "delete_places", "delete_run"):
                self._execute(statement, run)
            for statement in ("delete_approvals", "delete_closed_approvals", "delete_commands"):
                self._execute(statement, run_id)

    def pruned_runs(self) -> Collection[str]:
        """Return the runs whose lines were shortened or deleted here and not yet in the event files."""
        keys = self._fetch_all("read_notes", _PRUNED, f"{_PRUNED}\U0010ffff")
        return {key.removeprefix(_PRUNED) for key, _ in keys}

    def forget_pruned(self, run_ids: Collection[str]) -> None:
        """Say that the event files hold what was pruned no more. It may come too late: they are then read once more."""
        with self._zeroing_transaction():
            self._connection.executemany(self._sql["delete_note"], [(_PRUNED + run_id,) for run_id in run_ids])

    def _mark_pruned(self, run_id: str) -> None:
        self._execute("replace_note", _PRUNED + run_id, 0, b"{}")

    async def sweep_blobs(
        self, forget: Collection[str], keep: Collection[str] = ()
    ) -> tuple[set[str], api.SweepResult]:
        """Delete the small blobs that nothing refers to; return the digests in use, and what was deleted.

        The digests in `keep` are in use, too.

        Most of the log is read before the transaction; inside it only what was committed meanwhile.
        """
        small_blobs = self._fetch_all("read_digests")
        used_digests = set(keep)
        position = 0
        while rows := self._fetch_all("read_texts", position, ROWS_PER_STEP):
            position = rows[-1][0]
            used_digests |= blobs.find_digests(text for _, text in rows)
            await asyncio.sleep(0)
        count = size = 0
        with self._zeroing_transaction():
            used_digests |= blobs.find_digests(text for _, text in self._fetch_all("read_texts", position, -1))
            used_digests |= blobs.find_digests(text for (text,) in self._fetch_all("read_texts_beside"))
            used_digests |= self._forget_cached(forget)
            for number, digest, length in small_blobs:
                if digest.hex() not in used_digests:
                    self._execute("delete_blob", number)
                    count += 1
                    size += length
        return used_digests, api.SweepResult(blobs=count, bytes=size)

    def compact(self) -> None:
        """Return freed space to the file system, as far as no other connection is in the way."""
        with sqlite_connection.busy_timeout(self._connection, sqlite_connection.BUSY_SECONDS):
            self._connection.execute("VACUUM")
            self.checkpoint()

    def checkpoint(self) -> None:
        """Move the write-ahead log into the database, so that no deleted bytes stay there, unless one reads it."""
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _forget_cached(self, forget: Collection[str]) -> set[str]:
        """Delete the cached outputs of these runs; return the digests that all cached outputs refer to.

        Those of deleted entries are among them: a run may just have read one, and not yet have appended it.
        """
        entries = self._fetch_all("read_cache")
        for key, entry in entries:
            source = cast("dict[str, Any]", orjson.loads(entry)).get("source", {})
            if source.get("runId") in forget:
                self._execute("delete_cached", key)
        return blobs.find_digests(entry for _, entry in entries)

    @contextlib.contextmanager
    def _zeroing_transaction(self) -> Generator[None]:
        """Open a transaction that overwrites deleted bytes with zeros. SQLite waits for the lock without a limit."""
        self._connection.execute("PRAGMA secure_delete = ON").fetchall()
        try:
            with (
                sqlite_connection.busy_timeout(self._connection, sqlite_connection.BUSY_SECONDS),
                sqlite_connection.transaction(self._connection),
            ):
                yield
        finally:
            self._connection.execute("PRAGMA secure_delete = OFF").fetchall()

    def _execute(self, name: str, *values: object) -> None:
        self._connection.execute(self._sql[name], values)

    def _fetch_all(self, name: str, *values: object) -> list[_Row]:
        return self._connection.execute(self._sql[name], values).fetchall()
