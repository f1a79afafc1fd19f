"""Wait while this process or machine has no file descriptor left, and then do the work again.

A lack of descriptors (EMFILE, ENFILE) is trouble of the engine and says nothing about a step: other connections or
programs hold them, and give them back. So the attempt waits and does its work again. The wait is no new attempt, counts
against no retry, and is no part of the work's time. It ends after `MAX_SECONDS`: then the attempt is cut, as in a
crash, and its run can be resumed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from openskelo import errors
from openskelo.executors.attempt import running_attempt

T = TypeVar("T")

#: The pause before the work is tried again, at first and at most.
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0
#: How long an attempt waits.
MAX_SECONDS = 600.0
#: How long the next line about it is left out of the log.
LOG_SECONDS = 30.0
_LOG = logging.getLogger("openskelo.executors")


class DescriptorWait:
    """Lets attempts wait for descriptors; one for all attempts of an engine, which share a log line."""

    def __init__(self) -> None:
        # Python looks for the folder for temporary files once; without a descriptor it reports that none exists.
        with contextlib.suppress(OSError):
            tempfile.gettempdir()
        self._logged_at = float("-inf")

    async def retry(
        self,
        attempt: running_attempt.RunningAttempt,
        work: Callable[[], Awaitable[T]],
        lacks: Callable[[BaseException], bool],
    ) -> T:
        """Return the result of `work`, tried again as long as it raises an error which `lacks` descriptors.

        Raise StoreError DESCRIPTORS_EXHAUSTED after `MAX_SECONDS`, so that the driver drops the run without an outcome.
        """
        start_time, pause = time.perf_counter(), FIRST_PAUSE_SECONDS
        while True:
            lines = len(attempt.lines)
            try:
                return await work()
            except asyncio.CancelledError:
                raise
            except Exception as error:
                if not lacks(error):
                    raise
                if time.perf_counter() - start_time >= MAX_SECONDS:
                    raise _exhausted() from error
                del attempt.lines[lines:]
                self._log(attempt.request)
            waiting_since = time.perf_counter()
            await asyncio.sleep(pause)
            attempt.usage.waited += time.perf_counter() - waiting_since
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _log(self, request: running_attempt.AttemptRequest) -> None:
        now = time.monotonic()
        if now >= self._logged_at + LOG_SECONDS:
            self._logged_at = now
            _LOG.warning(
                "no file descriptor is left: %s of run %s waits, and perhaps others; raise the limit (ulimit -n)",
                request.node.key,
                request.run_id,
            )


def _exhausted() -> errors.StoreError:
    return errors.StoreError(
        f"no file descriptor was left for {MAX_SECONDS:.0f} seconds",
        code="DESCRIPTORS_EXHAUSTED",
        hint="raise the limit of open files (ulimit -n), then resume the run",
    )
