"""The seam between the engine and whatever keeps the log. One conformance suite holds every implementation to it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import Protocol

from openskelo import errors
from openskelo.frozen import field, frozen, plain
from openskelo.kernel import fresh
from openskelo.kernel.json import JsonObject

#: As a number it is found twenty times faster than as bytes.
(_LINE_END,) = b"\n"
_RUN_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")


@frozen
class RunRow:
    """One line of a listing: a projection, kept beside the log and rebuilt from it.

    A run's first `created_at` stays, whatever later rows say.
    """

    run_id: str
    name: str
    workflow_hash: str
    status: str
    ending: str | None
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
class PostedCommand:
    """A command that another process left for the run's driver."""

    id: int
    run_id: str
    body: JsonObject


@frozen
class Added:
    """The lines that one Append has added, and where they stand among those of all runs.

    `seq` is that of the last line. Positions grow in the order of commits: whoever sees one sees all before it.
    """

    position: int
    run_id: str
    seq: int
    lines: tuple[bytes, ...]


@plain
class Append:
    """Everything one run adds in one commit.

    `lines` are the sealed events with seq `expected_seq + 1` and on (bytes without a line end). `row` replaces the
    run's listing when given; one with an `ending` also gives up the claim. `opened` and `closed` keep the list of open
    approvals. `blobs` (small ones, by hash) and the removal of `consumed` commands (each must wait for this run, else
    Conflict) are part of the same commit. `cached` maps cache keys to stored outputs. The Append that begins a run
    which nobody has claimed or begun before also claims it for this store.
    """

    run_id: str
    expected_seq: int
    lines: tuple[bytes, ...]
    row: RunRow | None = None
    opened: tuple[ApprovalRow, ...] = ()
    closed: tuple[str, ...] = ()
    blobs: Mapping[str, bytes] = field(default_factory=fresh.a_dict)
    consumed: tuple[int, ...] = ()
    cached: Mapping[str, JsonObject] = field(default_factory=fresh.a_dict)


@frozen
class Swept:
    """How many values nothing referred to, and their bytes."""

    blobs: int = 0
    bytes: int = 0


@frozen
class Tally:
    """Where everything stands: runs by status and ending, open approvals, and commands that nobody has taken.

    `waiting_since` is when the run that has waited longest for a person began to.
    """

    runs: Mapping[tuple[str, str | None], int]
    approvals: int = 0
    waiting_since: int | None = None
    commands: int = 0


def check_run_id(run_id: str) -> None:
    """Refuse (InvalidInput) an id that could not be the name of a folder. Run ids are UUIDs."""
    if not _RUN_ID.fullmatch(run_id):
        raise errors.InvalidInput(f"not a run id: {run_id[:100]!r}", code="RUN_ID", hint="run ids are UUIDs")


def folded(text: str) -> str:
    """A text as listings look for it: ASCII letters in lower case, which is all that every store can do."""
    return "".join(chr(ord(sign) + 32) if "A" <= sign <= "Z" else sign for sign in text)


def join(lines: Sequence[bytes]) -> bytes:
    """The lines with a line end between any two; a line that has one inside is refused (InvalidInput)."""
    for line in lines:
        if _LINE_END in line:
            raise errors.InvalidInput("a line of the log contains a line end", code="LINE_INVALID")
    return b"\n".join(lines)


def split(joined: bytes) -> list[bytes]:
    """The lines that `join` has joined; mostly two, between which `bytes.split` would look at every byte by itself."""
    first, _, rest = joined.partition(b"\n")
    return [first, rest] if rest and _LINE_END not in rest else joined.split(b"\n")


def conflict(append: Append, seq: int) -> errors.Conflict:
    """The error for an Append that does not go on where its run ends."""
    return errors.Conflict(
        f"run {append.run_id} is at seq {seq}, not at {append.expected_seq}: somebody else appended first",
        hint="fold the run again, then decide again",
    )


def consumed_before(append: Append, command: int) -> errors.Conflict:
    """The error for an Append that consumes a command which does not wait for its run (any more)."""
    return errors.Conflict(
        f"command {command} does not wait for run {append.run_id}: it was consumed before",
        hint="fold the run again, then decide again",
    )


class Log(Protocol):
    """An append-only log of runs, with what must be committed together with it."""

    async def append(self, batch: Sequence[Append]) -> None:
        """Commit every Append of the batch at once, durably, or nothing of it (Conflict, StoreFull, StoreError).

        Several Appends of one run go on from each other in the order of the batch.
        """
        ...

    def read(self, run_id: str, *, after: int = 0) -> AsyncIterator[Sequence[bytes]]:
        """The run's lines with seq > `after`, in order, in chunks; nothing for an unknown run."""
        ...

    async def feed(self, *, after: int, limit: int = 256) -> Sequence[Added]:
        """What was added to any run after a position, in the order of commits, at most `limit` Appends (cheap: polled).

        Everything that any process has committed before the call is there. 0 is before the first position.
        """
        ...

    async def position(self) -> int:
        """The newest position, 0 when nothing was ever added."""
        ...

    async def row(self, run_id: str) -> RunRow | None:
        """A run's listing; None for a run that is unknown or has none yet."""
        ...

    async def rows(
        self,
        *,
        limit: int = 100,
        offset: int = 0,
        status: str | None = None,
        text: str | None = None,
        before: str | None = None,
    ) -> Sequence[RunRow]:
        """Listings, newest `created_at` first, and among equals the one begun last first.

        Those that have `text` in their name (upper and lower case of ASCII letters alike) or id, and come after the
        run `before` in that order; none come after one that is not listed.
        """
        ...

    async def rows_named(self, prefix: str) -> Sequence[RunRow]:
        """Listings of the runs whose id begins so, newest first."""
        ...

    async def tally(self) -> Tally:
        """Where everything stands, counted now."""
        ...

    async def approvals(
        self, run_id: str | None = None, *, limit: int | None = None, after: str | None = None
    ) -> Sequence[ApprovalRow]:
        """Open approvals, of one run or of all, in the order they were opened, at most `limit`.

        With `after` only those that were opened after that approval, which may be closed by now; none come after one
        that never was.
        """
        ...

    async def approval(self, approval_id: str) -> ApprovalRow | None:
        """One approval while it is open, else None."""
        ...

    async def asker(self, approval_id: str) -> str | None:
        """The run that asks, or has asked, for an approval; None for an id that no approval ever had."""
        ...

    async def closed(self, *, limit: int, before: str | None = None) -> Sequence[tuple[str, str]]:
        """Approvals that are answered or withdrawn and the runs that asked, the newest question first.

        With `before` only those that were opened before that approval; none come before one that never was.
        """
        ...

    async def post(self, run_id: str, body: JsonObject) -> int:
        """Leave a command for the run's driver, durably; gives its id (NotFound for an unknown run)."""
        ...

    async def posted(self, run_ids: Sequence[str] | None) -> Sequence[PostedCommand]:
        """Commands waiting for these runs (None: for any), in order of posting, until an Append consumes them."""
        ...

    async def waits(self, command_id: int) -> bool:
        """Whether a posted command has neither been consumed nor withdrawn."""
        ...

    async def withdraw(self, command_ids: Sequence[int]) -> None:
        """Take back commands that nobody will consume any more."""
        ...

    async def changed(self) -> bool:
        """Whether another process has committed anything since the last call (cheap: polled every 50 ms)."""
        ...

    async def claim(self, run_id: str) -> bool:
        """Become the run's driver; False while another living store is. A dead driver's claim is free at once."""
        ...

    async def release(self, run_id: str) -> None:
        """Give up this store's claim, if it has one."""
        ...

    async def driver_alive(self, run_id: str, *, elsewhere: bool = False) -> bool:
        """Whether any living store drives the run: this one included, unless it is asked about those `elsewhere`."""
        ...

    async def put_blob(self, data: bytes) -> str:
        """Keep a large value, durably before this returns; gives its `sha256:` name."""
        ...

    async def blob(self, name: str) -> bytes:
        """The bytes behind a name, large or small, checked against it (NotFound, Corrupt; InvalidInput for no name)."""
        ...

    async def cached(self, key: str) -> JsonObject | None:
        """The outputs last kept under a cache key."""
        ...

    async def note(self, key: str, document: JsonObject, *, at: int, first: bool = False) -> bool:
        """Keep a small document under a key, durably; False where `first` was wanted and there is one already."""
        ...

    async def note_all(self, documents: Mapping[str, JsonObject], *, at: int) -> None:
        """Keep these documents by key, durably, in one commit."""
        ...

    async def noted(self, key: str) -> JsonObject | None:
        """The document under a key."""
        ...

    async def notes(self, prefix: str) -> Mapping[str, JsonObject]:
        """The documents whose key begins so, by key and in that order."""
        ...

    async def drop_notes(self, prefix: str, *, before: int) -> int:
        """Remove the documents whose key begins so and which were kept before a time; gives how many."""
        ...

    async def rewrite(self, run_id: str, shorten: Callable[[bytes], bytes]) -> None:
        """Put `shorten(line)` in the place of every line of a run that has ended, copies of the log included.

        `shorten` of a shortened line must be that line again: a crash leaves some lines as they were, never the first
        one changed and another not, and doing it again finishes it.
        """
        ...

    async def erase(self, run_id: str) -> None:
        """Remove a run that has ended, and everything kept under its id; its blobs wait for `sweep`."""
        ...

    async def sweep(self, *, forget: Collection[str] = ()) -> Swept:
        """Remove the blobs that nothing refers to, and what the runs of `forget` left for others to use again."""
        ...

    async def compact(self) -> None:
        """Give the room that was freed back to the disk."""
        ...

    async def flush(self) -> None:
        """Bring copies of the log that may lag (the `events.jsonl` files) up to date."""
        ...

    async def close(self) -> None:
        """Flush, give up all claims, and let go of everything; the store is of no use afterwards."""
        ...
