"""When the copies of the log (each run's events.jsonl) are brought up to date: together, a moment after the log."""

from __future__ import annotations

import asyncio

from openskelo import errors
from openskelo.stores import log

#: How far the copies may lag behind the log, beside the time until that is noticed.
LAG_SECONDS = 0.4


class Copies:
    """Whoever appends sets `behind`; whoever looks around now and then calls `catch_up`."""

    def __init__(self, store: log.Log) -> None:
        self.behind = False
        self._store = store
        self._due_at: float | None = None
        self._flushing: asyncio.Task[None] | None = None

    def catch_up(self, now: float) -> None:
        """Write them if it is time to, in a task of its own; one at a time."""
        if self._due_at is None:
            self._due_at = now + LAG_SECONDS if self.behind else None
        elif now >= self._due_at and (self._flushing is None or self._flushing.done()):
            self.behind, self._due_at = False, None
            self._flushing = asyncio.create_task(self._flush())

    async def settle(self) -> None:
        """Wait until what is being written is written."""
        if self._flushing is not None:
            await self._flushing

    async def _flush(self) -> None:
        try:
            await self._store.flush()
        except errors.StoreError:  # the log has every line; closing the store says so if there is no room then
            self.behind = True
