"""The seam between the engine and whatever keeps the log. One conformance suite holds every implementation to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from openskelo.kernel.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One line of a listing: a projection, kept beside the log and rebuilt from it."""

    run_id: str
    name: str
    workflow_hash: str
    status: str
    ending: str | None
    created_at: int
    updated_at: int
    parent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRow:
    """An open approval as listings show it."""

    approval_id: str
    run_id: str
    node: str
    document: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedCommand:
    """A command that another process left for the run's driver."""

    id: int
    run_id: str
    body: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Everything one run adds in one commit.

    `lines` are the sealed events with seq `expected_seq + 1` and on (bytes without a line end). `row` replaces the
    run's listing when given. `opened` and `closed` keep the list of open approvals. `blobs` (small ones, by hash) and
    the removal of `consumed` commands are part of the same commit. `cached` maps cache keys to stored outputs.
    """

    run_id: str
    expected_seq: int
    lines: tuple[bytes, ...]
    row: RunRow | None = None
    opened: tuple[ApprovalRow, ...] = ()
    closed: tuple[str, ...] = ()
    blobs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    consumed: tuple[int, ...] = ()
    cached: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])


class Log(Protocol):
    """An append-only log of runs, with what must be committed together with it."""

    async def append(self, batch: Sequence[Append]) -> None:
        """Commit every Append of the batch at once, durably, or nothing (Conflict, StoreFull)."""
        ...

    def read(self, run_id: str, *, after: int = 0) -> AsyncIterator[Sequence[bytes]]:
        """The run's lines with seq > `after`, in order, in chunks; nothing for an unknown run."""
        ...

    async def row(self, run_id: str) -> RunRow | None: ...

    async def rows(self, *, limit: int = 100, offset: int = 0, status: str | None = None) -> Sequence[RunRow]:
        """Listings, newest `created_at` first."""
        ...

    async def approvals(self, run_id: str | None = None) -> Sequence[ApprovalRow]: ...

    async def approval(self, approval_id: str) -> ApprovalRow | None: ...

    async def post(self, run_id: str, body: JsonObject) -> int:
        """Leave a command for the run's driver, durably; gives its id."""
        ...

    async def posted(self, run_ids: Sequence[str]) -> Sequence[PostedCommand]:
        """Commands waiting for these runs, in order of posting; they stay until an Append consumes them."""
        ...

    async def changed(self) -> bool:
        """Whether another process has committed anything since the last call (cheap: polled every 50 ms)."""
        ...

    async def claim(self, run_id: str) -> bool:
        """Become the run's driver; False while another living process is. A dead driver's claim is free at once."""
        ...

    async def release(self, run_id: str) -> None: ...

    async def driver_alive(self, run_id: str) -> bool:
        """Whether any living process (this one included) drives the run."""
        ...

    async def put_blob(self, data: bytes) -> str:
        """Keep a large value, durably before this returns; gives its `sha256:` name."""
        ...

    async def blob(self, name: str) -> bytes:
        """The bytes behind a name, checked against it (NotFound, Corrupt)."""
        ...

    async def cached(self, key: str) -> JsonObject | None: ...

    async def close(self) -> None: ...
