"""The log in memory, for tests and for measuring everything but the disk. Keeps nothing when the process ends.

Several `MemoryLog`s may share one `MemoryData`, as several processes share a data dir.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence

import orjson

from openskelo import errors
from openskelo.frozen import field, mutable
from openskelo.kernel.json import JsonObject
from openskelo.stores import blobs, log

#: So many lines are given at a time.
CHUNK = 1024


@mutable
class MemoryData:
    """What is kept: the data dir of the in-memory store."""

    lines: dict[str, list[bytes]] = field(default_factory=dict[str, list[bytes]])
    added: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])  # run, seq before, seq after
    rows: dict[str, log.RunRow] = field(default_factory=dict[str, log.RunRow])
    approvals: dict[str, log.ApprovalRow] = field(default_factory=dict[str, log.ApprovalRow])
    asked: dict[str, int] = field(default_factory=dict[str, int])
    closed: dict[str, str] = field(default_factory=dict[str, str])
    commands: dict[int, log.PostedCommand] = field(default_factory=dict[int, log.PostedCommand])
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])
    cache: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    notes: dict[str, tuple[int, JsonObject]] = field(default_factory=dict[str, tuple[int, JsonObject]])
    drivers: dict[str, MemoryLog] = field(default_factory=dict[str, "MemoryLog"])
    last_command: int = 0
    commits: int = 0


class MemoryLog:
    """A `Log` over a `MemoryData`, its own unless one is given."""

    def __init__(self, data: MemoryData | None = None) -> None:
        self._data = MemoryData() if data is None else data
        self._lines = self._data.lines
        self._seen = self._data.commits

    async def append(self, batch: Sequence[log.Append]) -> None:
        """Keep every Append of the batch or none of them (Conflict)."""
        if len(batch) == 1:  # the common case, in which nothing can fail after the check
            append = batch[0]
            lines = self._lines.get(append.run_id)
            if lines is not None and len(lines) == append.expected_seq and not _brings_more(append):
                log.join(append.lines)
                lines += append.lines
                if append.lines:
                    self._data.added.append((append.run_id, append.expected_seq, len(lines)))
                self._count()
                return
        self._check(batch)
        for append in batch:
            self._keep(append)
        self._count()

    def _check(self, batch: Sequence[log.Append]) -> None:
        heads: dict[str, int] = {}
        consumed: set[int] = set()
        for append in batch:
            log.check_run_id(append.run_id)
            log.join(append.lines)
            seq = heads.get(append.run_id, len(self._lines.get(append.run_id, ())))
            if append.expected_seq != seq:
                raise log.conflict(append, seq)
            heads[append.run_id] = seq + len(append.lines)
            for name in append.blobs:
                blobs.digest_of(name)
            for command in append.consumed:
                waiting = self._data.commands.get(command)
                if waiting is None or waiting.run_id != append.run_id or command in consumed:
                    raise log.consumed_before(append, command)
                consumed.add(command)

    def _keep(self, append: log.Append) -> None:
        data = self._data
        if append.run_id not in self._lines:
            data.drivers[append.run_id] = self
        lines = self._lines.setdefault(append.run_id, [])
        lines += append.lines
        if append.lines:
            data.added.append((append.run_id, append.expected_seq, len(lines)))
        if append.row is not None:
            self._keep_row(append.row)
        for approval in append.opened:
            data.approvals[approval.approval_id] = approval
            data.asked.setdefault(approval.approval_id, len(data.asked) + 1)
        for approval_id in append.closed:
            gone = data.approvals.pop(approval_id, None)
            if gone is not None:
                data.closed[approval_id] = gone.run_id
        for command in append.consumed:
            del data.commands[command]
        data.blobs.update(append.blobs)
        data.cache.update(append.cached)

    def _keep_row(self, row: log.RunRow) -> None:
        before = self._data.rows.get(row.run_id)
        if before is not None and before.created_at != row.created_at:
            row = log.RunRow(
                run_id=row.run_id,
                name=row.name,
                workflow_hash=row.workflow_hash,
                status=row.status,
                ending=row.ending,
                created_at=before.created_at,
                updated_at=row.updated_at,
                parent=row.parent,
            )
        self._data.rows[row.run_id] = row
        if row.ending is not None:
            self._data.drivers.pop(row.run_id, None)

    def _count(self) -> None:
        """One's own commits are no change to oneself; another's, not yet noticed, stay one."""
        data = self._data
        if self._seen == data.commits:
            self._seen += 1
        data.commits += 1

    async def read(self, run_id: str, *, after: int = 0) -> AsyncIterator[Sequence[bytes]]:
        """The run's lines with seq > `after`, in order, in chunks; nothing for an unknown run."""
        lines = self._lines.get(run_id, [])
        end = len(lines)
        for at in range(after, end, CHUNK):
            yield lines[at : min(at + CHUNK, end)]

    async def feed(self, *, after: int, limit: int = 256) -> Sequence[log.Added]:
        """What was added to any run after a position, in the order of commits, at most `limit` Appends."""
        every = enumerate(itertools.islice(self._data.added, after, None), start=after + 1)
        there = (found for found in every if found[1][0])  # an erased run has no name any more
        return [
            log.Added(position=position, run_id=run_id, seq=end, lines=tuple(self._lines[run_id][start:end]))
            for position, (run_id, start, end) in itertools.islice(there, limit)
        ]

    async def position(self) -> int:
        """The newest position, 0 when nothing was ever added."""
        return len(self._data.added)

    async def row(self, run_id: str) -> log.RunRow | None:
        """A run's listing; None for a run that is unknown or has none yet."""
        return self._data.rows.get(run_id)

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
        every = (self._data.rows.get(run_id) for run_id in reversed(self._lines))
        listed = [row for row in every if row is not None]
        listed.sort(key=lambda row: -row.created_at)
        if before is not None:
            place = next((at for at, row in enumerate(listed, 1) if row.run_id == before), len(listed))
            listed = listed[place:]
        wanted = None if text is None else log.folded(text)
        found = [row for row in listed if (status is None or row.status == status) and _has(row, wanted)]
        return found[offset : offset + limit]

    async def rows_named(self, prefix: str) -> Sequence[log.RunRow]:
        """Listings of the runs whose id begins so, newest first."""
        return [row for row in await self.rows(limit=len(self._data.rows)) if row.run_id.startswith(prefix)]

    async def tally(self) -> log.Tally:
        """Where everything stands, counted now."""
        data = self._data
        asking = {row.run_id for row in data.approvals.values()}
        since = [row.updated_at for row in data.rows.values() if row.run_id in asking]
        return log.Tally(
            runs=Counter((row.status, row.ending) for row in data.rows.values()),
            approvals=len(data.approvals),
            waiting_since=min(since, default=None),
            commands=len(data.commands),
        )

    async def approvals(
        self, run_id: str | None = None, *, limit: int | None = None, after: str | None = None
    ) -> Sequence[log.ApprovalRow]:
        """Open approvals, of one run or of all, in the order they were opened."""
        data = self._data
        place = 0 if after is None else data.asked.get(after, len(data.asked))
        found = [
            row
            for row in data.approvals.values()
            if (run_id is None or row.run_id == run_id) and data.asked[row.approval_id] > place
        ]
        return found if limit is None else found[:limit]

    async def approval(self, approval_id: str) -> log.ApprovalRow | None:
        """One approval while it is open, else None."""
        return self._data.approvals.get(approval_id)

    async def asker(self, approval_id: str) -> str | None:
        """The run that asks, or has asked, for an approval; None for an id that no approval ever had."""
        found = self._data.approvals.get(approval_id)
        return self._data.closed.get(approval_id) if found is None else found.run_id

    async def closed(self, *, limit: int, before: str | None = None) -> Sequence[tuple[str, str]]:
        """Approvals that are answered or withdrawn and the runs that asked, the newest question first."""
        asked = self._data.asked
        place = len(asked) + 1 if before is None else asked.get(before, 0)
        found = [one for one in self._data.closed.items() if asked[one[0]] < place]
        return sorted(found, key=lambda one: -asked[one[0]])[:limit]

    async def post(self, run_id: str, body: JsonObject) -> int:
        """Leave a command for the run's driver; gives its id (NotFound for an unknown run)."""
        if run_id not in self._lines:
            raise errors.NotFound(f"no run {run_id}", code="RUN_NOT_FOUND")
        self._data.last_command += 1
        command = log.PostedCommand(id=self._data.last_command, run_id=run_id, body=body)
        self._data.commands[command.id] = command
        self._count()
        return command.id

    async def posted(self, run_ids: Sequence[str] | None) -> Sequence[log.PostedCommand]:
        """Commands waiting for these runs (None: for any), in order of posting, until an Append consumes them."""
        every = self._data.commands.values()
        if run_ids is None:
            return list(every)
        wanted = frozenset(run_ids)
        return [command for command in every if command.run_id in wanted]

    async def waits(self, command_id: int) -> bool:
        """Whether a posted command has neither been consumed nor withdrawn."""
        return command_id in self._data.commands

    async def withdraw(self, command_ids: Sequence[int]) -> None:
        """Take back commands that nobody will consume any more."""
        for command_id in command_ids:
            self._data.commands.pop(command_id, None)
        self._count()

    async def changed(self) -> bool:
        """Whether another `MemoryLog` over the same data has committed anything since the last call."""
        before, self._seen = self._seen, self._data.commits
        return before != self._seen

    async def claim(self, run_id: str) -> bool:
        """Become the run's driver; False while another `MemoryLog` is that has not been closed."""
        log.check_run_id(run_id)
        self._lines.setdefault(run_id, [])
        return self._data.drivers.setdefault(run_id, self) is self

    async def release(self, run_id: str) -> None:
        """Give up this store's claim, if it has one."""
        if self._data.drivers.get(run_id) is self:
            del self._data.drivers[run_id]

    async def driver_alive(self, run_id: str, *, elsewhere: bool = False) -> bool:
        """Whether any living store drives the run: this one included, unless it is asked about those `elsewhere`."""
        driver = self._data.drivers.get(run_id)
        return driver is not None and not (elsewhere and driver is self)

    async def put_blob(self, data: bytes) -> str:
        """Keep a large value; gives its `sha256:` name."""
        name = blobs.name_of(data)
        self._data.blobs[name] = data
        return name

    async def blob(self, name: str) -> bytes:
        """The bytes behind a name, checked against it (NotFound, Corrupt; InvalidInput for no name)."""
        blobs.digest_of(name)
        data = self._data.blobs.get(name)
        if data is None:
            raise errors.NotFound(f"no blob {name}", code="BLOB_NOT_FOUND")
        return blobs.check(name, data)

    async def cached(self, key: str) -> JsonObject | None:
        """The outputs last kept under a cache key."""
        return self._data.cache.get(key)

    async def note(self, key: str, document: JsonObject, *, at: int, first: bool = False) -> bool:
        """Keep a small document under a key; False where `first` was wanted and there is one already."""
        if first and key in self._data.notes:
            return False
        self._data.notes[key] = (at, document)
        self._count()
        return True

    async def note_all(self, documents: Mapping[str, JsonObject], *, at: int) -> None:
        """Keep these documents by key."""
        self._data.notes.update({key: (at, document) for key, document in documents.items()})
        self._count()

    async def noted(self, key: str) -> JsonObject | None:
        """The document under a key."""
        found = self._data.notes.get(key)
        return None if found is None else found[1]

    async def notes(self, prefix: str) -> Mapping[str, JsonObject]:
        """The documents whose key begins so, by key and in that order."""
        return {key: note for key, (_, note) in sorted(self._data.notes.items()) if key.startswith(prefix)}

    async def drop_notes(self, prefix: str, *, before: int) -> int:
        """Remove the documents whose key begins so and which were kept before a time; gives how many."""
        old = [key for key, (at, _) in self._data.notes.items() if key.startswith(prefix) and at < before]
        for key in old:
            del self._data.notes[key]
        return len(old)

    async def rewrite(self, run_id: str, shorten: Callable[[bytes], bytes]) -> None:
        """Put `shorten(line)` in the place of every line of a run that has ended."""
        lines = self._lines.get(run_id, [])
        for at in reversed(range(len(lines))):
            lines[at] = shorten(lines[at])
        self._count()

    async def erase(self, run_id: str) -> None:
        """Remove a run that has ended, and everything kept under its id; its blobs wait for `sweep`."""
        data = self._data
        for kept in (data.lines, data.rows, data.drivers):
            kept.pop(run_id, None)
        data.added[:] = [("", 0, 0) if added[0] == run_id else added for added in data.added]
        data.approvals = {key: row for key, row in data.approvals.items() if row.run_id != run_id}
        data.closed = {key: asker for key, asker in data.closed.items() if asker != run_id}
        data.commands = {key: command for key, command in data.commands.items() if command.run_id != run_id}
        self._count()

    async def sweep(self, *, forget: Collection[str] = ()) -> log.Swept:
        """Remove the blobs that nothing refers to, and what the runs of `forget` left for others to use again."""
        data = self._data
        texts = [line for lines in data.lines.values() for line in lines]
        documents = (row.document for row in data.approvals.values())
        bodies = (command.body for command in data.commands.values())
        texts += map(
            orjson.dumps, (*documents, *bodies, *data.cache.values(), *(note for _, note in data.notes.values()))
        )
        data.cache = {key: stored for key, stored in data.cache.items() if not _is_from(stored, forget)}
        used = blobs.named_in(texts)
        gone = {name: kept for name, kept in data.blobs.items() if blobs.digest_of(name) not in used}
        data.blobs = {name: kept for name, kept in data.blobs.items() if name not in gone}
        self._count()
        return log.Swept(blobs=len(gone), bytes=sum(map(len, gone.values())))

    async def compact(self) -> None:
        """Nothing holds room that it does not use."""

    async def flush(self) -> None:
        """Nothing lags here."""

    async def close(self) -> None:
        """Give up all claims; the data stays for other `MemoryLog`s over it."""
        for run_id in [run_id for run_id, driver in self._data.drivers.items() if driver is self]:
            del self._data.drivers[run_id]


def _brings_more(append: log.Append) -> bool:
    return append.row is not None or bool(
        append.opened or append.closed or append.blobs or append.consumed or append.cached
    )


def _has(row: log.RunRow, text: str | None) -> bool:
    return text is None or text in log.folded(row.name) or text in row.run_id


def _is_from(stored: JsonObject, runs: Collection[str]) -> bool:
    source = stored.get("source")
    return isinstance(source, Mapping) and source.get("runId") in runs
