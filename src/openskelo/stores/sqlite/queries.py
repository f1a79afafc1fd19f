"""The half of the SQLite store that only reads: events, listings, approvals, queued commands, notes.

The statements are in `sql/*.sql`, each with a name and a comment. A run's events are read in chunks, and every chunk is
a query of its own: a snapshot that stayed open would keep SQLite from reusing its write-ahead log.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import orjson

from openskelo import errors
from openskelo.kernel.json import JsonObject
from openskelo.stores import api, storage_errors
from openskelo.stores.sqlite import connection as sqlite_connection

SQL_FOLDER = Path(__file__).parent / "sql"
#: How many rows of the log one query reads.
ROWS_PER_QUERY = 512
#: How many lines a reader gets at a time: one row may hold thousands, and a reader yields to others after each chunk.
LINES_PER_CHUNK = 256
#: How many runs `count_totals` counts before it lets other tasks run.
RUNS_PER_COUNT = 4096
#: The position after all listings.
_AFTER_ALL = (2**63 - 1, 2**63 - 1)

_Row: TypeAlias = tuple[Any, ...]  # the row type of sqlite3; each is unpacked where its statement is named


def load_statements() -> Mapping[str, str]:
    """Return the statements of `sql/*.sql` by name, without their comments."""
    statements: dict[str, str] = {}
    for topic in ("log", "runs", "tables", "retention"):
        for part in (SQL_FOLDER / f"{topic}.sql").read_text("utf-8").split("-- name: ")[1:]:
            name, _, rest = part.partition("\n")
            statements[name] = "\n".join(line for line in rest.splitlines() if not line.startswith("--")).strip()
    return MappingProxyType(statements)


class Queries:
    """The reading methods of a `Store`, over one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._sql = load_statements()

    async def read_events(self, run_id: str, *, after: int = 0) -> AsyncIterator[Sequence[bytes]]:
        """Yield the run's lines with seq > `after`, in order, in chunks; nothing for an unknown run."""
        for lines in self._read_chunks(run_id, after=after):
            for start in range(0, len(lines), LINES_PER_CHUNK):
                yield lines[start : start + LINES_PER_CHUNK]

    def _read_chunks(self, run_id: str, *, after: int = 0) -> Iterator[Sequence[bytes]]:
        run = self._fetch_one("find_run", run_id)
        if run is None:
            return
        while True:
            rows = self._read_rows(run[0], after)
            lines: list[bytes] = []
            for last_seq, joined_lines in rows:
                if not isinstance(joined_lines, bytes):
                    raise errors.Corrupt(
                        f"the log of run {run_id} holds something else than lines before seq {last_seq + 1}"
                    )
                row_lines = joined_lines.split(b"\n")
                first_seq = last_seq - len(row_lines) + 1
                lines += row_lines[max(0, after + 1 - first_seq) :]
                after = last_seq
            if lines:
                yield lines
            if len(rows) < ROWS_PER_QUERY:
                return

    def _read_rows(self, run: int, after: int) -> list[_Row]:
        """Return rows of a run, those in the index first; one snapshot, as a row may be indexed in between."""
        with storage_errors.translated(), sqlite_connection.transaction(self._connection, "BEGIN"):
            rows = self._connection.execute(self._sql["read_placed"], (run, after, ROWS_PER_QUERY)).fetchall()
            missing = ROWS_PER_QUERY - len(rows)
            if missing:
                seq = rows[-1][0] if rows else after
                rows += self._connection.execute(self._sql["read_unplaced"], (run, seq, missing)).fetchall()
        return rows

    async def read_feed(self, *, after: int, limit: int = 256) -> Sequence[api.FeedEntry]:
        """Return what was appended to any run after a position, in the order of commits, at most `limit` Appends."""
        return [
            api.FeedEntry(position=position, run_id=run_id, seq=last_seq, lines=tuple(joined_lines.split(b"\n")))
            for position, run_id, last_seq, joined_lines in self._fetch_all("read_feed", after, limit)
        ]

    async def last_position(self) -> int:
        """Return the newest position, 0 when nothing was ever appended."""
        row = self._fetch_one("newest_position")
        return 0 if row is None else row[0]

    async def find_run(self, run_id: str) -> api.RunRow | None:
        """Return a run's listing; None for a run that is unknown or not listed yet."""
        row = self._fetch_one("read_listing", run_id)
        return None if row is None else _run_row(row)

    async def list_runs(
        self,
        *,
        limit: int = 100,
        offset: int = 0,
        status: str | None = None,
        text: str | None = None,
        before: str | None = None,
    ) -> Sequence[api.RunRow]:
        """Return listings, newest `created_at` first; among equals the run that began last comes first."""
        place = _AFTER_ALL if before is None else self._fetch_one("find_listing", before)
        if place is None:
            return []
        values = [*place, None if text is None else api.fold_case(text), limit, offset]
        match status:
            case None:
                rows = self._fetch_all("read_listings", *values)
            case "completed" | "failed":
                rows = self._fetch_all("read_ended_listings", *values, status)
            case _:
                rows = self._fetch_all("read_unfinished_listings", *values, status)
        return [_run_row(row) for row in rows]

    async def list_runs_by_prefix(self, prefix: str) -> Sequence[api.RunRow]:
        """Return the listings of the runs whose id starts with the prefix, newest first."""
        rows = self._fetch_all("read_listings_named", *_prefix_range(prefix))
        rows.sort(key=lambda row: (row[5], row[8]), reverse=True)  # created_at, number
        return [_run_row(row) for row in rows]

    async def count_totals(self) -> api.Totals:
        """Return totals as of now. Many runs are counted in parts, between which other tasks run."""
        runs: Counter[tuple[str, str | None]] = Counter()
        (newest,) = self._fetch_one("newest_run") or (0,)
        for first in range(0, newest, RUNS_PER_COUNT):
            for status, ending, count in self._fetch_all("tally_runs", first, first + RUNS_PER_COUNT):
                runs[status, ending] += count
            await asyncio.sleep(0)
        approvals, since, commands = self._fetch_one("tally_waiting") or (0, None, 0)
        return api.Totals(runs=runs, approvals=approvals, waiting_since=since, commands=commands)

    async def list_approvals(
        self, run_id: str | None = None, *, limit: int | None = None, after: str | None = None
    ) -> Sequence[api.ApprovalRow]:
        """Return open approvals, of one run or of all, in the order in which they were opened."""
        place = (0,) if after is None else self._fetch_one("find_approval", after)
        if place is None:
            return []
        values = (place[0], -1 if limit is None else limit)
        if run_id is None:
            rows = self._fetch_all("read_approvals", *values)
        else:
            rows = self._fetch_all("read_approvals_of_run", *values, run_id)
        return [_approval_row(row) for row in rows]

    async def find_approval(self, approval_id: str) -> api.ApprovalRow | None:
        """Return an approval while it is open, else None."""
        row = self._fetch_one("read_approval", approval_id)
        return None if row is None else _approval_row(row)

    async def find_approval_run(self, approval_id: str) -> str | None:
        """Return the id of the run that asks or asked for an approval; None for an unknown approval."""
        row = self._fetch_one("read_asker", approval_id)
        return None if row is None else row[0]

    async def list_closed_approvals(self, *, limit: int, before: str | None = None) -> Sequence[tuple[str, str]]:
        """Return (approval id, run id) of answered and withdrawn approvals, the one opened last first."""
        place = (2**62,) if before is None else self._fetch_one("find_approval", before)
        if place is None:
            return []
        return [(row[0], row[1]) for row in self._fetch_all("read_closed", place[0], limit)]

    async def list_commands(self, run_ids: Sequence[str] | None) -> Sequence[api.QueuedCommand]:
        """Return the commands queued for these runs (None: for any), in the order in which they were queued."""
        if run_ids is None:
            rows = self._fetch_all("read_all_commands")
        else:
            rows = self._fetch_all("read_commands", orjson.dumps(list(run_ids)).decode())
        return [api.QueuedCommand(id=number, run_id=run, body=orjson.loads(body)) for number, run, body in rows]

    async def is_command_queued(self, command_id: int) -> bool:
        """True if a command has neither been consumed nor withdrawn."""
        return self._fetch_one("find_command", command_id) is not None

    async def read_cached_outputs(self, key: str) -> JsonObject | None:
        """Return the outputs last stored under a cache key."""
        return self._fetch_document("read_cached", key)

    async def read_note(self, key: str) -> JsonObject | None:
        """Return the document under a key, or None."""
        return self._fetch_document("read_note", key)

    async def list_notes(self, prefix: str) -> Mapping[str, JsonObject]:
        """Return the documents whose key starts with the prefix, by key and in that order."""
        rows = self._fetch_all("read_notes", *_prefix_range(prefix))
        return {key: orjson.loads(document) for key, document in rows}

    def _fetch_document(self, name: str, key: str) -> JsonObject | None:
        row = self._fetch_one(name, key)
        return None if row is None else orjson.loads(row[0])

    def _fetch_one(self, name: str, *values: object) -> _Row | None:
        with storage_errors.translated():
            return self._connection.execute(self._sql[name], values).fetchone()

    def _fetch_all(self, name: str, *values: object) -> list[_Row]:
        with storage_errors.translated():
            return self._connection.execute(self._sql[name], values).fetchall()


def _prefix_range(prefix: str) -> tuple[str, str]:
    """Return the first key with the prefix, and one after all of them, so that an index can be used."""
    return prefix, f"{prefix}\U0010ffff"


def _run_row(row: _Row) -> api.RunRow:
    run_id, name, workflow_hash, status, ending, created_at, updated_at, parent = row[:8]
    return api.RunRow(
        run_id=run_id,
        name=name,
        workflow_hash=workflow_hash,
        status=status,
        ending=ending,
        created_at=created_at,
        updated_at=updated_at,
        parent=parent,
    )


def _approval_row(row: _Row) -> api.ApprovalRow:
    approval_id, run_id, node, document = row
    return api.ApprovalRow(approval_id=approval_id, run_id=run_id, node=node, document=orjson.loads(document))
