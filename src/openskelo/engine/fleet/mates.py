"""All mates of an engine: who begins the next run, and what becomes of the runs of one that is lost."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from openskelo import errors
from openskelo.engine import driver, pinning
from openskelo.engine.fleet import mate
from openskelo.kernel import commands
from openskelo.kernel.json import JsonObject
from openskelo.stores import log

#: More than this helps nobody: they all write one log.
MOST = 64
#: One that was lost sooner is not replaced: the next would be lost as soon.
STEADY_SECONDS = 60.0
_LOG = logging.getLogger("openskelo.fleet")

#: Takes up a run in this process.
TakeUp: TypeAlias = Callable[[str], Awaitable[None]]


class Fleet:
    """The mates of one engine, which counts as one of them: each run is begun by who has fewest under way."""

    def __init__(self, store: log.Log, take_up: TakeUp, packed: bytes) -> None:
        self._store = store
        self._take_up = take_up
        self._packed = packed
        self._mates: dict[mate.Mate, asyncio.Task[None]] = {}  # each with the task that waits for its end
        self._closing = False

    async def open(self, count: int) -> None:
        """Start so many, and wait until they are ready (OpenSkeloError: none is left)."""
        try:
            async with asyncio.TaskGroup() as starts:
                for _ in range(count):
                    starts.create_task(self._add())
        except BaseExceptionGroup as failed:
            await self.close()
            raise failed.exceptions[0] from None
        except BaseException:
            await self.close()
            raise

    async def begin(self, pin: pinning.Pin, command: commands.CreateRun, run_id: str, *, here: int) -> bool:
        """Whether a mate has begun the run; else it is for this process, which drives `here` of them.

        A mate that is lost meanwhile may have: its run goes on here then, as all of its runs do.
        """
        chosen = min((one for one in self._mates if one.alive), key=lambda one: len(one.runs), default=None)
        if chosen is None or here < len(chosen.runs):
            return False
        try:
            await chosen.begin(pin, command, run_id)
        except mate.Lost:
            await self._taken_over(chosen)
            return await self._store.row(run_id) is not None
        return True

    async def wait(self, run_id: str) -> JsonObject | None:
        """What `Engine.wait` gives of a run that a mate drives; None of any other, which this process can see to."""
        driving = next((one for one in self._mates if run_id in one.runs), None)
        if driving is None:
            return None
        try:
            return await driving.wait(run_id)
        except mate.Lost:
            await self._taken_over(driving)
            return None

    async def suspend(self, by: str) -> None:
        """Stop the runs of all mates cleanly; what a lost one drove is for this process."""
        asked = await asyncio.gather(*(one.suspend(by) for one in self._mates), return_exceptions=True)
        for came_to in asked:
            if isinstance(came_to, BaseException) and not isinstance(came_to, mate.Lost):
                raise came_to

    async def close(self) -> None:
        """End all mates. Their runs can be resumed."""
        self._closing = True
        await asyncio.gather(*(one.end() for one in self._mates))
        for watch in self._mates.values():
            watch.cancel()
        await asyncio.gather(*self._mates.values(), return_exceptions=True)

    async def _add(self) -> None:
        one = mate.Mate()
        await one.start(self._packed)
        self._mates[one] = asyncio.create_task(self._watch(one), name="skelo-mate")

    async def _taken_over(self, lost: mate.Mate) -> None:
        """Wait until this process drives what the lost one drove (ENGINE_CLOSED when it was not lost but ended)."""
        if self._closing:
            raise driver.closed()
        watch = self._mates.get(lost)
        if watch is not None:
            await asyncio.wait({watch})

    async def _watch(self, one: mate.Mate) -> None:
        """When it is lost, go on with its runs here, and with another one in its place."""
        await one.lost()
        if self._closing:
            return
        await one.end()
        _LOG.warning("a process that drove %d runs was lost (%s): they go on here", len(one.runs), one.ending)
        for run_id in tuple(one.runs):
            try:
                await self._take_up(run_id)
            except errors.NotFound:
                pass  # it was not begun
            except errors.OpenSkeloError as error:
                _LOG.warning("run %s could not be taken up: %s %s", run_id, error.code, error.message)
        del self._mates[one]
        if time.monotonic() - one.began >= STEADY_SECONDS:
            try:
                await self._add()
            except errors.OpenSkeloError as error:
                _LOG.warning("it was not replaced: %s %s", error.code, error.message)


def check(processes: object, *, of_this_process: Iterable[object]) -> None:
    """InvalidInput for a number of processes that cannot be, or what only one process could have is there."""
    if not isinstance(processes, int) or not 1 <= processes <= MOST:
        raise errors.InvalidInput(f"`processes` is a number from 1 to {MOST}", code="USAGE")
    if any(each is not None for each in of_this_process):
        raise errors.InvalidInput(
            "a store, a provider and `on_text` belong to one process",
            code="ENGINE_PROCESSES",
            hint="several processes use the project's data dir and the models of its skelo.yaml",
        )
