"""What deleted runs leave behind is swept after the answer, one sweep for all of them: each reads the whole log.

sweeper = Sweeper(engine.store)
async with sweeper.sweeping(): ...      # also what an earlier server still owed
await sweeper.owe(run_id)               # once the run is deleted
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator

from openskelo import errors
from openskelo.engine import clock, pruning
from openskelo.stores import log

#: So long it waits for more to be deleted.
GATHER_SECONDS = 1.0
#: How soon it tries again when the store could not do it.
AGAIN_SECONDS = 30.0
_PREFIX = "sweep:"
_LOG = logging.getLogger("openskelo.server.sweeper")


class Sweeper:
    """Sweeps from `sweeping` on. Belongs to one event loop."""

    def __init__(self, store: log.Log) -> None:
        self._store = store
        self._owing = asyncio.Event()

    async def owe(self, run_id: str) -> None:
        """Remember, durably, that a run was deleted."""
        await self._store.note(f"{_PREFIX}{run_id}", {}, at=clock.wall_ms())
        self._owing.set()

    @contextlib.asynccontextmanager
    async def sweeping(self) -> AsyncGenerator[None]:
        """Sweep for as long as this is open; what is owed at the end is done by the next server."""
        self._owing.set()
        task = asyncio.create_task(self._sweep(), name="sweeper")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _sweep(self) -> None:
        while True:
            await self._owing.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._owing.clear()
            try:
                await self._sweep_owed()
            except errors.StoreError as error:
                _LOG.warning("what deleted runs left behind is swept later: %s %s", error.code, error.message)
                self._owing.set()
                await asyncio.sleep(AGAIN_SECONDS)

    async def _sweep_owed(self) -> None:
        owed = await self._store.notes(_PREFIX)
        if owed:
            await pruning.sweep(self._store, [key.removeprefix(_PREFIX) for key in owed])
        for key in owed:
            await self._store.drop_notes(key, before=2**53)
