"""The Protocols of a store: what the engine, the server and the readers of history use, and what a store implements.

Each Protocol is one concern with three to seven methods. A function takes the narrowest one that it needs; `Store` is
all of them together. `stores/conformance` checks an implementation, `docs/extending/store.md` says how to write one.

    EventLog       append events, read them by run or in the order of all commits
    EventFiles     the files that a store with a data dir keeps for people
    Listings       runs: one, a page, by prefix, totals
    Approvals      open and closed approvals
    CommandInbox   commands that other processes queue for a run's driver
    Claims         which store drives a run
    Blobs          large values by digest, cached outputs by key
    Notes          small documents by key
    Retention      shorten, delete, sweep, compact

What must be committed together is in one `Append`: the lines of a run, its listing, its approvals, its small blobs, the
commands that it consumes. The errors that callers need for a missing run or approval are made here, and only here.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from openskelo import errors
from openskelo.kernel.json import JsonObject
from openskelo.structs import field, frozen

_RUN_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
#: Upper bounds of the buckets of `Histogram`, in seconds: from a commit that was not synced to a disk in trouble.
BUCKET_SECONDS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@frozen
class RunRow:
    """A run as listings show it. It can be rebuilt from the log."""

    run_id: str
    name: str
    workflow_hash: str
    status: str
    ending: str | None
    #: That of a run's first row stays, also when later rows have another.
    created_at: int
    updated_at: int
    parent: str | None = None


@frozen
class ApprovalRow:
    """An open approval as listings show it."""

    approval_id: str
    run_id: str
    node: str
    document: JsonObject


@frozen
class QueuedCommand:
    """A command that another process queued for the run's driver."""

    id: int
    run_id: str
    body: JsonObject


@frozen
class FeedEntry:
    """The lines that one Append added."""

    #: Its place in the order of all commits. Positions grow in that order: a reader that sees one sees all before it.
    position: int
    run_id: str
    #: The seq of the last line.
    seq: int
    lines: tuple[bytes, ...]


@frozen
class Append:
    """Everything that one run adds in one commit."""

    run_id: str
    expected_seq: int
    #: Sealed events (bytes without a newline) with the seqs `expected_seq + 1` and on.
    lines: tuple[bytes, ...]
    #: The run's new listing, if it changes; one with an `ending` also releases the claim.
    row: RunRow | None = None
    #: Approvals that wait for an answer from now on.
    opened: tuple[ApprovalRow, ...] = ()
    #: The ids of approvals that wait no longer.
    closed: tuple[str, ...] = ()
    #: Small values by name.
    blobs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    #: Commands to remove; each must be queued for this run (Conflict).
    consumed: tuple[int, ...] = ()
    #: Stored outputs by cache key.
    cached: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    #: The Append that begins a run also claims it, unless it was claimed or begun before.
    claim: bool = True


@frozen
class SweepResult:
    """The result of a sweep: the number of deleted blobs, and their bytes."""

    blobs: int = 0
    bytes: int = 0


@frozen
class Totals:
    """Runs by status and ending, open approvals, and queued commands."""

    runs: Mapping[tuple[str, str | None], int]
    approvals: int = 0
    #: The time since which the run that has waited longest for a person waits.
    waiting_since: int | None = None
    commands: int = 0


class Histogram:
    """Counts observed values by bucket, and sums them up."""

    def __init__(self, bounds: Sequence[float] = BUCKET_SECONDS) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count one more value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


class EventLog(Protocol):
    """The append-only log of all runs."""

    @property
    def commit_times(self) -> Histogram | None:
        """The durations of commits in seconds; None for a store that does not measure them."""
        ...

    async def append(self, batch: Sequence[Append]) -> None:
        """Commit every Append of the batch at once, durably, or nothing of it (Conflict, StoreFull, StoreError).

        Several Appends of one run continue each other in the order of the batch.
        """
        ...

    def read_events(self, run_id: str, *, after: int = 0) -> AsyncIterator[Sequence[bytes]]:
        """Yield the run's lines with seq > `after`, in order, in chunks; nothing for an unknown run."""
        ...

    async def read_feed(self, *, after: int, limit: int = 256) -> Sequence[FeedEntry]:
        """Return what was appended to any run after a position, in the order of commits, at most `limit` Appends.

        It has everything that any process has committed before the call. 0 is before the first position. It is cheap:
        servers poll it.
        """
        ...

    async def last_position(self) -> int:
        """Return the newest position, 0 when nothing was ever appended."""
        ...

    async def has_changed(self) -> bool:
        """True if another process has committed anything since the last call. It is cheap: polled every 50 ms."""
        ...

    async def close(self) -> None:
        """Flush, release all claims, and close everything; the store cannot be used afterwards."""
        ...


class EventFiles(Protocol):
    """The files that a store keeps beside the log for people and their tools: all events, and blobs."""

    @property
    def data_dir(self) -> Path | None:
        """The folder of the files; None for a store that has none."""
        ...

    async def flush(self) -> None:
        """Bring the event files up to date: they may lag behind the log."""
        ...

    async def read_event_files(self, run_id: str) -> Sequence[bytes]:
        """Return the run's lines in the event files, in order; a store without files returns those it has."""
        ...

    async def repair_event_files(self) -> Sequence[Path]:
        """Make the event files what the log holds; return the files that differed, kept under another name."""
        ...

    async def find_lost_events(self) -> Mapping[str, int]:
        """Return, by run, how many events the log has lost: they are in files that were kept, and not in the log."""
        ...

    def locate_blob(self, name: str) -> str | None:
        """Return the absolute path of a file with the bytes, written now if it is missing; None without a local disk.

        Also None if no such bytes are kept, or no file can be written. The file may be deleted by `sweep_blobs`.
        """
        ...


class Listings(Protocol):
    """The runs as listings show them."""

    async def find_run(self, run_id: str) -> RunRow | None:
        """Return a run's row; None for a run that is unknown or not listed yet."""
        ...

    async def list_runs(
        self,
        *,
        limit: int = 100,
        offset: int = 0,
        status: str | None = None,
        text: str | None = None,
        before: str | None = None,
    ) -> Sequence[RunRow]:
        """Return rows, newest `created_at` first; among equals the run that began last comes first.

        With `text`, only runs that have it in their name (ASCII letters in either case) or id. With `before`, only runs
        that come after that run in this order; none if it is not listed.
        """
        ...

    async def list_runs_by_prefix(self, prefix: str) -> Sequence[RunRow]:
        """Return the rows of the runs whose id starts with the prefix, newest first."""
        ...

    async def count_totals(self) -> Totals:
        """Return totals over all runs, as of now."""
        ...


class Approvals(Protocol):
    """The approvals that runs have asked for."""

    async def list_approvals(
        self, run_id: str | None = None, *, limit: int | None = None, after: str | None = None
    ) -> Sequence[ApprovalRow]:
        """Return open approvals, of one run or of all, in the order in which they were opened, at most `limit`.

        With `after`, only those opened after that approval, which may be closed by now; none if it never existed.
        """
        ...

    async def find_approval(self, approval_id: str) -> ApprovalRow | None:
        """Return an approval while it is open, else None."""
        ...

    async def find_approval_run(self, approval_id: str) -> str | None:
        """Return the id of the run that asks or asked for an approval; None for an unknown approval."""
        ...

    async def list_closed_approvals(self, *, limit: int, before: str | None = None) -> Sequence[tuple[str, str]]:
        """Return (approval id, run id) of answered and withdrawn approvals, the one opened last first.

        With `before`, only those opened before that approval; none if it never existed.
        """
        ...


class CommandInbox(Protocol):
    """Commands that any process queues for the driver of a run. The driver's Append consumes them."""

    async def queue_command(self, run_id: str, body: JsonObject) -> int | None:
        """Queue a command for the run's driver, durably; return its id, None for an unknown run."""
        ...

    async def list_commands(self, run_ids: Sequence[str] | None) -> Sequence[QueuedCommand]:
        """Return the commands queued for these runs (None: for any), in the order in which they were queued."""
        ...

    async def is_command_queued(self, command_id: int) -> bool:
        """True if a command has neither been consumed nor withdrawn."""
        ...

    async def withdraw_commands(self, command_ids: Sequence[int]) -> None:
        """Remove queued commands that no driver will consume any more."""
        ...


class Claims(Protocol):
    """The claims on runs: at most one store drives a run at a time."""

    async def claim_run(self, run_id: str) -> bool:
        """Become the run's driver; False while another living store is. A dead driver's claim is free at once."""
        ...

    async def release_run(self, run_id: str) -> None:
        """Give up this store's claim, if it has one."""
        ...

    async def is_driver_alive(self, run_id: str, *, elsewhere: bool = False) -> bool:
        """True if a living store drives the run; with `elsewhere`, only if it is another one than this."""
        ...


class BlobReader(Protocol):
    """Reads large values."""

    async def read_blob(self, name: str) -> bytes:
        """Return the bytes behind a name. Raise NotFound, Corrupt if they differ, InvalidInput for a malformed name."""
        ...


class RunLog(EventLog, BlobReader, Protocol):
    """The log with the values that its lines name: what it takes to bring a run back."""


class BlobWriter(Protocol):
    """Writes large values."""

    async def put_blob(self, data: bytes, name: str | None = None) -> str:
        """Keep a large value; return its `sha256:` name, which a caller that has hashed the bytes already passes.

        It is durable at the latest with the first Append, command or note of this store that names it.
        """
        ...


class Blobs(BlobReader, BlobWriter, Protocol):
    """Large values by the digest of their bytes, and outputs that later runs may use again."""

    async def read_cached_outputs(self, key: str) -> JsonObject | None:
        """Return the outputs last stored under a cache key."""
        ...


class Notes(Protocol):
    """Small documents by key, beside the log."""

    async def save_note(self, key: str, document: JsonObject, *, at: int, first: bool = False) -> bool:
        """Store a small document under a key, durably; with `first`, return False if the key has one already."""
        ...

    async def save_notes(self, documents: Mapping[str, JsonObject], *, at: int) -> None:
        """Store documents by key, durably, in one commit."""
        ...

    async def read_note(self, key: str) -> JsonObject | None:
        """Return the document under a key, or None."""
        ...

    async def list_notes(self, prefix: str) -> Mapping[str, JsonObject]:
        """Return the documents whose key starts with the prefix, by key and in that order."""
        ...

    async def delete_notes(self, prefix: str, *, before: int) -> int:
        """Delete the documents whose key starts with the prefix, saved before a time; return how many."""
        ...


class Retention(Protocol):
    """Removal of what is no longer wanted. All of it is for runs that have ended.

    What `rewrite_events` and `delete_run` take out of the log, the next `sweep_blobs` takes out of the event files.
    """

    async def rewrite_events(self, run_id: str, shorten: Callable[[bytes], bytes]) -> None:
        """Replace every line of an ended run by `shorten(line)`.

        `shorten` of a shortened line must return that line. A crash leaves some lines as they were, but never the first
        one shortened and another not; doing it again finishes it.
        """
        ...

    async def delete_run(self, run_id: str) -> None:
        """Delete an ended run and everything stored under its id; `sweep_blobs` deletes its blobs."""
        ...

    async def sweep_blobs(self, *, forget: Collection[str] = ()) -> SweepResult:
        """Delete the blobs that nothing refers to, the cached outputs of the runs in `forget`, and pruned lines."""
        ...

    async def compact(self) -> None:
        """Return the space that was freed to the file system."""
        ...


class Store(EventLog, EventFiles, Listings, Approvals, CommandInbox, Claims, Blobs, Notes, Retention, Protocol):
    """A whole store: the log, and everything that is committed with it or kept beside it."""


async def get_run(store: Listings, run_id: str) -> RunRow:
    """Return a run's row; raise NotFound (RUN_NOT_FOUND) if there is no such run."""
    return errors.require_run(await store.find_run(run_id), run_id)


async def read_run(store: EventLog, run_id: str) -> AsyncGenerator[Sequence[bytes]]:
    """Yield all lines of a run, in order, in chunks; raise NotFound (RUN_NOT_FOUND) if it has none."""
    lines: Sequence[bytes] | None = None
    async for lines in store.read_events(run_id):
        yield lines
    errors.require_run(lines, run_id)


async def get_approval(store: Approvals, approval_id: str) -> ApprovalRow:
    """Return an open approval; raise Refused (APPROVAL_CLOSED) if it is closed, NotFound if it never existed."""
    row = await store.find_approval(approval_id)
    if row is None and await store.find_approval_run(approval_id) is None:
        raise errors.NotFound(
            f"there is no open approval {approval_id}", code="APPROVAL_NOT_FOUND", hint="`skelo approvals` lists them"
        )
    return errors.require_open(row)


def append_conflict(append: Append, seq: int) -> errors.Conflict:
    """Return the error for an Append whose `expected_seq` is not the seq of its run."""
    return errors.Conflict(
        f"run {append.run_id} is at seq {seq}, not at {append.expected_seq}: another process appended first",
        hint="fold the run again, then decide again",
    )


def command_conflict(append: Append, command_id: int) -> errors.Conflict:
    """Return the error for an Append that consumes a command which is not queued for its run."""
    return errors.Conflict(
        f"command {command_id} does not wait for run {append.run_id}: it was consumed before",
        hint="fold the run again, then decide again",
    )


def check_run_id(run_id: str) -> None:
    """Raise InvalidInput for an id that could not be the name of a folder. Run ids are UUIDs."""
    if not _RUN_ID.fullmatch(run_id):
        raise errors.InvalidInput(f"not a run id: {run_id[:100]!r}", code="RUN_ID", hint="run ids are UUIDs")


def fold_case(text: str) -> str:
    """Return the text with ASCII letters in lower case, as every store can search for it (also SQLite's `lower`)."""
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def join_lines(lines: Sequence[bytes]) -> bytes:
    """Return the lines joined by newlines; raise InvalidInput for a line that contains one."""
    for line in lines:
        if b"\n" in line:
            raise errors.InvalidInput("a line of the log contains a line end", code="LINE_INVALID")
    return b"\n".join(lines)
