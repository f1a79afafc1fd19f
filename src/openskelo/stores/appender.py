"""The write path of the SQLite store: checks that each Append goes on where its run ends, and commits a batch at once.

One row holds all lines of an Append, and rows only ever go to the end of the table: that keeps a commit at about two
pages. The row's position is chosen here, so that the primary key itself refuses the row when another process has
committed in between; only then are heads read again. `docs/adr/0003-sqlite-log.md` has the measurements.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import orjson

from openskelo.stores import blobs, faults, log, patience

#: So many of the newest rows may be without a place in the index of runs; readers look at each of them.
UNPLACED = 512
#: So many new rows of other processes are looked at; after more than that, what is known of runs is read anew.
NEWS = 4096

#: What this process knows of a run: its number (0 for one that is not there yet) and the seq of its last line.
_Head: TypeAlias = tuple[int, int]
_UNKNOWN: _Head = (0, 0)
_Values: TypeAlias = tuple[str | int | None, ...]
_NO_LISTING: _Values = (None,) * 7


class Draft:
    """A batch on its way: the heads it leads to, and the rows that it adds or changes.

    Those of one kind are written at once, which costs less than one by one.
    """

    __slots__ = ("begun", "blobs", "heads", "listings", "number", "rows")

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.heads: dict[str, _Head] = {}
        self.rows: list[tuple[int, int, int, bytes]] = []
        self.begun: dict[str, _Values] = {}  # by run
        self.number = 0  # that of the run begun last, once there is one
        self.listings: list[_Values] = []

    def texts(self) -> Iterator[bytes]:
        """The lines of each Append that has any, joined by newlines."""
        return (row[3] for row in self.rows)


class Appender:
    """Appends over one connection. What it remembers (heads, the last position) is only ever a shortcut."""

    def __init__(self, connection: sqlite3.Connection, sql: Mapping[str, str]) -> None:
        self._connection = connection
        self._execute = connection.execute
        self._sql = sql
        self._insert_lines = sql["insert_lines"]
        self._heads: dict[str, _Head] = {}
        self._position = -1
        self._placed = 0

    def append_lines(self, append: log.Append) -> bytes | None:
        """The short way for one Append of a known run that brings lines, and perhaps blobs, and nothing else.

        Without blobs it is one statement, which is the commit. Gives the lines joined by newlines, or None when the
        Append has to go the long way.
        """
        number, seq = self._heads.get(append.run_id, _UNKNOWN)
        position = self._position + 1
        if not number or seq != append.expected_seq or position - self._placed > UNPLACED or not _is_plain(append):
            return None
        joined = log.join(append.lines)
        seq += len(append.lines)
        row = (position, number, seq, joined)
        try:
            if append.blobs:
                self._execute("BEGIN IMMEDIATE")
                self._execute(self._insert_lines, row)
                self._insert_blobs(append.blobs)
                self._execute("COMMIT")
            else:
                self._execute(self._insert_lines, row)
        except sqlite3.IntegrityError:
            if self._connection.in_transaction:
                self._execute("ROLLBACK")
            return None  # somebody else took the position: the long way looks again
        except sqlite3.Error as error:
            self._abandon()
            raise faults.of_sqlite(error) from error
        except BaseException:
            self._abandon()
            raise
        self._position = position
        self._heads[append.run_id] = (number, seq)
        return joined

    def append_batch(self, batch: Sequence[log.Append], driver: str) -> Draft:
        """Commit all of the batch or nothing; the driver has claimed the runs that begin with it."""
        draft = Draft()
        try:
            if len(batch) > 1:
                patience.begin(self._connection)
            else:
                self._execute("BEGIN IMMEDIATE")
            self._catch_up()
            self._draft(batch, draft, driver)
            self._write(draft)
            position = self._position + len(draft.rows)
            placed = self._place(position)
            self._execute("COMMIT")
        except sqlite3.Error as error:
            self._abandon()
            raise faults.of_sqlite(error) from error
        except BaseException:
            self._abandon()
            raise
        self._position = position
        self._placed = placed
        self._heads.update(draft.heads)
        return draft

    @property
    def position(self) -> int:
        """The newest position that is known here; 0 when none is."""
        return max(0, self._position)

    def forget(self, run_id: str) -> None:
        """Keep nothing in memory about a run that this process will not append to soon."""
        self._heads.pop(run_id, None)

    def _draft(self, batch: Sequence[log.Append], draft: Draft, driver: str) -> None:
        """Check each Append and draft its rows; what few bring is written here."""
        heads, known = draft.heads, self._heads
        position = self._position
        for append in batch:
            run_id = append.run_id
            number, seq = heads.get(run_id) or known.get(run_id) or self._head(run_id)
            if append.expected_seq != seq:
                raise log.conflict(append, seq)
            if not number:
                number = self._begin(append, draft, driver)
            elif append.row is not None:
                draft.listings.append((number, *_listing(append.row)))
            if append.lines:
                position += 1
                seq += len(append.lines)
                draft.rows.append((position, number, seq, log.join(append.lines)))
            heads[run_id] = (number, seq)
            if append.blobs:
                draft.blobs.update(append.blobs)  # many runs that begin together bring the same definition
            if append.opened or append.closed or append.consumed or append.cached:
                self._write_beside(append)

    def _begin(self, append: log.Append, draft: Draft, driver: str) -> int:
        """Draft the run that begins with an Append; gives its number, the next one: nobody else writes meanwhile."""
        log.check_run_id(append.run_id)
        if not draft.begun:
            (draft.number,) = self._execute(self._sql["newest_run"]).fetchone()
        draft.number += 1
        row = append.row
        held = row is None or row.ending is None
        listing = _NO_LISTING if row is None else _listing(row)
        draft.begun[append.run_id] = (draft.number, append.run_id, driver, held, *listing)
        return draft.number

    def _write(self, draft: Draft) -> None:
        write = self._connection.executemany
        write(self._sql["begin_run"], draft.begun.values())
        # Of a listing `created_at` is indexed: leaving it alone saves most of the cost.
        if write(self._sql["update_listing"], draft.listings).rowcount < len(draft.listings):
            self._list_one_by_one(draft.listings)
        write(self._insert_lines, draft.rows)
        self._insert_blobs(draft.blobs)

    def _list_one_by_one(self, listings: Sequence[_Values]) -> None:
        """Some runs were there without a listing. The others get theirs once more, which changes nothing."""
        for values in listings:
            if self._execute(self._sql["update_listing"], values).rowcount == 0:
                self._execute(self._sql["add_listing"], values)

    def _write_beside(self, append: log.Append) -> None:
        sql, execute = self._sql, self._execute
        for approval in append.opened:
            document = orjson.dumps(approval.document)
            execute(sql["open_approval"], (approval.approval_id, approval.run_id, approval.node, document))
        for approval_id in append.closed:
            execute(sql["mark_approval"], (approval_id,))
            execute(sql["close_approval"], (approval_id,))
        for command in append.consumed:
            if execute(sql["consume_command"], (command, append.run_id)).rowcount != 1:
                raise log.consumed_before(append, command)
        for key, stored in append.cached.items():
            execute(sql["insert_cached"], (key, orjson.dumps(stored)))

    def _insert_blobs(self, named: Mapping[str, bytes]) -> None:
        for name, data in named.items():
            self._execute(self._sql["insert_blob"], (bytes.fromhex(blobs.digest_of(name)), data))

    def _place(self, position: int) -> int:
        """Note where the newest rows are, once there are enough of them; gives the position up to which it is done."""
        if position - self._placed <= UNPLACED:
            return self._placed
        self._execute(self._sql["place_rows"])
        self._execute(self._sql["move_placed"])
        return position

    def _catch_up(self) -> None:
        """Inside a transaction: drop what others' commits have made wrong."""
        position, self._placed = self._execute(self._sql["last_position"]).fetchone()
        if position == self._position:
            return
        if 0 <= self._position < position <= self._position + NEWS:
            moved = set(self._execute(self._sql["read_moved"], (self._position,)))
            self._heads = {run_id: head for run_id, head in self._heads.items() if (head[0],) not in moved}
        else:
            self._heads.clear()
        self._position = position

    def _head(self, run_id: str) -> _Head:
        """The head of a run of which nothing is known here."""
        found = self._execute(self._sql["find_run"], (run_id,)).fetchone()
        if found is None:
            return _UNKNOWN
        (seq,) = self._execute(self._sql["read_head"], found).fetchone()
        return found[0], seq

    def _abandon(self) -> None:
        """Nothing of the batch is kept, and nothing that is remembered is trusted."""
        self._position = -1
        self._heads.clear()
        if self._connection.in_transaction:
            self._execute("ROLLBACK")


def _is_plain(append: log.Append) -> bool:
    """Whether the Append brings lines, perhaps with blobs, and nothing that a listing or a command would show."""
    return (
        append.row is None
        and bool(append.lines)
        and not (append.opened or append.closed or append.consumed or append.cached)
    )


def _listing(row: log.RunRow) -> _Values:
    return (row.name, row.workflow_hash, row.status, row.ending, row.created_at, row.updated_at, row.parent)
