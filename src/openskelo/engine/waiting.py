"""Show a run, wait for it and follow it, wherever it is driven.

A run driven here is read from the driver's memory, between two turns, and its changes wake the waiting tasks. A run
driven elsewhere is read from its log; the driver's poll of the store (every 50 ms) wakes the waiting tasks.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable
from typing import cast

from openskelo.engine.drive import driver
from openskelo.history import loading, run_document
from openskelo.kernel import run as runs
from openskelo.kernel.json import JsonObject
from openskelo.stores import api
from openskelo.values import canonical

#: How often a waiting task checks that the run's driver is alive.
CHECK_SECONDS = 0.2
_MOVING = ("queued", "running")


class RunWatcher:
    """Reads runs from a driver's memory, and from the log if that driver does not drive them.

    With `share_runs` a queued run counts as one that a worker will drive soon.
    """

    def __init__(self, store: api.Store, run_driver: driver.Driver, *, share_runs: bool = False) -> None:
        self._store = store
        self._driver = run_driver
        self._share_runs = share_runs

    async def show(self, run_id: str) -> run_document.RunDocument:
        """Return the run's document as it is now. Raise NotFound for an unknown run."""
        self._driver.check_loop()
        await asyncio.sleep(0)  # reading may never suspend; a caller that polls must still let the driver go on
        async with self._driver.turn_lock:
            driven_run = self._driver.runs.get(run_id)
            if driven_run is not None:
                return await self._document(driven_run.state)
        run = (await loading.load(self._store, run_id)).run
        if not await self._store.is_driver_alive(run_id):
            return await run_document.show(self._store, run, run.updated_at)  # in this time nothing is counted
        return await self._document(run)

    async def wait(self, run_id: str) -> run_document.RunDocument:
        """Return the run's document once it has ended, only a person can move it, or no process drives it.

        StoreError when this process had to drop the run.
        """
        self._driver.check_loop()
        driven_run = self._driver.runs.get(run_id)
        if driven_run is None:
            self._raise_failure(run_id)
            await self._wait_elsewhere(run_id)
            driven_run = self._driver.runs.get(run_id)
        if driven_run is None:
            return await self.show(run_id)
        while True:
            if driven_run.failure is None and not driven_run.is_settled():
                await driven_run.wait_until_settled()
            async with self._driver.turn_lock:
                if driven_run.failure is not None:
                    raise driven_run.failure
                if driven_run.is_settled():
                    return await self._document(driven_run.state)

    async def follow(self, run_id: str, *, after: int, until_end: bool) -> AsyncGenerator[JsonObject]:
        """Yield the run's events after seq `after`: those in the log and, with `until_end`, new ones until it ends."""
        self._driver.check_loop()
        seq = after
        has_ended = False
        while True:
            driven_run, seq_before = self._driver.runs.get(run_id), seq
            async for lines in self._store.read_events(run_id, after=seq):
                for line in lines:
                    event = cast("JsonObject", canonical.loads_canonical(line))
                    seq = cast("int", event["seq"])
                    has_ended = event["type"] == "run.ended"
                    yield event
            if not has_ended and seq == seq_before:
                has_ended = await self._has_ended(run_id)
                if has_ended:
                    continue  # it ended before `after`, or just now: read once more
            if has_ended or not until_end:
                return
            if driven_run is None:
                self._raise_failure(run_id)
                await self._driver.inbox.wait_for_other_process()
            elif driven_run.durable_seq <= seq:
                await driven_run.wait_for_change()

    async def _wait_elsewhere(self, run_id: str) -> None:
        """Wait while another process drives the run: until it ends or only a person can move it."""
        while self._driver.runs.get(run_id) is None:
            row = await self._store.find_run(run_id)
            if row is None or row.status not in _MOVING:
                return
            is_driven_soon = self._share_runs and row.status == "queued"
            if not is_driven_soon and not await self._store.is_driver_alive(run_id):
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CHECK_SECONDS):
                    await self._driver.inbox.wait_for_other_process()

    async def _has_ended(self, run_id: str) -> bool:
        return (await api.get_run(self._store, run_id)).ending is not None

    def _raise_failure(self, run_id: str) -> None:
        """Raise the error that made this process drop the run: no event of it will come."""
        failure = self._driver.runs.failure(run_id)
        if failure is not None:
            raise failure

    def _document(self, run: runs.Run) -> Awaitable[run_document.RunDocument]:
        at = run.updated_at if run.ended else max(self._driver.now(), run.updated_at)
        return run_document.show(self._store, run, at)
