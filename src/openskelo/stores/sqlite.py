"""The log in one SQLite file, the embedded default: a commit is one sync, made inline on the event loop's thread."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from openskelo import errors
from openskelo.kernel.json import JsonObject
from openskelo.stores import appender, blobs, drivers, faults, log, mirror, patience, presence, pruner, statements, wal

#: So many rows are read at a time.
CHUNK = 512
#: The place in the order of listings that comes before none.
_END = (2**63 - 1, 2**63 - 1)

_Row: TypeAlias = tuple[Any, ...]  # what sqlite3 says of its rows; each is read right where its statement is named


def connect(path: Path) -> sqlite3.Connection:
    """A connection as the store uses it: every commit synced, transactions begun by hand."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=patience.BUSY_SECONDS, cached_statements=64)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # on macOS a plain fsync does not reach the disk
        connection.execute(f"PRAGMA wal_autocheckpoint = {wal.CHECKPOINT_PAGES}")
        connection.execute("PRAGMA cache_size = -16000")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


class SqliteLog:
    """A `Log` in a data dir that is ready (`datadir.open_log` makes it so). Belongs to the thread that opened it."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self._database = data_dir / "log.db"
        self._sql = statements.load()
        self._drivers = drivers.Drivers(data_dir / "drivers")
        self._files = blobs.BlobFiles(data_dir / "blobs")
        self._mirror = mirror.Mirror(data_dir / "runs", self._chunks)
        self._claimed: set[str] = set()
        self._commits = 0
        self._flushing = asyncio.Lock()
        with _faults():
            self._connection = self._connected()
            self._execute = self._connection.execute
            self._version = self._data_version()
        self._presence = presence.Presence(self._database)
        self._appender = appender.Appender(self._connection, self._sql)
        self._pruner = pruner.Pruner(self._connection, self._sql)
        self._repair_mirrors()

    def _connected(self) -> sqlite3.Connection:
        connection = connect(self._database)
        patience.wait(connection, min(patience.AT_ONCE_SECONDS, patience.BUSY_SECONDS))
        return connection

    async def append(self, batch: Sequence[log.Append]) -> None:
        """Commit every Append of the batch at once, durably, or nothing of it (Conflict, StoreFull, StoreError)."""
        try:
            if self._commits in wal.STEPS:
                self._reserve(wal.STEPS[self._commits])
            if len(batch) == 1:
                joined = self._appender.append_lines(batch[0])
                if joined is not None:
                    self._mirror.add(batch[0].run_id, joined, first=False)
                    self._commits += 1
                    return
            draft = self._appender.append_batch(batch, self._drivers.me())
        except errors.StoreError as error:
            if self._presence.lost is not None:
                raise self._presence.lost from error
            if error.code != "STORE_BUSY":
                raise
            await patience.until_free(self._connection)
            await self.append(batch)
            return
        self._claimed |= draft.begun
        texts = draft.texts()
        for append in batch:
            if append.lines:
                self._mirror.add(append.run_id, next(texts), first=append.expected_seq == 0)
            if append.row is not None and append.row.ending is not None:
                self._claimed.discard(append.run_id)
                self._appender.forget(append.run_id)
        self._commits += 1

    def _reserve(self, size: int) -> None:
        """Before a commit and never after one: what fails then must not look like a commit that failed."""
        with _faults():
            wal.reserve(self._connection, self._database, size)
        self._commits += 1

    async def read(self, run_id: str, *, after: int = 0) -> AsyncIterator[Sequence[bytes]]:
        """The run's lines with seq > `after`, in order, in chunks; nothing for an unknown run."""
        for lines in self._chunks(run_id, after=after):
            yield lines

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
                part = joined.split(b"\n")
                lines += part[max(0, after - last + len(part)) :]
                after = last
            if lines:
                yield lines
            if len(rows) < CHUNK:
                return

    def _rows_after(self, run: int, after: int) -> list[_Row]:
        """Both kinds of rows in one snapshot: a row may get its place in between."""
        with self._transaction("BEGIN"):
            rows = self._execute(self._sql["read_placed"], (run, after, CHUNK)).fetchall()
            if len(rows) < CHUNK:
                seq = rows[-1][0] if rows else after
                rows += self._execute(self._sql["read_unplaced"], (run, seq, CHUNK - len(rows))).fetchall()
        return rows

    async def feed(self, *, after: int, limit: int = 256) -> Sequence[log.Added]:
        """What was added to any run after a position, in the order of commits, at most `limit` Appends."""
        return [
            log.Added(position=position, run_id=run_id, seq=last, lines=tuple(joined.split(b"\n")))
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

    async def tally(self) -> log.Tally:
        """Where everything stands, counted now."""
        approvals, since, commands = self._one("tally_waiting") or (0, None, 0)
        runs = {(status, ending): count for status, ending, count in self._all("tally_runs")}
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

    async def post(self, run_id: str, body: JsonObject) -> int:
        """Leave a command for the run's driver, durably; gives its id (NotFound for an unknown run)."""
        await self._free()
        with _faults():
            added = self._execute(self._sql["post_command"], (run_id, orjson.dumps(body)))
        if added.rowcount != 1 or added.lastrowid is None:
            raise errors.NotFound(f"no run {run_id}", code="RUN_NOT_FOUND")
        return added.lastrowid

    async def posted(self, run_ids: Sequence[str] | None) -> Sequence[log.PostedCommand]:
        """Commands waiting for these runs (None: for any), in order of posting, until an Append consumes them."""
        if run_ids is None:
            found = self._all("read_all_commands")
        else:
            found = self._all("read_commands", orjson.dumps(list(run_ids)).decode())
        return [log.PostedCommand(id=number, run_id=run, body=orjson.loads(body)) for number, run, body in found]

    async def changed(self) -> bool:
        """Whether another process has committed anything since the last call (STORE_GONE: nobody can, any more)."""
        if (lost := self._presence.look()) is not None:
            with _faults():
                self._execute("PRAGMA query_only = ON")
            raise lost
        with _faults():
            version = self._data_version()
        before, self._version = self._version, version
        return version != before

    async def claim(self, run_id: str) -> bool:
        """Become the run's driver; False while another living store is. A dead driver's claim is free at once."""
        log.check_run_id(run_id)
        me = self._drivers.me()
        await self._free()
        with self._unsynced():
            found = self._execute(self._sql["read_driver"], (run_id,)).fetchone()
            if found is None:
                self._execute(self._sql["insert_run"], (run_id, me))
            else:
                number, driver, claimed = found
                if claimed and driver != me and self._drivers.alive(driver):
                    return False  # one's own is there when giving it up has failed
                self._execute(self._sql["claim_run"], (number, me))
                if claimed and driver != me:
                    self._owe(run_id)  # its driver was killed, perhaps before it wrote the file
        self._claimed.add(run_id)
        return True

    async def release(self, run_id: str) -> None:
        """Give up this store's claim, if it has one."""
        if run_id not in self._claimed:
            return
        self._claimed.discard(run_id)
        self._appender.forget(run_id)
        try:
            await self.flush()
        finally:
            await self._free()
            with self._unsynced():
                self._execute(self._sql["release_run"], (run_id, self._drivers.me()))

    async def driver_alive(self, run_id: str) -> bool:
        """Whether any living store (this one included) drives the run."""
        found = self._one("read_driver", run_id)
        return found is not None and bool(found[2]) and self._drivers.alive(found[1])

    async def put_blob(self, data: bytes) -> str:
        """Keep a large value, durably before this returns; gives its `sha256:` name."""
        return await asyncio.to_thread(self._files.put, data)

    async def blob(self, name: str) -> bytes:
        """The bytes behind a name, large or small, checked against it (NotFound, Corrupt; InvalidInput for no name)."""
        small = self._one("read_blob", bytes.fromhex(blobs.digest_of(name)))
        if small is not None:
            return blobs.check(name, small[0])
        return await asyncio.to_thread(self._files.get, name)

    async def cached(self, key: str) -> JsonObject | None:
        """The outputs last kept under a cache key."""
        found = self._one("read_cached", key)
        return None if found is None else orjson.loads(found[0])

    async def note(self, key: str, document: JsonObject, *, at: int, first: bool = False) -> bool:
        """Keep a small document under a key, durably; False where `first` was wanted and there is one already."""
        await self._free()
        with _faults():
            statement = self._sql["add_note" if first else "replace_note"]
            return self._execute(statement, (key, at, orjson.dumps(document))).rowcount == 1

    async def noted(self, key: str) -> JsonObject | None:
        """The document under a key."""
        found = self._one("read_note", key)
        return None if found is None else orjson.loads(found[0])

    async def notes(self, prefix: str) -> Mapping[str, JsonObject]:
        """The documents whose key begins so, by key and in that order."""
        return {key: orjson.loads(text) for key, text in self._all("read_notes", prefix, f"{prefix}\U0010ffff")}

    async def drop_notes(self, prefix: str, *, before: int) -> int:
        """Remove the documents whose key begins so and which were kept before a time; gives how many."""
        await self._free()
        with _faults():
            return self._execute(self._sql["drop_notes"], (prefix, f"{prefix}\U0010ffff", before)).rowcount

    async def rewrite(self, run_id: str, shorten: Callable[[bytes], bytes]) -> None:
        """Put `shorten(line)` in the place of every line of a run that has ended, its `events.jsonl` included."""
        found = self._one("find_run", run_id)
        if found is None:
            return
        self._owe(run_id)
        with _faults():
            await self._pruner.rewrite(found[0], shorten)
        async with self._flushing:
            self._mirror.repair(run_id)
            self._mirror.sync(run_id)

    async def erase(self, run_id: str) -> None:
        """Remove a run that has ended, and everything kept under its id; its blobs wait for `sweep`."""
        found = self._one("find_run", run_id)
        if found is not None:
            with _faults():
                self._pruner.erase(found[0], run_id)
            self._claimed.discard(run_id)
            self._appender.forget(run_id)
        async with self._flushing:
            self._mirror.erase(run_id)

    async def sweep(self, *, forget: Collection[str] = ()) -> log.Swept:
        """Remove the blobs that nothing refers to, and what the runs of `forget` left for others to use again."""
        with _faults():
            used, small = await self._pruner.sweep(forget)
        large = await asyncio.to_thread(self._files.sweep, used)
        async with self._flushing:
            for run_id in self._mirror.run_ids():
                if self._one("find_run", run_id) is None:
                    self._mirror.erase(run_id)  # a crash came between its rows and its file
        with _faults():
            self._pruner.settle()
        return log.Swept(blobs=small.blobs + large.blobs, bytes=small.bytes + large.bytes)

    async def compact(self) -> None:
        """Give the room that was freed back to the disk."""
        with _faults():
            self._pruner.compact()

    async def flush(self) -> None:
        """Bring the `events.jsonl` files up to date (StoreFull, StoreError: they stay behind, the log does not)."""
        async with self._flushing:
            reached = self._appender.position
            await self._mirror.flush(keep=self._claimed)
            if not self._mirror.owing:
                self._drivers.note(reached)

    def _owe(self, run_id: str) -> None:
        """Expect the run's file to be behind the log, whoever comes next included."""
        self._drivers.note(0)
        self._mirror.owe(run_id)

    def repair(self, run_id: str) -> None:
        """Make the run's `events.jsonl` exactly the log's lines."""
        self._mirror.repair(run_id)

    async def close(self) -> None:
        """Flush, give up all claims, and let go of everything; the store is of no use afterwards."""
        flushed = False
        try:
            if self._presence.lost is None:
                await self.flush()
                flushed = True
            if flushed and self._claimed:
                await self._free()
                with self._unsynced():
                    me = self._drivers.me()
                    self._connection.executemany(self._sql["release_run"], [(run, me) for run in self._claimed])
        finally:
            self._claimed.clear()
            self._connection.close()
            self._drivers.leave(owing=not flushed)

    def _repair_mirrors(self) -> None:
        """Drivers that were killed may have left their runs' files behind the log.

        A file that cannot be written now is no reason not to open the log: whoever opens it next tries again.
        """
        for driver in self._drivers.dead():
            try:
                for (run_id,) in self._all("runs_of_driver", driver, self._drivers.noted(driver)):
                    self._mirror.repair(run_id)
            except errors.StoreError:
                continue
            self._drivers.bury(driver)

    async def _free(self) -> None:
        """Wait until nobody else holds the log (StoreError STORE_BUSY); the loop does not stand still meanwhile."""
        if self._presence.lost is not None:
            raise self._presence.lost
        await patience.until_free(self._connection)

    @contextlib.contextmanager
    def _unsynced(self) -> Generator[None]:
        """A transaction that need not survive a power loss: claims do not matter after one."""
        with _faults():
            self._execute("PRAGMA synchronous = NORMAL")
            try:
                with self._transaction("BEGIN IMMEDIATE"):
                    yield
            finally:
                self._execute("PRAGMA synchronous = FULL")

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Generator[None]:
        with _faults():
            self._execute(begin)
            try:
                yield
                self._execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._execute("ROLLBACK")

    def _data_version(self) -> int:
        return self._execute(self._sql["data_version"]).fetchone()[0]

    def _one(self, name: str, *values: object) -> _Row | None:
        with _faults():
            return self._execute(self._sql[name], values).fetchone()

    def _all(self, name: str, *values: object) -> list[_Row]:
        with _faults():
            return self._execute(self._sql[name], values).fetchall()


@contextlib.contextmanager
def _faults() -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise faults.of_sqlite(error) from error
    except UnicodeEncodeError as error:
        raise errors.InvalidInput("a text with half a character in it", code="TEXT_INVALID") from error
    except OverflowError as error:
        raise errors.InvalidInput("a number beyond 2^63", code="NUMBER_RANGE") from error


def _run_row(found: _Row) -> log.RunRow:
    run_id, name, workflow_hash, status, ending, created_at, updated_at, parent = found
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
