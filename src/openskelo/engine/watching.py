"""How one who looks at a run, waits for it or follows it hears of it, wherever it is driven."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable
from typing import cast

import orjson

from openskelo import errors
from openskelo.engine import document, driver, loading
from openskelo.kernel import run as runs
from openskelo.kernel.json import JsonObject
from openskelo.stores import log

#: How often one who waits looks whether the run's driver is still there.
LOOK_SECONDS = 0.2
_ON_THE_MOVE = ("queued", "running")


class Watching:
    """Tells of runs from the memory of a driver, and from the log where that drives them no longer, or never did."""

    def __init__(self, store: log.Log, drives: driver.Driver) -> None:
        self._store = store
        self._driver = drives

    async def show(self, run_id: str) -> JsonObject:
        """The run's document as it is now (NotFound)."""
        self._driver.check_home()
        async with self._driver.between_turns:
            run = self._driver.roster.last_state(run_id)
            return await self._document((await loading.load(self._store, run_id)).run if run is None else run)

    async def settled(self, run_id: str) -> JsonObject:
        """The run's document once it has ended, only a person can move it, or nobody drives it.

        StoreError when this process had to let go of it.
        """
        actor = self._driver.roster.get(run_id)
        if actor is None and self._driver.roster.last_state(run_id) is None:
            self._check_held(run_id)
            await self._settled_elsewhere(run_id)
            actor = self._driver.roster.get(run_id)
        if actor is None:
            return await self.show(run_id)
        while True:
            if actor.failure is None and not actor.is_settled():
                await actor.settle()  # also in the middle of a turn, the end of which is told
            async with self._driver.between_turns:
                if actor.failure is not None:
                    raise actor.failure
                if actor.is_settled():
                    return await self._document(actor.run)

    async def follow(self, run_id: str, *, after: int, until_end: bool) -> AsyncGenerator[JsonObject]:
        """The run's events after seq `after`: those there are, then live until the run ends, if they are wanted."""
        self._driver.check_home()
        seq = after
        ended = False
        while True:
            actor, before = self._driver.roster.get(run_id), seq
            async for lines in self._store.read(run_id, after=seq):
                for line in lines:
                    event = cast("JsonObject", orjson.loads(line))
                    seq = cast("int", event["seq"])
                    ended = event["type"] == "run.ended"
                    yield event
            if not ended and seq == before:
                ended = await has_ended(self._store, run_id)
                if ended:
                    continue  # before `after`, or in this moment: one more look tells
            if ended or not until_end:
                return
            if actor is None:
                self._check_held(run_id)
                await self._driver.elsewhere()
            elif actor.durable <= seq:
                await actor.move()

    async def _settled_elsewhere(self, run_id: str) -> None:
        """Wait until a run has ended, only a person can move it, nobody drives it (any more), or this process does."""
        while self._driver.roster.get(run_id) is None:
            row = await self._store.row(run_id)
            if row is None or row.status not in _ON_THE_MOVE or not await self._store.driver_alive(run_id):
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._driver.elsewhere()

    def _check_held(self, run_id: str) -> None:
        """Raise what made this process let go of a run, so that nobody waits for what will not come."""
        failure = self._driver.roster.failure(run_id)
        if failure is not None:
            raise failure

    def _document(self, run: runs.Run) -> Awaitable[JsonObject]:
        at = run.updated_at if run.ended else max(self._driver.now(), run.updated_at)
        return document.show(self._store, run, at)


async def has_ended(store: log.Log, run_id: str) -> bool:
    """Whether the run's end is in the log (NotFound)."""
    row = await store.row(run_id)
    if row is None:
        raise errors.NotFound(f"there is no run {run_id}", code="RUN_NOT_FOUND", hint="`skelo runs` lists them")
    return row.ending is not None
