"""Whether a run has ended, and waiting for one that another engine drives, here or in another process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from openskelo import errors
from openskelo.stores import log

#: How often one who waits looks whether the run's driver is still there.
LOOK_SECONDS = 0.2
_ON_THE_MOVE = ("queued", "running")


async def has_ended(store: log.Log, run_id: str) -> bool:
    """Whether the run's end is in the log (NotFound)."""
    row = await store.row(run_id)
    if row is None:
        raise errors.NotFound(f"there is no run {run_id}", code="RUN_NOT_FOUND", hint="`skelo runs` lists them")
    return row.ending is not None


async def until_settled(
    store: log.Log,
    run_id: str,
    *,
    elsewhere: Callable[[], Awaitable[None]],
    is_driving: Callable[[str], bool],
) -> None:
    """Wait until the run has ended or only a person can move it, nobody drives it (any more), or this process does.

    `elsewhere` returns when another process has changed the store.
    """
    while not is_driving(run_id):
        row = await store.row(run_id)
        if row is None or row.status not in _ON_THE_MOVE or not await store.driver_alive(run_id):
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await elsewhere()
