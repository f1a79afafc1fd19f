"""Taking things out of the SQLite store: shorter lines, whole runs, and values that nothing refers to any more.

Each step is one transaction, and what a crash leaves undone is done by the next call: nothing is ever half gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Collection, Generator, Mapping
from typing import Any, TypeAlias, cast

import orjson

from openskelo.stores import blobs, connecting, log, patience

#: So many rows are read at a time, and changed in one transaction.
ROWS = 512
_Row: TypeAlias = tuple[Any, ...]  # what sqlite3 says of its rows; each is read right where its statement is named
_NEVER = 2**62


class Pruner:
    """Prunes over one connection, whose pages are overwritten with zeros when something is removed from them."""

    def __init__(self, connection: sqlite3.Connection, sql: Mapping[str, str]) -> None:
        self._execute = connection.execute
        self._connection = connection
        self._sql = sql

    async def rewrite(self, number: int, shorten: Callable[[bytes], bytes]) -> None:
        """Shorten the lines of a run from the last to the first; others may commit in between."""
        before = _NEVER
        while rows := self._all("read_backwards", number, before, ROWS):
            before = rows[-1][0]
            shorter = [(log.join([shorten(line) for line in joined.split(b"\n")]), at) for at, joined in rows]
            changed = [new for new, (_, joined) in zip(shorter, rows, strict=True) if new[0] != joined]
            if changed:
                with self._zeroing():
                    self._connection.executemany(self._sql["replace_lines"], changed)
            await asyncio.sleep(0)

    def erase(self, number: int, run_id: str) -> None:
        """Remove a run and everything that is kept under its name."""
        with self._zeroing():
            self._run("bury_newest", number)
            for statement in ("erase_rows", "erase_places", "erase_run"):
                self._run(statement, number)
            for statement in ("erase_approvals", "erase_closed_approvals", "erase_commands"):
                self._run(statement, run_id)

    async def sweep(self, forget: Collection[str]) -> tuple[set[str], log.Swept]:
        """Remove the small values that nothing refers to; gives the digests that are referred to, and what is gone.

        The log is read before the transaction; in it, only what was committed meanwhile.
        """
        small = self._all("read_digests")
        used: set[str] = set()
        end = 0
        while rows := self._all("read_texts", end, ROWS):
            end = rows[-1][0]
            used |= blobs.named_in(text for _, text in rows)
            await asyncio.sleep(0)
        count = size = 0
        with self._zeroing():
            used |= blobs.named_in(text for _, text in self._all("read_texts", end, -1))
            used |= blobs.named_in(text for (text,) in self._all("read_texts_beside"))
            used |= self._forget_cached(forget)
            for number, digest, length in small:
                if digest.hex() not in used:
                    self._run("erase_blob", number)
                    count += 1
                    size += length
        return used, log.Swept(blobs=count, bytes=size)

    def compact(self) -> None:
        """Give the room that was freed back to the disk, as far as nobody else is in the way."""
        with patience.insisting(self._connection):
            self._execute("VACUUM")
            self._execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def settle(self) -> None:
        """Move everything out of the write-ahead log, where removed bytes would linger, unless somebody reads it."""
        self._execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _forget_cached(self, forget: Collection[str]) -> set[str]:
        """Drop cached outputs of these runs; gives the digests that all cached outputs name.

        Those of dropped ones count this once: a run may just have been given them, and not yet have said so.
        """
        entries = self._all("read_cache")
        for key, stored in entries:
            source = cast("dict[str, Any]", orjson.loads(stored)).get("source", {})
            if source.get("runId") in forget:
                self._run("forget_cached", key)
        return blobs.named_in(stored for _, stored in entries)

    @contextlib.contextmanager
    def _zeroing(self) -> Generator[None]:
        """A transaction after which removed bytes are nowhere in the database."""
        self._execute("PRAGMA secure_delete = ON").fetchall()
        try:
            with patience.insisting(self._connection), connecting.transaction(self._connection):
                yield
        finally:
            self._execute("PRAGMA secure_delete = OFF").fetchall()

    def _run(self, name: str, *values: object) -> None:
        self._execute(self._sql[name], values)

    def _all(self, name: str, *values: object) -> list[_Row]:
        return self._execute(self._sql[name], values).fetchall()
