"""The store in memory, for tests and for measuring everything but the disk. Its data ends with the process.

Several `MemoryStore`s may share one `MemoryData`, as several processes share a data dir: each has its own claims and
sees the commits of the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from pathlib import Path

import orjson

from openskelo.kernel.json import JsonObject
from openskelo.stores import api, blobs
from openskelo.structs import field, mutable, replace

#: How many lines a reader gets at a time.
LINES_PER_CHUNK = 1024


@mutable
class MemoryData:
    """The data of one or more stores: what a data dir is to the SQLite store."""

    lines: dict[str, list[bytes]] = field(default_factory=dict[str, list[bytes]])
    #: One entry for each Append: run id, seq before, seq after. A deleted run leaves entries without an id.
    feed: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    rows: dict[str, api.RunRow] = field(default_factory=dict[str, api.RunRow])
    approvals: dict[str, api.ApprovalRow] = field(default_factory=dict[str, api.ApprovalRow])
    approval_numbers: dict[str, int] = field(default_factory=dict[str, int])
    closed_approvals: dict[str, str] = field(default_factory=dict[str, str])
    commands: dict[int, api.QueuedCommand] = field(default_factory=dict[int, api.QueuedCommand])
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])
    cache: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    notes: dict[str, tuple[int, JsonObject]] = field(default_factory=dict[str, tuple[int, JsonObject]])
    drivers: dict[str, MemoryStore] = field(default_factory=dict[str, "MemoryStore"])
    last_command: int = 0
    commits: int = 0


class MemoryStore:
    """A `Store` over a `MemoryData`, its own unless one is given. It has no files and measures no commits."""

    commit_times: api.Histogram | None = None
    data_dir: Path | None = None

    def __init__(self, data: MemoryData | None = None) -> None:
        self._data = MemoryData() if data is None else data
        self._seen_commits = self._data.commits

    async def append(self, batch: Sequence[api.Append]) -> None:
        """Apply every Append of the batch or none of them (Conflict)."""
        self._check(batch)
        for append in batch:
            self._apply(append)
        self._count_commit()

    def _check(self, batch: Sequence[api.Append]) -> None:
        heads: dict[str, int] = {}
        command_ids: set[int] = set()
        for append in batch:
            api.check_run_id(append.run_id)
            api.join_lines(append.lines)
            seq = heads.get(append.run_id, len(self._data.lines.get(append.run_id, ())))
            if append.expected_seq != seq:
                raise api.append_conflict(append, seq)
            heads[append.run_id] = seq + len(append.lines)
            for name in append.blobs:
                blobs.digest_of(name)
            for command_id in append.consumed:
                command = self._data.commands.get(command_id)
                if command is None or command.run_id != append.run_id or command_id in command_ids:
                    raise api.command_conflict(append, command_id)
                command_ids.add(command_id)

    def _apply(self, append: api.Append) -> None:
        data = self._data
        if append.run_id not in data.lines and append.claim:
            data.drivers[append.run_id] = self
        lines = data.lines.setdefault(append.run_id, [])
        lines += append.lines
        if append.lines:
            data.feed.append((append.run_id, append.expected_seq, len(lines)))
        if append.row is not None:
            self._save_row(append.row)
        for approval in append.opened:
            data.approvals[approval.approval_id] = approval
            data.approval_numbers.setdefault(approval.approval_id, len(data.approval_numbers) + 1)
        for approval_id in append.closed:
            closed_row = data.approvals.pop(approval_id, None)
            if closed_row is not None:
                data.closed_approvals[approval_id] = closed_row.run_id
        for command_id in append.consumed:
            del data.commands[command_id]
        data.blobs.update(append.blobs)
        data.cache.update(append.cached)

    def _save_row(self, row: api.RunRow) -> None:
        before = self._data.rows.get(row.run_id)
        if before is not None:
            row = replace(row, created_at=before.created_at)
        self._data.rows[row.run_id] = row
        if row.ending is not None:
            self._data.drivers.pop(row.run_id, None)

    def _count_commit(self) -> None:
        """Count a commit. A store's own commits are no change to itself; unseen ones of other stores remain so."""
        data = self._data
        if self._seen_commits == data.commits:
            self._seen_commits += 1
        data.commits += 1

    async def read_events(self, run_id: str, *, after: int = 0) -> AsyncIterator[Sequence[bytes]]:
        """Yield the run's lines with seq > `after`, in order, in chunks; nothing for an unknown run."""
        lines = self._data.lines.get(run_id, [])
        end = len(lines)
        for at in range(after, end, LINES_PER_CHUNK):
            yield lines[at : min(at + LINES_PER_CHUNK, end)]

    async def read_feed(self, *, after: int, limit: int = 256) -> Sequence[api.FeedEntry]:
        """Return what was appended to any run after a position, in the order of commits, at most `limit` Appends."""
        entries: list[api.FeedEntry] = []
        for position, (run_id, start, end) in enumerate(self._data.feed[after:], start=after + 1):
            if len(entries) == limit:
                break
            if run_id:
                lines = tuple(self._data.lines[run_id][start:end])
                entries.append(api.FeedEntry(position=position, run_id=run_id, seq=end, lines=lines))
        return entries

    async def last_position(self) -> int:
        """Return the newest position, 0 when nothing was ever appended."""
        return len(self._data.feed)

    async def find_run(self, run_id: str) -> api.RunRow | None:
        """Return a run's row; None for a run that is unknown or not listed yet."""
        return self._data.rows.get(run_id)

    async def list_runs(
        self,
        *,
        limit: int = 100,
        offset: int = 0,
        status: str | None = None,
        text: str | None = None,
        before: str | None = None,
    ) -> Sequence[api.RunRow]:
        """Return rows, newest `created_at` first; among equals the run that began last comes first."""
        rows = [self._data.rows[run_id] for run_id in reversed(self._data.lines) if run_id in self._data.rows]
        rows.sort(key=lambda row: -row.created_at)
        if before is not None:
            start = next((number for number, row in enumerate(rows, 1) if row.run_id == before), len(rows))
            rows = rows[start:]
        if status is not None:
            rows = [row for row in rows if row.status == status]
        if text is not None:
            folded_text = api.fold_case(text)
            rows = [row for row in rows if folded_text in api.fold_case(row.name) or folded_text in row.run_id]
        return rows[offset : offset + limit]

    async def list_runs_by_prefix(self, prefix: str) -> Sequence[api.RunRow]:
        """Return the rows of the runs whose id starts with the prefix, newest first."""
        return [row for row in await self.list_runs(limit=len(self._data.rows)) if row.run_id.startswith(prefix)]

    async def count_totals(self) -> api.Totals:
        """Return totals over all runs, as of now."""
        data = self._data
        waiting_runs = {approval.run_id for approval in data.approvals.values()}
        since = [row.updated_at for row in data.rows.values() if row.run_id in waiting_runs]
        return api.Totals(
            runs=Counter((row.status, row.ending) for row in data.rows.values()),
            approvals=len(data.approvals),
            waiting_since=min(since, default=None),
            commands=len(data.commands),
        )

    async def list_approvals(
        self, run_id: str | None = None, *, limit: int | None = None, after: str | None = None
    ) -> Sequence[api.ApprovalRow]:
        """Return open approvals, of one run or of all, in the order in which they were opened, at most `limit`."""
        data = self._data
        numbers = data.approval_numbers
        last = 0 if after is None else numbers.get(after, len(numbers))
        approvals = [approval for approval in data.approvals.values() if numbers[approval.approval_id] > last]
        if run_id is not None:
            approvals = [approval for approval in approvals if approval.run_id == run_id]
        return approvals[:limit]

    async def find_approval(self, approval_id: str) -> api.ApprovalRow | None:
        """Return an approval while it is open, else None."""
        return self._data.approvals.get(approval_id)

    async def find_approval_run(self, approval_id: str) -> str | None:
        """Return the id of the run that asks or asked for an approval; None for an unknown approval."""
        approval = self._data.approvals.get(approval_id)
        if approval is None:
            return self._data.closed_approvals.get(approval_id)
        return approval.run_id

    async def list_closed_approvals(self, *, limit: int, before: str | None = None) -> Sequence[tuple[str, str]]:
        """Return (approval id, run id) of answered and withdrawn approvals, the one opened last first."""
        numbers = self._data.approval_numbers
        first = len(numbers) + 1 if before is None else numbers.get(before, 0)
        closed_rows = [(key, run_id) for key, run_id in self._data.closed_approvals.items() if numbers[key] < first]
        return sorted(closed_rows, key=lambda item: -numbers[item[0]])[:limit]

    async def queue_command(self, run_id: str, body: JsonObject) -> int | None:
        """Queue a command for the run's driver, durably; return its id, None for an unknown run."""
        if run_id not in self._data.lines:
            return None
        self._data.last_command += 1
        command = api.QueuedCommand(id=self._data.last_command, run_id=run_id, body=body)
        self._data.commands[command.id] = command
        self._count_commit()
        return command.id

    async def list_commands(self, run_ids: Sequence[str] | None) -> Sequence[api.QueuedCommand]:
        """Return the commands queued for these runs (None: for any), in the order in which they were queued."""
        commands = self._data.commands.values()
        if run_ids is None:
            return list(commands)
        wanted_ids = frozenset(run_ids)
        return [command for command in commands if command.run_id in wanted_ids]

    async def is_command_queued(self, command_id: int) -> bool:
        """True if a command has neither been consumed nor withdrawn."""
        return command_id in self._data.commands

    async def withdraw_commands(self, command_ids: Sequence[int]) -> None:
        """Remove queued commands that no driver will consume any more."""
        for command_id in command_ids:
            self._data.commands.pop(command_id, None)
        self._count_commit()

    async def has_changed(self) -> bool:
        """True if another `MemoryStore` over the same data has committed anything since the last call."""
        before, self._seen_commits = self._seen_commits, self._data.commits
        return before != self._seen_commits

    async def claim_run(self, run_id: str) -> bool:
        """Become the run's driver; False while another `MemoryStore` is, until that one is closed."""
        api.check_run_id(run_id)
        self._data.lines.setdefault(run_id, [])
        return self._data.drivers.setdefault(run_id, self) is self

    async def release_run(self, run_id: str) -> None:
        """Give up this store's claim, if it has one."""
        if self._data.drivers.get(run_id) is self:
            del self._data.drivers[run_id]

    async def is_driver_alive(self, run_id: str, *, elsewhere: bool = False) -> bool:
        """True if a living store drives the run; with `elsewhere`, only if it is another one than this."""
        driver = self._data.drivers.get(run_id)
        return driver is not None and not (elsewhere and driver is self)

    async def put_blob(self, data: bytes, name: str | None = None) -> str:
        """Store a large value, durably; return its `sha256:` name."""
        name = name or blobs.name_of(data)
        self._data.blobs[name] = data
        return name

    def locate_blob(self, name: str) -> str | None:
        """Return None: this store has no files."""
        del name
        return None

    async def read_blob(self, name: str) -> bytes:
        """Return the bytes behind a name. Raise NotFound, Corrupt if they differ, InvalidInput for a malformed name."""
        blobs.digest_of(name)
        data = self._data.blobs.get(name)
        if data is None:
            raise blobs.blob_not_found(name)
        return blobs.check(name, data)

    async def read_cached_outputs(self, key: str) -> JsonObject | None:
        """Return the outputs last stored under a cache key."""
        return self._data.cache.get(key)

    async def save_note(self, key: str, document: JsonObject, *, at: int, first: bool = False) -> bool:
        """Store a small document under a key, durably; with `first`, return False if the key has one already."""
        if first and key in self._data.notes:
            return False
        self._data.notes[key] = (at, document)
        self._count_commit()
        return True

    async def save_notes(self, documents: Mapping[str, JsonObject], *, at: int) -> None:
        """Store documents by key, durably, in one commit."""
        self._data.notes.update({key: (at, document) for key, document in documents.items()})
        self._count_commit()

    async def read_note(self, key: str) -> JsonObject | None:
        """Return the document under a key, or None."""
        note = self._data.notes.get(key)
        return None if note is None else note[1]

    async def list_notes(self, prefix: str) -> Mapping[str, JsonObject]:
        """Return the documents whose key starts with the prefix, by key and in that order."""
        return {key: note for key, (_, note) in sorted(self._data.notes.items()) if key.startswith(prefix)}

    async def delete_notes(self, prefix: str, *, before: int) -> int:
        """Delete the documents whose key starts with the prefix, saved before a time; return how many."""
        old = [key for key, (at, _) in self._data.notes.items() if key.startswith(prefix) and at < before]
        for key in old:
            del self._data.notes[key]
        return len(old)

    async def rewrite_events(self, run_id: str, shorten: Callable[[bytes], bytes]) -> None:
        """Replace every line of an ended run by `shorten(line)`, also in copies of the log."""
        lines = self._data.lines.get(run_id, [])
        lines[:] = [shorten(line) for line in lines]
        self._count_commit()

    async def delete_run(self, run_id: str) -> None:
        """Delete an ended run and everything stored under its id; `sweep_blobs` deletes its blobs."""
        data = self._data
        for table in (data.lines, data.rows, data.drivers):
            table.pop(run_id, None)
        data.feed[:] = [("", 0, 0) if entry[0] == run_id else entry for entry in data.feed]
        data.approvals = {key: row for key, row in data.approvals.items() if row.run_id != run_id}
        data.closed_approvals = {key: run for key, run in data.closed_approvals.items() if run != run_id}
        data.commands = {key: command for key, command in data.commands.items() if command.run_id != run_id}
        self._count_commit()

    async def sweep_blobs(self, *, forget: Collection[str] = ()) -> api.SweepResult:
        """Delete the blobs that nothing refers to, and the cached outputs of the runs in `forget`."""
        data = self._data
        texts = [line for lines in data.lines.values() for line in lines]
        documents = [
            *(approval.document for approval in data.approvals.values()),
            *(command.body for command in data.commands.values()),
            *data.cache.values(),
            *(note for _, note in data.notes.values()),
        ]
        texts += [orjson.dumps(document) for document in documents]
        data.cache = {key: entry for key, entry in data.cache.items() if not _is_from(entry, forget)}
        used_digests = blobs.find_digests(texts)
        unused_blobs = {name: blob for name, blob in data.blobs.items() if blobs.digest_of(name) not in used_digests}
        data.blobs = {name: blob for name, blob in data.blobs.items() if name not in unused_blobs}
        self._count_commit()
        return api.SweepResult(blobs=len(unused_blobs), bytes=sum(map(len, unused_blobs.values())))

    async def compact(self) -> None:
        """Do nothing: freed memory is free."""

    async def flush(self) -> None:
        """Do nothing: there are no files."""

    async def read_event_files(self, run_id: str) -> Sequence[bytes]:
        """Return the run's lines: there are no files that could differ."""
        return list(self._data.lines.get(run_id, ()))

    async def repair_event_files(self) -> Sequence[Path]:
        """Do nothing: there are no files."""
        return ()

    async def find_lost_events(self) -> Mapping[str, int]:
        """Return nothing: there are no files."""
        return {}

    async def close(self) -> None:
        """Release all claims; the data stays for other `MemoryStore`s over it."""
        for run_id in [run_id for run_id, driver in self._data.drivers.items() if driver is self]:
            del self._data.drivers[run_id]


def _is_from(stored: JsonObject, runs: Collection[str]) -> bool:
    source = stored.get("source")
    return isinstance(source, Mapping) and source.get("runId") in runs
