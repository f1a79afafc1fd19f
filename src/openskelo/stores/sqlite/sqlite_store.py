"""The store in one SQLite file, the default: `queries` reads, `appender` commits, `pruner` removes.

A commit is one sync of SQLite's write-ahead log. It runs on the event loop's thread: it takes well under a
millisecond, less than handing it to another thread and back.

Beside the database the store keeps, each in its own module:

    event_files            events/*.jsonl, a copy of the log for people and their tools
    stores.process_locks   which process drives which run: a lock file for each store that drives something
    stores.blobs           values that are too large for a row

The event files are written after the commit and may lag. A driver that is killed may leave them behind the log; the
next store that opens the data dir finds its lock file without a lock and brings the event files up to date.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import shutil
import sqlite3
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import orjson

from openskelo import errors, structs
from openskelo.kernel.json import JsonObject
from openskelo.stores import api, blobs, process_locks, storage_errors
from openskelo.stores.sqlite import appender, damaged_wal, event_files, pruner, queries
from openskelo.stores.sqlite import connection as sqlite_connection

T = TypeVar("T")


class SqliteStore(queries.Queries):
    """A `Store` in a data dir that is ready (`data_dir.open_store` prepares it). Belongs to the opening thread."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir: Path | None = data_dir
        self.commit_times = api.Histogram()
        self._database = data_dir / "log.db"
        self._locks = process_locks.ProcessLocks(data_dir / "drivers")
        self._waiting_blobs = blobs.WaitingBlobs()
        self._blob_files = blobs.BlobFiles(data_dir / "blobs")
        self._runs_folder = data_dir / "runs"
        self._event_files = event_files.EventSegments(data_dir / "events", self._read_copy)
        self._files_checked = False  # whether the event files end with a row of the log
        self._files_behind = False  # whether this store has appended what it has not copied
        self._claimed: set[str] = set()
        self._acknowledged_position = 0  # of the last Append that was acknowledged
        self._flush_lock = asyncio.Lock()
        damaged_wal.keep_damaged(self._database)
        with storage_errors.translated():
            super().__init__(self._connect())
            self._version = self._data_version()
        self._file_check = sqlite_connection.FileCheck(self._database)
        self._sync_check = sqlite_connection.SyncCheck(self._database)
        self._confirm_log()
        self._appender = appender.Appender(self._connection, self._sql)
        self._pruner = pruner.Pruner(self._connection, self._sql)
        self._copy_rows_of_dead_drivers()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite_connection.connect(self._database)
        try:
            sqlite_connection.use_wal(connection)
            sqlite_connection.set_busy_timeout(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    # EventLog

    async def append(self, batch: Sequence[api.Append]) -> None:
        """Commit every Append of the batch at once, durably, or nothing of it (Conflict, StoreFull, StoreError)."""
        start_time = time.perf_counter()
        await self._append(batch)
        self.commit_times.observe(time.perf_counter() - start_time)

    async def _append(self, batch: Sequence[api.Append]) -> None:
        if not self._files_checked:
            with contextlib.suppress(errors.StoreError):  # a later flush reports the error
                self._check_event_files(wait=False)
        self._check_writable()
        named_blobs = self._waiting_blobs.named_in(line for append in batch for line in append.lines)
        if named_blobs:
            batch = [structs.replace(batch[0], blobs={**named_blobs, **batch[0].blobs}), *batch[1:]]
        try:
            begun_runs = self._appender.append(batch, self._locks.own_id())
        except errors.StoreError as error:
            self._sync_check.note(error)
            if self._file_check.error is not None:
                raise self._file_check.error from error
            if error.code != "STORE_BUSY":
                raise
            await sqlite_connection.wait_until_free(self._connection)
            await self._append(batch)
            return
        self._waiting_blobs.remove(named_blobs)
        self._acknowledged_position = self._appender.position
        self._claimed.update(begun_runs)
        self._files_behind = True
        for append in batch:
            if not append.claim and append.expected_seq == 0:
                self._forget_claim(append.run_id)
            if append.row is not None and append.row.ending is not None:
                self._forget_claim(append.run_id)

    async def has_changed(self) -> bool:
        """True if another process has committed since the last call (STORE_GONE if the database file is gone)."""
        error = self._file_check.check()
        if error is not None:
            with storage_errors.translated():
                self._connection.execute("PRAGMA query_only = ON")
            raise error
        with storage_errors.translated():
            version = self._data_version()
        before, self._version = self._version, version
        return version != before

    async def close(self) -> None:
        """Flush, release all claims, and close the database; the store cannot be used afterwards."""
        is_flushed = False
        try:
            if self._file_check.error is None:
                if self._files_behind:
                    await self.flush()
                is_flushed = True
            if is_flushed and self._claimed:
                async with self._transaction():
                    values = [(run_id, self._locks.own_id()) for run_id in self._claimed]
                    self._connection.executemany(self._sql["release_run"], values)
        finally:
            self._claimed.clear()
            self._connection.close()
            self._locks.release(keep_file=not is_flushed)

    # EventFiles

    async def flush(self) -> None:
        """Bring the event files up to date with the log (StoreFull, StoreError: they stay behind, the log does not)."""
        async with self._flush_lock:
            await self._in_turn(lambda: self._check_event_files(wait=False))
            while True:
                if not await self._in_turn(lambda: self._event_files.copy_rows(wait=False)):
                    self._files_behind = False  # no other task has had a turn since: nothing was appended meanwhile
                    return
                await asyncio.sleep(0)

    async def _in_turn(self, step: Callable[[], T]) -> T:
        """Return the result of a step, which may have to wait while another process writes the files (StoreError)."""
        deadline = time.monotonic() + sqlite_connection.BUSY_SECONDS
        while True:
            try:
                return step()
            except errors.StoreError as error:
                if error.code != "STORE_BUSY" or time.monotonic() >= deadline:
                    raise
            await asyncio.sleep(sqlite_connection.POLL_SECONDS)

    def _check_event_files(self, *, wait: bool) -> None:
        """Once for each store: finish what a killed `prune` has left, and find rows that the log has lost."""
        if not self._files_checked:
            for _ in self._rewrite_event_files(wait=wait):
                pass
            self._event_files.check_end(wait=wait)
            self._files_checked = True

    async def read_event_files(self, run_id: str) -> Sequence[bytes]:
        """Return the run's lines in the event files, in the order of the files (StoreError)."""
        async with self._flush_lock:
            for _ in self._rewrite_event_files():
                await asyncio.sleep(0)
        row = self._fetch_one("positions_of_run", run_id)
        if row is None or row[0] is None:
            return []
        return list(self._event_files.read_run(run_id, (row[0], row[1])))

    async def repair_event_files(self) -> Sequence[Path]:
        """Make the event files what the log holds; return the files that differed, kept under another name."""
        async with self._flush_lock:
            set_aside_paths: list[Path] = []
            for path in self._event_files.compare_all():
                set_aside_paths.append(path)
                await asyncio.sleep(0)
        await self.flush()
        return set_aside_paths

    async def find_lost_events(self) -> Mapping[str, int]:
        """Return, by run, how many events are in files that were kept and not in the log."""
        async with self._flush_lock:
            with contextlib.suppress(errors.StoreError):  # `read_event_files` and `flush` report the error
                await self._in_turn(lambda: self._check_event_files(wait=False))
            for _ in self._rewrite_event_files():  # lines that a killed `prune` has left are not lost
                await asyncio.sleep(0)
        lost = self._event_files.find_lost(self._lines_by_seq)
        for run_id, seq in damaged_wal.find_newest_events(self._database.parent).items():
            missing = seq - len(self._lines_by_seq(run_id))
            if missing > 0:
                lost[run_id] = max(missing, lost.get(run_id, 0))
        return lost

    # CommandInbox

    async def queue_command(self, run_id: str, body: JsonObject) -> int | None:
        """Queue a command for the run's driver, durably; return its id, None for an unknown run."""
        text = orjson.dumps(body)
        async with self._transaction(naming=[text]):
            insertion = self._connection.execute(self._sql["queue_command"], (run_id, text))
        if insertion.rowcount == 1:
            return insertion.lastrowid
        return None

    async def withdraw_commands(self, command_ids: Sequence[int]) -> None:
        """Remove queued commands that no driver will consume any more."""
        async with self._transaction():
            values = [(command_id,) for command_id in command_ids]
            self._connection.executemany(self._sql["withdraw_command"], values)

    # Claims

    async def claim_run(self, run_id: str) -> bool:
        """Become the run's driver; False while another living store is. A dead driver's claim is free at once."""
        api.check_run_id(run_id)
        driver_id = self._locks.own_id()
        async with self._transaction():
            row = self._connection.execute(self._sql["read_driver"], (run_id,)).fetchone()
            if row is None:
                self._connection.execute(self._sql["insert_run"], (run_id, driver_id))
            else:
                number, holder, is_claimed = row
                if is_claimed and holder != driver_id and self._locks.is_alive(holder):
                    return False
                self._connection.execute(self._sql["claim_run"], (number, driver_id))
        self._claimed.add(run_id)
        return True

    async def release_run(self, run_id: str) -> None:
        """Give up this store's claim, if it has one."""
        if run_id not in self._claimed:
            return
        self._forget_claim(run_id)
        try:
            async with self._transaction():
                if run_id not in self._claimed:  # it may have been claimed again meanwhile
                    self._connection.execute(self._sql["release_run"], (run_id, self._locks.own_id()))
        except BaseException:
            self._claimed.add(run_id)  # the claim stands, and may be given up later
            raise

    async def is_driver_alive(self, run_id: str, *, elsewhere: bool = False) -> bool:
        """True if a living store drives the run; with `elsewhere`, only if it is another one than this."""
        row = self._fetch_one("read_driver", run_id)
        if row is None:
            return False
        _, driver_id, is_claimed = row
        if not is_claimed or (elsewhere and self._locks.is_own(driver_id)):
            return False
        return self._locks.is_alive(driver_id)

    def _forget_claim(self, run_id: str) -> None:
        self._claimed.discard(run_id)
        self._appender.forget(run_id)

    # Blobs

    async def put_blob(self, data: bytes, name: str | None = None) -> str:
        """Keep a large value; return its `sha256:` name. It is durable with the first commit that names it."""
        if len(data) > blobs.COMMITTED_BYTES:
            return await asyncio.to_thread(self._blob_files.put, data, name)
        name = self._waiting_blobs.add(data, name)
        while (oldest := self._waiting_blobs.oldest()) is not None:
            await asyncio.to_thread(self._blob_files.put, oldest[1], oldest[0])
            self._waiting_blobs.remove([oldest[0]])
        return name

    async def read_blob(self, name: str) -> bytes:
        """Return the bytes behind a name. Raise NotFound, Corrupt if they differ, InvalidInput for a malformed name."""
        waiting = self._waiting_blobs.get(name)
        if waiting is not None:
            return waiting
        row = self._fetch_one("read_blob", bytes.fromhex(blobs.digest_of(name)))
        if row is not None:
            return blobs.check(name, row[0])
        return await asyncio.to_thread(self._blob_files.get, name)

    def locate_blob(self, name: str) -> str | None:
        """Return the absolute path of a file with the bytes, written now if they are only in the database."""
        row = self._fetch_one("read_blob", bytes.fromhex(blobs.digest_of(name)))
        return self._blob_files.locate(name, self._waiting_blobs.get(name) if row is None else row[0])

    # Notes

    async def save_note(self, key: str, document: JsonObject, *, at: int, first: bool = False) -> bool:
        """Store a small document under a key, durably; with `first`, return False if the key has one already."""
        statement = self._sql["add_note" if first else "replace_note"]
        text = orjson.dumps(document)
        async with self._transaction(naming=[text]):
            return self._connection.execute(statement, (key, at, text)).rowcount == 1

    async def save_notes(self, documents: Mapping[str, JsonObject], *, at: int) -> None:
        """Store documents by key, durably, in one commit."""
        rows = [(key, at, orjson.dumps(document)) for key, document in documents.items()]
        async with self._transaction(naming=[text for *_, text in rows]):
            self._connection.executemany(self._sql["replace_note"], rows)

    async def delete_notes(self, prefix: str, *, before: int) -> int:
        """Delete the documents whose key starts with the prefix, saved before a time; return how many."""
        async with self._transaction():
            values = (prefix, f"{prefix}\U0010ffff", before)
            return self._connection.execute(self._sql["delete_notes"], values).rowcount

    # Retention

    async def rewrite_events(self, run_id: str, shorten: Callable[[bytes], bytes]) -> None:
        """Replace every line of an ended run by `shorten(line)`. The event files follow with the next sweep."""
        row = self._fetch_one("find_run", run_id)
        if row is not None:
            self._check_writable()
            with self._writing():
                await self._pruner.rewrite(row[0], run_id, shorten)

    async def delete_run(self, run_id: str) -> None:
        """Delete an ended run and everything stored under its id. Event files and blobs follow with the next sweep."""
        row = self._fetch_one("find_run", run_id)
        if row is not None:
            self._check_writable()
            with self._writing():
                self._pruner.delete_run(row[0], run_id)
            self._forget_claim(run_id)

    async def sweep_blobs(self, *, forget: Collection[str] = ()) -> api.SweepResult:
        """Delete the blobs that nothing refers to, the cached outputs of the runs in `forget`, and pruned lines."""
        self._check_writable()
        async with self._flush_lock:
            for _ in self._rewrite_event_files():
                await asyncio.sleep(0)
        # Events that the log has lost are evidence only with the values that they name.
        texts = (self._event_files.lost_lines(self._lines_by_seq), damaged_wal.read_kept(self._database.parent))
        lost_digests = blobs.find_digests(itertools.chain.from_iterable(texts))
        with self._writing():
            used_digests, small = await self._pruner.sweep_blobs(forget, lost_digests)
        self._waiting_blobs.forget_recent()
        large = await asyncio.to_thread(self._blob_files.sweep, used_digests)
        with self._writing():
            self._pruner.checkpoint()
        return api.SweepResult(blobs=small.blobs + large.blobs, bytes=small.bytes + large.bytes)

    def _rewrite_event_files(self, *, wait: bool = True) -> Iterator[None]:
        """Take what was pruned from the log out of the event files, and delete the folders of deleted runs."""
        with storage_errors.translated():
            pruned_run_ids = self._pruner.pruned_runs()
        if not pruned_run_ids:
            return
        yield from self._event_files.rewrite_runs(pruned_run_ids, self._lines_by_seq, wait=wait)
        for run_id in pruned_run_ids:
            if self._fetch_one("find_run", run_id) is None:
                _delete_folder(self._runs_folder / run_id)
        with self._writing():
            self._pruner.forget_pruned(pruned_run_ids)

    async def compact(self) -> None:
        """Return the space that was freed to the file system."""
        self._check_writable()
        with self._writing():
            self._pruner.compact()

    # Shared by the above

    def _copy_rows_of_dead_drivers(self) -> None:
        """Copy to the event files what killed drivers have committed.

        Files that cannot be written now do not keep the store from opening: the next store tries again.
        """
        self._locks.delete_unlocked_drafts()
        dead_drivers = self._locks.dead_ids()
        if not dead_drivers:
            return
        with contextlib.suppress(errors.StoreError):
            self._check_event_files(wait=True)
            self._event_files.compare_newest()
            while self._event_files.copy_rows(wait=True):
                pass
            for driver_id in dead_drivers:
                self._locks.delete(driver_id)

    def _read_copy(self, after: int, limit: int) -> Sequence[tuple[int, bytes | None]]:
        return self._fetch_all("read_copy", after, limit)

    def _lines_by_seq(self, run_id: str) -> Mapping[int, bytes]:
        return dict(enumerate(itertools.chain.from_iterable(self._read_chunks(run_id)), 1))

    def _confirm_log(self) -> None:
        """Write the log anew if a sync has failed in an earlier process: its last commits may not be on the disk."""
        if self._sync_check.error is None:
            return
        try:
            sqlite_connection.write_anew(self._connection)
        except errors.StoreError:
            self._connection.close()
            raise
        self._sync_check.clear()

    def _check_writable(self) -> None:
        """Raise StoreError if the database file is gone, or the disk still refuses what it refused to sync before."""
        if self._file_check.error is not None:
            raise self._file_check.error
        if self._sync_check.error is not None:
            self._reopen()

    def _reopen(self) -> None:
        """Go on over a new connection after a failed sync, once the log is written anew and complete (StoreError)."""
        with storage_errors.translated():
            connection = self._connect()
        try:
            sqlite_connection.write_anew(connection)
            self._check_complete(connection)
        except BaseException:
            connection.close()
            raise
        before, self._connection = self._connection, connection
        before.close()
        self._version = -1  # other processes may have committed meanwhile
        self._appender = appender.Appender(connection, self._sql)
        self._pruner = pruner.Pruner(connection, self._sql)
        self._sync_check.clear()

    def _check_complete(self, connection: sqlite3.Connection) -> None:
        """Raise Corrupt if the log lacks an Append that this store has acknowledged."""
        (position,) = connection.execute(self._sql["newest_position"]).fetchone()
        if position < self._acknowledged_position:
            raise errors.Corrupt(
                f"the log ends at position {position}, but it had position {self._acknowledged_position} before",
                hint="restore the data dir from a copy",
            )

    @contextlib.contextmanager
    def _writing(self) -> Generator[None]:
        """Raise a StoreError for what SQLite raises inside, and remember a sync that failed."""
        try:
            with storage_errors.translated():
                yield
        except errors.StoreError as error:
            self._sync_check.note(error)
            raise

    @contextlib.asynccontextmanager
    async def _transaction(self, naming: Sequence[bytes] = ()) -> AsyncGenerator[None]:
        """Commit what is done inside, durably, or nothing of it; do not await inside (StoreError STORE_BUSY).

        The blobs that the texts in `naming` name, and which still wait, are committed with it.
        """
        self._check_writable()
        await sqlite_connection.begin(self._connection)
        with self._writing():
            try:
                named_blobs = self._waiting_blobs.named_in(naming)
                self._appender.insert_blobs(named_blobs)
                yield
                self._connection.execute("COMMIT")
                self._waiting_blobs.remove(named_blobs)
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def _data_version(self) -> int:
        return self._connection.execute(self._sql["data_version"]).fetchone()[0]


def _delete_folder(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_errors.from_os(error, "for the folder of a run") from error


class ReadonlySqliteStore(SqliteStore):
    """The store of a data dir that this process cannot write, such as an archive: writing raises STORE_READONLY."""

    def __init__(self, data_dir: Path) -> None:
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        super().__init__(data_dir)

    async def close(self) -> None:
        """Close the database and delete the temporary copy, if there is one."""
        try:
            await super().close()
        finally:
            if self._copy is not None:
                self._copy.cleanup()

    def _connect(self) -> sqlite3.Connection:
        """Connect beside a possible writer; else to the file as it is, or to a copy of it and its write-ahead log."""
        try:
            return sqlite_connection.connect_read_only(self._database, "mode=ro")
        except sqlite3.Error:
            wal = self._database.with_name(f"{self._database.name}-wal")
            with contextlib.suppress(FileNotFoundError):
                if wal.stat().st_size > 0:
                    return sqlite_connection.connect_read_only(self._copy_database(wal), "mode=rw")
            return sqlite_connection.connect_read_only(self._database, "immutable=1")

    def _copy_database(self, wal: Path) -> Path:
        """Copy the database: SQLite can only read a write-ahead log where it may write."""
        self._copy = tempfile.TemporaryDirectory(prefix="skelo-")
        folder = Path(self._copy.name)
        try:
            for path in (self._database, wal):
                shutil.copyfile(path, folder / path.name)
        except OSError as error:
            raise storage_errors.from_os(error, "copying the log to read it") from error
        return folder / self._database.name

    def _confirm_log(self) -> None:
        """Do nothing: that is for a store that may write."""

    async def flush(self) -> None:
        """Do nothing: that is for a store that may write."""

    async def repair_event_files(self) -> Sequence[Path]:
        """Do nothing: that is for a store that may write."""
        return ()

    def _copy_rows_of_dead_drivers(self) -> None:
        """Do nothing: that is for a store that may write."""

    def _check_event_files(self, *, wait: bool) -> None:
        """Do nothing: that is for a store that may write."""

    def _rewrite_event_files(self, *, wait: bool = True) -> Iterator[None]:  # noqa: ARG002 -- it does not wait
        """Do nothing: that is for a store that may write."""
        return iter(())
