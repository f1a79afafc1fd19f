"""A store that gives way at every call and fails now and then, before or after it has done its work, by chance.

It also fails between two chunks of a run's events.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from random import Random
from typing import Any, cast

from openskelo import errors
from openskelo.stores import api

#: What a store may raise: what it promises, and what it does not.
FAULTS: tuple[Callable[[], Exception], ...] = (
    lambda: errors.StoreError("in trouble", code="STORE_IO"),
    lambda: errors.StoreError("held", code="STORE_BUSY"),
    lambda: errors.StoreFull("no space left"),
    lambda: OSError(5, "Input/output error"),
    lambda: sqlite3.OperationalError("disk I/O error"),
    lambda: RuntimeError("a defect of the store"),
)


class FaultyStore:
    """Passes every call to another store. `faults` counts those that it has made, by method and moment."""

    def __init__(self, inner: api.Store, chance: Random, likelihood: float) -> None:
        self._inner = inner
        self._chance = chance
        self.likelihood = likelihood
        self.faults: Counter[tuple[str, str]] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name == "read_events":
            return self._read_events
        if not inspect.iscoroutinefunction(found) or name == "close":
            return found
        return functools.partial(self._call, name, found)

    async def _call(self, name: str, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        await self._meet(name, "before")
        result = await method(*args, **kwargs)
        await self._meet(name, "after")
        return result

    async def _read_events(self, run_id: str, *, after: int = 0) -> AsyncIterator[Sequence[bytes]]:
        await self._meet("read_events", "before")
        async for lines in self._inner.read_events(run_id, after=after):
            yield lines
            await self._meet("read_events", "within")

    async def _meet(self, name: str, moment: str) -> None:
        for _ in range(self._chance.randint(0, 2)):
            await asyncio.sleep(0)
        if self._chance.random() < self.likelihood:
            self.faults[name, moment] += 1
            fault = self._chance.choice(FAULTS)
            raise fault()


def wrap(inner: api.Store, chance: Random, likelihood: float) -> tuple[api.Store, FaultyStore]:
    """Return the faulty store as the engine sees it, and as the test does."""
    faulty = FaultyStore(inner, chance, likelihood)
    return cast("api.Store", faulty), faulty
