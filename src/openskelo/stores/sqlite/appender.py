"""The write path of the SQLite store: checks each Append against the end of its run, and commits a batch at once.

The table `log` has one row for each Append, which holds all its lines. A row always goes to the end of the table, so a
commit changes about two pages. The index by run (`places`) is not written with every commit: the newest rows, at most
MAX_UNPLACED, are without an entry, and readers scan them.

The caller says which seq its run must be at (`expected_seq`). The appender knows the heads of the runs it appends to
(their number and last seq) and the last position of the table. Each batch is BEGIN IMMEDIATE, catch up, check, write,
COMMIT. To catch up means to read the last position, and what has changed only if another process has committed since.
So the fence costs one query while one process writes.

`docs/adr/0003-sqlite-log.md` has the measurements.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

import orjson

from openskelo.stores import api, blobs, storage_errors
from openskelo.structs import field, mutable

#: How many of the newest rows may be without an entry in the index by run.
MAX_UNPLACED = 512
#: How many new rows of other processes are examined one by one. After more than that, all heads are forgotten.
MAX_NEW_ROWS = 4096

#: The head of a run: its number (0 if it does not exist yet) and the seq of its last line.
_Head: TypeAlias = tuple[int, int]
_NO_HEAD: _Head = (0, 0)
_Values: TypeAlias = tuple[str | int | None, ...]
_NO_LISTING: _Values = (None,) * 7


@mutable
class _Draft:
    """The rows that a batch will write. Rows of one kind are written by one `executemany`."""

    heads: dict[str, _Head] = field(default_factory=dict[str, _Head])
    log_rows: list[tuple[int, int, int, bytes]] = field(default_factory=list[tuple[int, int, int, bytes]])
    begun_runs: dict[str, _Values] = field(default_factory=dict[str, _Values])
    last_number: int = 0  # the number of the run that was begun last, once there is one
    listings: list[_Values] = field(default_factory=list[_Values])
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])


class Appender:
    """Appends over one connection. What it remembers (heads, the last position) is checked by every commit."""

    def __init__(self, connection: sqlite3.Connection, sql: Mapping[str, str]) -> None:
        self._connection = connection
        self._sql = sql
        self._heads: dict[str, _Head] = {}
        self._position = -1  # unknown
        self._placed = 0

    @property
    def position(self) -> int:
        """The last position that this appender knows, 0 if none."""
        return max(0, self._position)

    def append(self, batch: Sequence[api.Append], driver_id: str) -> Collection[str]:
        """Commit all of the batch or nothing (Conflict, StoreError); return the runs that it began and claimed."""
        draft = _Draft()
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._catch_up()
            self._draft_batch(batch, draft, driver_id)
            self._write(draft)
            position = self._position + len(draft.log_rows)
            placed_rows = self._place_rows(position)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise storage_errors.from_sqlite(error) from error
        except BaseException:
            self._roll_back()
            raise
        self._position = position
        self._placed = placed_rows
        self._heads.update(draft.heads)
        return draft.begun_runs

    def forget(self, run_id: str) -> None:
        """Forget the head of a run that this process will not append to soon."""
        self._heads.pop(run_id, None)

    def _draft_batch(self, batch: Sequence[api.Append], draft: _Draft, driver_id: str) -> None:
        """Check each Append and draft its rows. Rows that few Appends have are written at once."""
        position = self._position
        for append in batch:
            run_id = append.run_id
            number, seq = draft.heads.get(run_id) or self._heads.get(run_id) or self._read_head(run_id)
            if append.expected_seq != seq:
                raise api.append_conflict(append, seq)
            if not number:
                number = self._draft_run(append, draft, driver_id)
            elif append.row is not None:
                draft.listings.append((number, *_listing_values(append.row)))
            if append.lines:
                position += 1
                seq += len(append.lines)
                draft.log_rows.append((position, number, seq, api.join_lines(append.lines)))
            draft.heads[run_id] = (number, seq)
            draft.blobs.update(append.blobs)  # by name: runs that begin together bring the same definition
            self._write_approvals(append)
            self._write_rest(append)

    def _draft_run(self, append: api.Append, draft: _Draft, driver_id: str) -> int:
        """Draft the run that begins with an Append; return its number, the next one: no other process writes now."""
        api.check_run_id(append.run_id)
        if not draft.begun_runs:
            (draft.last_number,) = self._connection.execute(self._sql["newest_run"]).fetchone()
        draft.last_number += 1
        row = append.row
        is_claimed = append.claim and (row is None or row.ending is None)
        listing = _NO_LISTING if row is None else _listing_values(row)
        draft.begun_runs[append.run_id] = (draft.last_number, append.run_id, driver_id, is_claimed, *listing)
        return draft.last_number

    def _write(self, draft: _Draft) -> None:
        self._connection.executemany(self._sql["begin_run"], draft.begun_runs.values())
        # `update_listing` leaves the indexed `created_at` alone, which saves most of its cost.
        update = self._connection.executemany(self._sql["update_listing"], draft.listings)
        if update.rowcount < len(draft.listings):
            self._write_listings(draft.listings)
        self._connection.executemany(self._sql["insert_lines"], draft.log_rows)
        self.insert_blobs(draft.blobs)

    def _write_listings(self, listings: Sequence[_Values]) -> None:
        """Write listings one by one: some runs were claimed before and have no listing yet."""
        for values in listings:
            if self._connection.execute(self._sql["update_listing"], values).rowcount == 0:
                self._connection.execute(self._sql["add_listing"], values)

    def _write_approvals(self, append: api.Append) -> None:
        for approval in append.opened:
            values = (approval.approval_id, approval.run_id, approval.node, orjson.dumps(approval.document))
            self._connection.execute(self._sql["open_approval"], values)
        for approval_id in append.closed:
            self._connection.execute(self._sql["mark_approval"], (approval_id,))
            self._connection.execute(self._sql["close_approval"], (approval_id,))

    def _write_rest(self, append: api.Append) -> None:
        for command_id in append.consumed:
            if self._connection.execute(self._sql["consume_command"], (command_id, append.run_id)).rowcount != 1:
                raise api.command_conflict(append, command_id)
        for key, entry in append.cached.items():
            self._connection.execute(self._sql["insert_cached"], (key, orjson.dumps(entry)))

    def insert_blobs(self, named: Mapping[str, bytes]) -> None:
        """Add blobs by name, inside a transaction."""
        for name, data in named.items():
            self._connection.execute(self._sql["insert_blob"], (bytes.fromhex(blobs.digest_of(name)), data))

    def _place_rows(self, position: int) -> int:
        """Add the newest rows to the index by run once there are enough; return the position it then covers."""
        if position - self._placed <= MAX_UNPLACED:
            return self._placed
        self._connection.execute(self._sql["place_rows"])
        self._connection.execute(self._sql["move_placed"])
        return position

    def _catch_up(self) -> None:
        """Inside a transaction: forget the heads of runs to which other processes have appended."""
        position, self._placed = self._connection.execute(self._sql["last_position"]).fetchone()
        if position == self._position:
            return
        if 0 <= self._position < position <= self._position + MAX_NEW_ROWS:
            run_numbers = {number for (number,) in self._connection.execute(self._sql["read_moved"], (self._position,))}
            self._heads = {run_id: head for run_id, head in self._heads.items() if head[0] not in run_numbers}
        else:
            self._heads.clear()
        self._position = position

    def _read_head(self, run_id: str) -> _Head:
        row = self._connection.execute(self._sql["find_run"], (run_id,)).fetchone()
        if row is None:
            return _NO_HEAD
        (seq,) = self._connection.execute(self._sql["read_head"], row).fetchone()
        return row[0], seq

    def _roll_back(self) -> None:
        """Undo the batch, and forget everything: the next batch reads it again."""
        self._position = -1
        self._heads.clear()
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def _listing_values(row: api.RunRow) -> _Values:
    return (row.name, row.workflow_hash, row.status, row.ending, row.created_at, row.updated_at, row.parent)
