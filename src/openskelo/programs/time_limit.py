"""A time limit that holds even against work that refuses to stop."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeVar, cast

from openskelo import errors

_T = TypeVar("_T")
#: How long cancelled work may take to clean up before it is left behind.
GRACE_SECONDS = 2.0
#: A clock that stands still is looked at no more often than this.
_LEAST_SECONDS = 0.05
#: How much later than its end the end of work may be noticed.
_LATE_MS = 100


async def within(timeout_ms: int | None, work: Awaitable[_T], idle: Callable[[], float] | None = None) -> _T:
    """Return the result of `work`; raise AttemptFailed TIMEOUT once `timeout_ms` have passed and it was cancelled.

    How far the work had come is then unknown (`happened`). While the seconds of `idle` grow, the clock stands still.
    Without a limit this is a plain await: no task, no timer. Work that swallows its cancellation is abandoned.
    Work that blocks the loop cannot be stopped; what it gives after its time is a TIMEOUT all the same.
    """
    if timeout_ms is None:
        return await work
    start_time = time.perf_counter() - (0.0 if idle is None else idle())
    running = asyncio.ensure_future(cast("Coroutine[object, object, _T]", work))
    try:
        has_ended = await _ended(running, timeout_ms / 1000, start_time, idle)
    except asyncio.CancelledError:
        await _stop(running)
        raise
    if has_ended:
        if running.cancelled():  # no other code has this task, so the work cancelled itself
            _forget(running)
            raise cancelled_itself()
        try:
            result = running.result()
        finally:
            del running  # see `_forget`
        took_ms = int((time.perf_counter() - start_time - (0.0 if idle is None else idle())) * 1000)
        if took_ms <= timeout_ms + _LATE_MS:
            return result
        hint = "an `async def` that blocks cannot be stopped, a plain function can"
        late = f"took {took_ms} ms, and had {timeout_ms} ms"
        raise errors.AttemptFailed(late, code="TIMEOUT", hint=hint, happened="unknown")
    await _stop(running)
    raise stopped(timeout_ms)


async def _ended(running: asyncio.Future[_T], seconds: float, started: float, idle: Callable[[], float] | None) -> bool:
    """True if the work has ended when its time is over."""
    seconds_left = seconds
    while True:
        done_tasks, _ = await asyncio.wait({running}, timeout=seconds_left)
        if done_tasks or idle is None:
            return bool(done_tasks)
        seconds_left = seconds - (time.perf_counter() - started - idle())
        if seconds_left <= 0:
            return False
        seconds_left = max(seconds_left, _LEAST_SECONDS)


def stopped(timeout_ms: int | None) -> errors.AttemptFailed:
    """Return the failure of work that was stopped when its time was over."""
    return errors.AttemptFailed(f"stopped after {timeout_ms} ms", code="TIMEOUT", happened="unknown")


def cancelled_itself() -> errors.AttemptFailed:
    """Return the failure of work that cancelled its own task."""
    return errors.AttemptFailed(
        "CancelledError: the handler cancelled its own task", code="HANDLER_RAISED", happened="unknown"
    )


async def _stop(running: asyncio.Future[_T]) -> None:
    running.cancel()
    await asyncio.wait({running}, timeout=GRACE_SECONDS)
    if running.done():
        _forget(running)
    else:
        running.add_done_callback(_forget)


def _forget(ended: asyncio.Future[_T]) -> None:
    """Retrieve the exception of an abandoned task: asyncio logs exceptions that were never retrieved.

    A task that was cancelled lets go of its CancelledError when it is asked. That one has all frames of the work in its
    traceback, of which some have the task: as a cycle they would stay in memory for a long time.
    """
    with contextlib.suppress(asyncio.CancelledError):
        ended.exception()
