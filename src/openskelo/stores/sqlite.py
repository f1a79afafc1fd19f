"""The log in one SQLite file, the embedded default: a commit is one sync, made inline on the event loop's thread.

`tables` has the half of it that only reads, `appender` and `pruner` what writes and takes out lines.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from pathlib import Path

import orjson

from openskelo import errors
from openskelo.kernel.json import JsonObject
from openskelo.stores import (
    appender,
    backfill,
    blobs,
    connecting,
    drivers,
    faults,
    log,
    mirror,
    patience,
    presence,
    pruner,
    tables,
    wal,
)


class SqliteLog(tables.Tables):
    """A `Log` in a data dir that is ready (`datadir.open_log` makes it so). Belongs to the thread that opened it."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self._database = data_dir / "log.db"
        self._drivers = drivers.Drivers(data_dir / "drivers")
        self._files = blobs.BlobFiles(data_dir / "blobs")
        self._mirror = mirror.Mirror(data_dir / "runs", self._chunks)
        self._claimed: set[str] = set()
        self._commits = 0
        self._flushing = asyncio.Lock()
        with faults.translated():
            super().__init__(self._connected())
            self._version = self._data_version()
        self._presence = presence.Presence(self._database)
        self._appender = appender.Appender(self._connection, self._sql)
        self._backfill = backfill.Backfill(self._connection, self._database)
        self._pruner = pruner.Pruner(self._connection, self._sql)
        self._repair_mirrors()

    def _connected(self) -> sqlite3.Connection:
        connection = connecting.connect(self._database)
        patience.wait(connection, min(patience.AT_ONCE_SECONDS, patience.BUSY_SECONDS))
        return connection

    async def append(self, batch: Sequence[log.Append]) -> None:
        """Commit every Append of the batch at once, durably, or nothing of it (Conflict, StoreFull, StoreError)."""
        if self._mirror.bytes >= mirror.ALL_BYTES:
            with contextlib.suppress(errors.StoreError):  # the log has every line, and a later flush says what is wrong
                await self.flush()
        try:
            if self._commits in wal.STEPS:
                self._reserve(wal.STEPS[self._commits])
            if len(batch) == 1:
                joined = self._appender.append_lines(batch[0])
                if joined is not None:
                    self._mirror.add(batch[0].run_id, joined, first=False)
                    self._commits += 1
                    self._backfill.count(len(joined))
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
        self._claimed.update(draft.begun)
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
        with faults.translated():
            wal.reserve(self._connection, self._database, size)
        self._commits += 1

    async def post(self, run_id: str, body: JsonObject) -> int:
        """Leave a command for the run's driver, durably; gives its id (NotFound for an unknown run)."""
        await self._free()
        with faults.translated():
            added = self._execute(self._sql["post_command"], (run_id, orjson.dumps(body)))
        if added.rowcount != 1 or added.lastrowid is None:
            raise errors.NotFound(f"no run {run_id}", code="RUN_NOT_FOUND")
        return added.lastrowid

    async def withdraw(self, command_ids: Sequence[int]) -> None:
        """Take back commands that nobody will consume any more."""
        await self._free()
        with faults.translated(), connecting.transaction(self._connection):
            self._connection.executemany(self._sql["withdraw_command"], [(number,) for number in command_ids])

    async def changed(self) -> bool:
        """Whether another process has committed anything since the last call (STORE_GONE: nobody can, any more)."""
        if (lost := self._presence.look()) is not None:
            with faults.translated():
                self._execute("PRAGMA query_only = ON")
            raise lost
        with faults.translated():
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
            if run_id not in self._claimed:  # nobody here wanted it again meanwhile
                with self._unsynced():
                    self._execute(self._sql["release_run"], (run_id, self._drivers.me()))

    async def driver_alive(self, run_id: str, *, elsewhere: bool = False) -> bool:
        """Whether any living store drives the run: this one included, unless it is asked about those `elsewhere`."""
        found = self._one("read_driver", run_id)
        if found is None or not found[2] or (elsewhere and self._drivers.is_me(found[1])):
            return False
        return self._drivers.alive(found[1])

    async def put_blob(self, data: bytes) -> str:
        """Keep a large value, durably before this returns; gives its `sha256:` name."""
        return await asyncio.to_thread(self._files.put, data)

    async def blob(self, name: str) -> bytes:
        """The bytes behind a name, large or small, checked against it (NotFound, Corrupt; InvalidInput for no name)."""
        small = self._one("read_blob", bytes.fromhex(blobs.digest_of(name)))
        if small is not None:
            return blobs.check(name, small[0])
        return await asyncio.to_thread(self._files.get, name)

    async def note(self, key: str, document: JsonObject, *, at: int, first: bool = False) -> bool:
        """Keep a small document under a key, durably; False where `first` was wanted and there is one already."""
        await self._free()
        with faults.translated():
            statement = self._sql["add_note" if first else "replace_note"]
            return self._execute(statement, (key, at, orjson.dumps(document))).rowcount == 1

    async def note_all(self, documents: Mapping[str, JsonObject], *, at: int) -> None:
        """Keep these documents by key, durably, in one commit."""
        await self._free()
        rows = [(key, at, orjson.dumps(document)) for key, document in documents.items()]
        with faults.translated(), connecting.transaction(self._connection):
            self._connection.executemany(self._sql["replace_note"], rows)

    async def drop_notes(self, prefix: str, *, before: int) -> int:
        """Remove the documents whose key begins so and which were kept before a time; gives how many.

        It needs no sync of its own: whatever is made durable later makes it so, too.
        """
        await self._free()
        with self._unsynced():
            return self._execute(self._sql["drop_notes"], (prefix, f"{prefix}\U0010ffff", before)).rowcount

    async def rewrite(self, run_id: str, shorten: Callable[[bytes], bytes]) -> None:
        """Put `shorten(line)` in the place of every line of a run that has ended, its `events.jsonl` included."""
        found = self._one("find_run", run_id)
        if found is None:
            return
        self._owe(run_id)
        with faults.translated():
            await self._pruner.rewrite(found[0], shorten)
        async with self._flushing:
            self._mirror.repair(run_id)
            self._mirror.sync(run_id)

    async def erase(self, run_id: str) -> None:
        """Remove a run that has ended, and everything kept under its id; its blobs wait for `sweep`."""
        found = self._one("find_run", run_id)
        if found is not None:
            with faults.translated():
                self._pruner.erase(found[0], run_id)
            self._claimed.discard(run_id)
            self._appender.forget(run_id)
        async with self._flushing:
            self._mirror.erase(run_id)

    async def sweep(self, *, forget: Collection[str] = ()) -> log.Swept:
        """Remove the blobs that nothing refers to, and what the runs of `forget` left for others to use again."""
        with faults.translated():
            used, small = await self._pruner.sweep(forget)
        large = await asyncio.to_thread(self._files.sweep, used)
        async with self._flushing:
            folders = self._mirror.run_ids()  # before the runs are read: a folder comes after its run
            for run_id in set(folders).difference(run_id for (run_id,) in self._all("read_run_ids")):
                self._mirror.erase(run_id)  # a crash came between its rows and its file
        with faults.translated():
            self._pruner.settle()
        return log.Swept(blobs=small.blobs + large.blobs, bytes=small.bytes + large.bytes)

    async def compact(self) -> None:
        """Give the room that was freed back to the disk."""
        with faults.translated():
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
            self._backfill.close()
            self._connection.close()
            self._drivers.leave(owing=not flushed)

    def _repair_mirrors(self) -> None:
        """Drivers that were killed may have left their runs' files behind the log.

        A file that cannot be written now is no reason not to open the log: whoever opens it next tries again.
        """
        self._drivers.clear()
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
        """A transaction that need not survive a power loss by itself: claims do not matter after one."""
        with faults.translated():
            self._execute("PRAGMA synchronous = NORMAL")
            try:
                with connecting.transaction(self._connection):
                    yield
            finally:
                self._execute("PRAGMA synchronous = FULL")

    def _data_version(self) -> int:
        return self._execute(self._sql["data_version"]).fetchone()[0]
