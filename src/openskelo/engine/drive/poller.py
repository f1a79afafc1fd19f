"""The driver's second task: what the loop cannot wait for.

The loop sleeps until a command is in a mailbox. Neither the clock nor another process puts one there. So this task
wakes every 50 ms, or when a timer is due, and

    reads the commands that other processes queued                       inbox.Inbox
    lets the event files catch up with the log                           LogCopies
    releases claims on runs that the store could not release before      claim_releaser.ClaimReleaser
    wakes runs whose time has come, and answers expired approvals        driven_runs.Timers

It changes no run itself: it sends commands to mailboxes, or tells the driver to drop a run.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from openskelo import errors
from openskelo.engine.drive import driven_run, driven_runs
from openskelo.engine.drive import inbox as command_inbox
from openskelo.engine.takeover import claim_releaser
from openskelo.kernel import commands, decide
from openskelo.stores import api

POLL_SECONDS = 0.05  # how soon commands of other processes are noticed
LAG_SECONDS = 0.4  # how far the event files may lag behind the log
_LOG = logging.getLogger("openskelo.driver")


class Poller:
    """Polls the clock and the store for one driver, which runs `poll_forever` as a task. `drop` is the driver's."""

    def __init__(
        self,
        store: api.Store,
        runs: driven_runs.DrivenRuns,
        inbox: command_inbox.Inbox,
        now: Callable[[], int],
        drop: Callable[[driven_run.DrivenRun, errors.OpenSkeloError], Awaitable[None]],
    ) -> None:
        self.claims = claim_releaser.ClaimReleaser(store)
        self.copies = LogCopies(store)
        self._store = store
        self._runs = runs
        self._inbox = inbox
        self._now = now
        self._drop = drop
        self._timers = driven_runs.Timers()
        self._timer_set = asyncio.Event()  # a timer is due before all others
        self._logged: set[str] = set()

    def set_timer(self, run: driven_run.DrivenRun) -> None:
        """Note when the run, as it is now, wants to be woken."""
        if self._timers.set(run, self._now(), asyncio.get_running_loop().time()):
            self._timer_set.set()

    async def poll_forever(self) -> None:
        """Poll until the task is cancelled."""
        while True:
            self._timer_set.clear()
            await self._read_inbox()
            self.copies.catch_up(asyncio.get_running_loop().time())
            await self.claims.release_remaining(self._runs.by_id)
            await self._wake_due_runs()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._seconds_to_sleep()):
                    await self._timer_set.wait()

    def _seconds_to_sleep(self) -> float:
        until_timer = self._timers.seconds_until_next(self._now(), asyncio.get_running_loop().time())
        return min(POLL_SECONDS, until_timer)

    async def _read_inbox(self) -> None:
        """Read commands of other processes. A failure is tried again next time, unless the store is gone for good."""
        try:
            await self._inbox.poll()
        except Exception as error:
            failure = driven_runs.failure_of(error)
            if failure.code == "STORE_GONE":
                for run in self._runs.all():
                    await self._drop(run, failure)
            elif not isinstance(failure, errors.StoreError):
                self._log_once(error)

    async def _wake_due_runs(self) -> None:
        now = self._now()
        for run, at in self._timers.due(self._runs.by_id, now, asyncio.get_running_loop().time()):
            run.send(driven_run.QueuedCommand(command=commands.Tick(at=at)))
            try:
                for approval in decide.expired(run.state, now):
                    answer = await driven_runs.expire(self._store, run, approval, self._now())
                    run.send(driven_run.QueuedCommand(command=answer))
            except Exception as error:
                await self._drop(run, driven_runs.failure_of(error))

    def _log_once(self, error: Exception) -> None:
        """Log a failure that stops nothing, once for each kind of it."""
        if repr(error) not in self._logged:
            self._logged.add(repr(error))
            _LOG.error("the driver cannot read the commands of other processes", exc_info=error)


class LogCopies:
    """Brings the event files up to date a moment after the log.

    The driver sets `behind` when it has appended; the poller calls `catch_up` each time it wakes.
    """

    def __init__(self, store: api.Store) -> None:
        self.behind = False
        self._store = store
        self._due_at: float | None = None
        self._flush_task: asyncio.Task[None] | None = None

    def catch_up(self, now: float) -> None:
        """Write the copies if it is time to, in a task of its own; one at a time."""
        if self._due_at is None:
            self._due_at = now + LAG_SECONDS if self.behind else None
        elif now >= self._due_at and (self._flush_task is None or self._flush_task.done()):
            self.behind, self._due_at = False, None
            self._flush_task = asyncio.create_task(self._flush())

    async def wait(self) -> None:
        """Wait until a write that has begun is done."""
        if self._flush_task is not None:
            await self._flush_task

    async def _flush(self) -> None:
        try:
            await self._store.flush()
        except Exception:  # the log has every line; closing the store says so if there is no room then
            self.behind = True
