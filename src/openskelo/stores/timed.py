"""A SQLite log that notes how long its commits take, for a server that is asked about it."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

from openskelo.stores import log, sqlite

#: Upper bounds of the buckets, in seconds: from a commit that was not synced to a disk in trouble.
BOUNDS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Histogram:
    """How many observations fell up to each bound, how many there were, and their sum."""

    def __init__(self, bounds: Sequence[float] = BOUNDS) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count one more."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


class TimedLog(sqlite.SqliteLog):
    """As its base; `appends` has the duration of every commit that was made."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir)
        self.appends = Histogram()

    async def append(self, batch: Sequence[log.Append]) -> None:
        """Commit every Append of the batch at once, durably, or nothing of it (Conflict, StoreFull, StoreError)."""
        started = time.perf_counter()
        await super().append(batch)
        self.appends.observe(time.perf_counter() - started)
