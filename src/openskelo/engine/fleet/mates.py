"""All mates of an engine: who begins the next run, and what becomes of the runs of one that is lost."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

import orjson

from openskelo import errors
from openskelo.engine import driver, pinning
from openskelo.engine.fleet import mate
from openskelo.executors import task
from openskelo.kernel import commands
from openskelo.kernel.json import JsonObject
from openskelo.providers import seam
from openskelo.stores import log

#: More than this helps nobody: they all write one log.
MOST = 64
#: So many runs of a lost one are taken up at once: they share commits.
AT_ONCE = 64
#: One that was lost sooner is not replaced: the next would be lost as soon.
STEADY_SECONDS = 60.0
#: How long after each failure another one is started in its place; after the last, the rest go on without it.
AGAIN_SECONDS = (1.0, 5.0, 30.0, 120.0, 600.0)
_LOG = logging.getLogger("openskelo.fleet")

#: Takes up a run in this process; suspended by somebody, or going on.
TakeUp: TypeAlias = Callable[[str, str | None], Awaitable[object]]


class Fleet:
    """The mates of one engine, which counts as one of them: each run is begun by who has fewest under way."""

    def __init__(self, store: log.Log, take_up: TakeUp, overhear: Callable[[task.Task, str], None]) -> None:
        self._store = store
        self._take_up = take_up
        self._overhear = overhear
        self._packed = b""
        self._mates: dict[mate.Mate, asyncio.Event] = {}  # each with what tells that it was lost, and its runs go on
        self._watches: set[asyncio.Task[None]] = set()  # one for each, which may be about to replace it
        self._keeping = False
        self._suspending: str | None = None  # who does
        self._leaving = False  # the runs of a lost one to the next keeper
        self._closing = False

    async def open(self, count: int, packed: bytes) -> None:
        """Start so many, each with what is packed, and wait until they are ready (OpenSkeloError: none is left)."""
        self._packed = packed
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
        chosen, fewest = None, here + 1
        for one in self._mates:
            if one.alive and len(one.runs) < fewest:
                chosen, fewest = one, len(one.runs)
        if chosen is None:
            return False
        try:
            await chosen.begin(pin, command, run_id)
        except mate.Lost:
            await self._taken_over(chosen)
            return await self._store.row(run_id) is not None
        return True

    async def wait(self, run_id: str) -> JsonObject | None:
        """What `Engine.wait` gives of a run that a mate drives; None of any other, which this process can see to.

        A mate that drove it to its end not long ago knows how it ended, without reading its log.
        """
        for one in self._mates:
            if run_id in one.runs or (one.alive and run_id in one.ended):
                try:
                    return orjson.loads(await one.wait(run_id) or b"")
                except mate.Lost:
                    await self._taken_over(one)
                    return None
        return None

    def forget(self, run_id: str) -> None:
        """Ask no mate how the run ended: it was pruned or deleted."""
        for one in self._mates:
            one.ended.pop(run_id, None)

    async def keep(self) -> None:
        """Let all mates keep the runs of the data dir going."""
        self._keeping, self._leaving = True, False
        await _all(one.keep() for one in self._mates)

    async def suspend(self, by: str) -> None:
        """Stop the runs of all mates cleanly, those of one that is lost or hangs, too.

        Where the runs of the data dir were kept going, those of a lost one are left to whoever keeps them going next.
        """
        self._leaving, self._keeping, self._suspending = self._leaving or self._keeping, False, by
        try:
            await _all(one.suspend(by) for one in self._mates)
            for lost in [one for one in self._mates if not one.alive]:
                await self._taken_over(lost)
        finally:
            self._suspending = None

    def drives(self, run_id: str) -> bool:
        """Whether a mate drives the run that it has begun."""
        return any(run_id in one.runs for one in self._mates)

    async def close(self) -> None:
        """End all mates. Their runs can be resumed."""
        self._closing = True
        for watch in self._watches:
            watch.cancel()
        for told in self._mates.values():
            told.set()
        try:
            await asyncio.gather(*self._watches, return_exceptions=True)
        finally:
            await asyncio.gather(*(one.end() for one in self._mates))

    async def _add(self) -> None:
        one = mate.Mate(self._overhear)
        await one.start(self._packed)
        self._mates[one] = asyncio.Event()
        watch = asyncio.create_task(self._watch(one), name="skelo-mate")
        self._watches.add(watch)
        watch.add_done_callback(self._watches.discard)
        if self._keeping:
            try:
                await _all([one.keep()])
            except errors.OpenSkeloError as error:  # it drives what it is given, and the others keep
                _LOG.warning("a process keeps no runs going: %s %s", error.code, error.message)

    async def _taken_over(self, lost: mate.Mate) -> None:
        """Wait until this process drives what the lost one drove (ENGINE_CLOSED when it was not lost but ended)."""
        taken_over = self._mates.get(lost)
        if taken_over is not None and not self._closing:
            await taken_over.wait()
        if self._closing:
            raise driver.closed()

    async def _watch(self, one: mate.Mate) -> None:
        """When it is lost, go on with its runs here, and with another one in its place."""
        await one.lost()
        try:
            await one.end()
            then = "they are left to whoever keeps runs going next" if self._leaving else "they go on here"
            _LOG.warning("a process that drove %d runs was lost (%s): %s", len(one.runs), one.ending, then)
            run_ids = tuple(one.runs)
            for start in range(0, len(run_ids), AT_ONCE):
                await asyncio.gather(*(self._go_on(run_id) for run_id in run_ids[start : start + AT_ONCE]))
        finally:
            self._mates.pop(one).set()
        lasted = time.monotonic() - one.began
        if self._leaving:
            pass  # a server that stops needs no other
        elif lasted >= STEADY_SECONDS:
            await self._replace()
        else:
            _LOG.warning("it had lasted %.0f s, and is not replaced: %s", lasted, self._left())

    async def _replace(self) -> None:
        """Start another one in the place of one that was lost. What keeps it from starting may pass."""
        for wait in (*AGAIN_SECONDS, None):
            try:
                await self._add()
            except errors.OpenSkeloError as error:
                then = f"it is not tried again: {self._left()}" if wait is None else f"again in {wait:g} s"
                _LOG.warning("it was not replaced (%s %s), %s", error.code, error.message, then)
                await asyncio.sleep(wait or 0)
            else:
                _LOG.info("it was replaced: %s", self._left())
                return

    def _left(self) -> str:
        """How many processes drive, this one included."""
        left = 1 + sum(one.alive for one in self._mates)
        return "one process drives runs" if left == 1 else f"{left} processes drive runs"

    async def _go_on(self, run_id: str) -> None:
        """Take up a run that a lost mate drove."""
        if self._leaving:
            return
        try:
            await self._take_up(run_id, self._suspending)
        except (errors.NotFound, errors.Busy):
            pass  # it was not begun; or the keeper of another mate was quicker
        except errors.OpenSkeloError as error:
            _LOG.warning("run %s could not be taken up: %s %s", run_id, error.code, error.message)
        except Exception:  # a defect of ours in one run is none in the others
            _LOG.exception("run %s could not be taken up", run_id)


async def _all(asked: Iterable[Awaitable[None]]) -> None:
    """Wait for all of them; a mate that is lost meanwhile has nothing to say."""
    for came_to in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(came_to, BaseException) and not isinstance(came_to, mate.Lost):
            raise came_to


def check(processes: object, project: task.Project, store: log.Log | None, provider: seam.Provider | None) -> None:
    """InvalidInput for a number of processes that cannot be, or when there is what only one process could have."""
    if not isinstance(processes, int) or not 1 <= processes <= MOST:
        raise errors.InvalidInput(f"`processes` is a number from 1 to {MOST}", code="USAGE")
    of_data_dir = store is None or getattr(store, "data_dir", None) == project.data_dir
    if provider is not None or not of_data_dir:
        raise errors.InvalidInput(
            "a provider, and a store other than the data dir's, belong to one process",
            code="ENGINE_PROCESSES",
            hint="several processes use the project's data dir and the models of its skelo.yaml",
        )
