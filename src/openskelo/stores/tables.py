"""The tables of the SQLite log as they are read: lines, listings, approvals, posted commands, and notes."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import orjson

from openskelo import errors
from openskelo.kernel.json import JsonObject
from openskelo.stores import connecting, faults, log, statements

#: So many rows are read at a time, and so many of their lines given.
CHUNK = 512
LINES = 256
#: So many runs are counted at a time.
COUNTED = 4096
#: The place in the order of listings that comes before none.
_END = (2**63 - 1, 2**63 - 1)

_Row: TypeAlias = tuple[Any, ...]  # what sqlite3 says of its rows; each is read right where its statement is named


class Tables:
    """The half of a `Log` that only reads, over one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._execute = connection.execute
        self._sql = statements.load()

    async def read(self, run_id: str, *, after: int = 0) -> AsyncIterator[Sequence[bytes]]:
        """The run's lines with seq > `after`, in order, in chunks; nothing for an unknown run."""
        for lines in self._chunks(run_id, after=after):
            # One Append may hold a run as a whole, but whoever gives way after each chunk is to do so often.
            for at in range(0, len(lines), LINES):
                yield lines[at : at + LINES]

    def _chunks(self, run_id: str, *, after: int = 0) -> Iterator[Sequence[bytes]]:
        """Each chunk is a query of its own: no snapshot stays open that would keep the write-ahead log from reuse."""
        found = self._one("find_run", run_id)
        while found is not None:
            rows = self._rows_after(found[0], after)
            lines: list[bytes] = []
            for last, joined in rows:
                if type(joined) is not bytes:
                    raise errors.Corrupt(
                        f"the log of run {run_id} holds something else than lines before seq {last + 1}"
                    )
                part = log.split(joined)
                lines += part[max(0, after - last + len(part)) :]
                after = last
            if lines:
                yield lines
            if len(rows) < CHUNK:
                return

    def _rows_after(self, run: int, after: int) -> list[_Row]:
        """Both kinds of rows in one snapshot: a row may get its place in between."""
        with faults.translated(), connecting.transaction(self._connection, "BEGIN"):
            rows = self._execute(self._sql["read_placed"], (run, after, CHUNK)).fetchall()
            if len(rows) < CHUNK:
                seq = rows[-1][0] if rows else after
                rows += self._execute(self._sql["read_unplaced"], (run, seq, CHUNK - len(rows))).fetchall()
        return rows

    async def feed(self, *, after: int, limit: int = 256) -> Sequence[log.Added]:
        """What was added to any run after a position, in the order of commits, at most `limit` Appends."""
        return [
            log.Added(position=position, run_id=run_id, seq=last, lines=tuple(log.split(joined)))
            for position, run_id, last, joined in self._all("read_feed", after, limit)
        ]

    async def position(self) -> int:
        """The newest position, 0 when nothing was ever added."""
        found = self._one("newest_position")
        return 0 if found is None else found[0]

    async def row(self, run_id: str) -> log.RunRow | None:
        """A run's listing; None for a run that is unknown or has none yet."""
        found = self._one("read_listing", run_id)
        return None if found is None else _run_row(found)

    async def rows(
        self,
        *,
        limit: int = 100,
        offset: int = 0,
        status: str | None = None,
        text: str | None = None,
        before: str | None = None,
    ) -> Sequence[log.RunRow]:
        """Listings, newest `created_at` first, and among equals the one begun last first."""
        place = _END if before is None else self._one("find_listing", before)
        if place is None:
            return []
        found = [*place, None if text is None else log.folded(text), limit, offset]
        match status:
            case None:
                rows = self._all("read_listings", *found)
            case "completed" | "failed":
                rows = self._all("read_ended_listings", *found, status)
            case _:
                rows = self._all("read_unfinished_listings", *found, status)
        return [_run_row(row) for row in rows]

    async def rows_named(self, prefix: str) -> Sequence[log.RunRow]:
        """Listings of the runs whose id begins so, newest first."""
        found = self._all("read_listings_named", prefix, f"{prefix}\U0010ffff")
        return [_run_row(row) for row in sorted(found, key=lambda row: (row[5], row[8]), reverse=True)]

    async def tally(self) -> log.Tally:
        """Where everything stands, counted now; of very many runs in parts, between which others have their turn."""
        runs: Counter[tuple[str, str | None]] = Counter()
        (newest,) = self._one("newest_run") or (0,)
        for first in range(0, newest, COUNTED):
            for status, ending, count in self._all("tally_runs", first, first + COUNTED):
                runs[status, ending] += count
            await asyncio.sleep(0)
        approvals, since, commands = self._one("tally_waiting") or (0, None, 0)
        return log.Tally(runs=runs, approvals=approvals, waiting_since=since, commands=commands)

    async def approvals(
        self, run_id: str | None = None, *, limit: int | None = None, after: str | None = None
    ) -> Sequence[log.ApprovalRow]:
        """Open approvals, of one run or of all, in the order they were opened."""
        place = (0,) if after is None else self._one("find_approval", after)
        if place is None:
            return []
        wanted = (place[0], -1 if limit is None else limit)
        if run_id is None:
            return [_approval_row(found) for found in self._all("read_approvals", *wanted)]
        return [_approval_row(found) for found in self._all("read_approvals_of_run", *wanted, run_id)]

    async def approval(self, approval_id: str) -> log.ApprovalRow | None:
        """One approval while it is open, else None."""
        found = self._one("read_approval", approval_id)
        return None if found is None else _approval_row(found)

    async def asker(self, approval_id: str) -> str | None:
        """The run that asks, or has asked, for an approval; None for an id that no approval ever had."""
        found = self._one("read_asker", approval_id)
        return None if found is None else found[0]

    async def closed(self, *, limit: int, before: str | None = None) -> Sequence[tuple[str, str]]:
        """Approvals that are answered or withdrawn and the runs that asked, the newest question first."""
        place = (2**62,) if before is None else self._one("find_approval", before)
        if place is None:
            return []
        return [(found[0], found[1]) for found in self._all("read_closed", place[0], limit)]

    async def posted(self, run_ids: Sequence[str] | None) -> Sequence[log.PostedCommand]:
        """Commands waiting for these runs (None: for any), in order of posting, until an Append consumes them."""
        if run_ids is None:
            found = self._all("read_all_commands")
        else:
            found = self._all("read_commands", orjson.dumps(list(run_ids)).decode())
        return [log.PostedCommand(id=number, run_id=run, body=orjson.loads(body)) for number, run, body in found]

    async def waits(self, command_id: int) -> bool:
        """Whether a posted command has neither been consumed nor withdrawn."""
        return self._one("find_command", command_id) is not None

    async def cached(self, key: str) -> JsonObject | None:
        """The outputs last kept under a cache key."""
        found = self._one("read_cached", key)
        return None if found is None else orjson.loads(found[0])

    async def noted(self, key: str) -> JsonObject | None:
        """The document under a key."""
        found = self._one("read_note", key)
        return None if found is None else orjson.loads(found[0])

    async def notes(self, prefix: str) -> Mapping[str, JsonObject]:
        """The documents whose key begins so, by key and in that order."""
        return {key: orjson.loads(text) for key, text in self._all("read_notes", prefix, f"{prefix}\U0010ffff")}

    def _one(self, name: str, *values: object) -> _Row | None:
        with faults.translated():
            return self._execute(self._sql[name], values).fetchone()

    def _all(self, name: str, *values: object) -> list[_Row]:
        with faults.translated():
            return self._execute(self._sql[name], values).fetchall()


def _run_row(found: _Row) -> log.RunRow:
    run_id, name, workflow_hash, status, ending, created_at, updated_at, parent = found[:8]
    return log.RunRow(
        run_id=run_id,
        name=name,
        workflow_hash=workflow_hash,
        status=status,
        ending=ending,
        created_at=created_at,
        updated_at=updated_at,
        parent=parent,
    )


def _approval_row(found: _Row) -> log.ApprovalRow:
    approval_id, run_id, node, document = found
    return log.ApprovalRow(approval_id=approval_id, run_id=run_id, node=node, document=orjson.loads(document))
