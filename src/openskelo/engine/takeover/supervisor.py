"""The supervisor of a data dir: every run that can go on is driven, and runs that wait for a person cost no memory.

A server and a worker (`skelo worker`) each have one. It wakes when another process has changed the store (within 50 ms)
and at least once a second. Then it takes up runs that no process drives:

    queued      a server that shares its runs started them and left them to its workers
    stopped     another server or worker suspended them when it ended
    abandoned   listed as running, and their driver died
    commanded   another process has queued a command for them
    due         an approval of theirs has expired

Several supervisors may find the same run: the store's claim decides which of them drives it, the others get Busy. Runs
that only a person can move are released after two seconds; their log is all that is needed to go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol

from openskelo import clock, errors
from openskelo.engine.takeover import handover, ownership
from openskelo.project import Project
from openskelo.stores import api

#: How often the supervisor checks for runs whose driver died, and for approvals that have expired.
CHECK_SECONDS = 1.0
#: How long a run that only a person can move stays in memory.
IDLE_SECONDS = 2.0
#: How long the supervisor leaves a run alone that it could not take up, and a failure of its own unreported.
RETRY_SECONDS = 30.0
#: The most runs of one status that one check reads; the next check goes on after them.
PAGE = 500
#: The most runs that are taken up at the same time: they share commits.
AT_ONCE = 64
#: The name under which the supervisor suspends and resumes runs.
_BY = "server"
_LOG = logging.getLogger("openskelo.supervisor")


class SupervisedEngine(Protocol):
    """The methods of `engine.local.Engine` that the supervisor calls."""

    project: Project
    store: api.Store
    ownership: ownership.Ownership

    async def resume(self, run_id: str, *, by: str = "python", only: str | None = None) -> None: ...

    async def suspend(self, *, by: str = "python") -> None: ...

    async def wait_for_other_process(self) -> None: ...


class Supervisor:
    """Keeps the runs of an engine's data dir going from `start` until `stop`."""

    def __init__(self, engine: SupervisedEngine) -> None:
        self._engine = engine
        self._lock: handover.SupervisorLock | None = None
        self._task: asyncio.Task[None] | None = None
        self._wake_at: dict[str, int] = {}  # by waiting run, when an approval of it expires (ms)
        self._not_before: dict[str, float] = {}  # by run that could not be taken up, when to try again
        self._last_seen: dict[str, str] = {}  # by status, the run after which the next check goes on
        self._late: dict[str, float] = {}  # by ended run with queued commands, when that was first seen
        self._reported_at: dict[str, float] = {}  # by step of the loop, when its failure was last logged
        self._stale = True  # another process may have opened approvals that `_wake_at` lacks

    async def start(self) -> None:
        """Announce this process as one that takes up runs, resume stopped runs, and check for others from now on."""
        self._lock = handover.SupervisorLock(self._engine.project.data_dir)
        await self._take_stopped()
        self._task = asyncio.create_task(self._loop(), name="skelo-supervisor")

    async def stop(self) -> None:
        """Suspend every run driven here: `once` effects finish, other work is cut; the next supervisor goes on."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._lock is not None:
            self._lock.release()
        await self._engine.ownership.release_idle()
        try:
            # Before anything is suspended: the next supervisor resumes only runs that no person has paused.
            await handover.note_stopped(self._engine.store, self._engine.ownership.unpaused_runs())
        finally:
            await self._engine.suspend(by=_BY)

    async def _loop(self) -> None:
        check_at = 0.0
        every_second = (
            self._take_stopped,
            self._take_abandoned,
            self._learn_expiries,
            self._take_due,
            self._release_idle,
        )
        while True:
            if asyncio.get_running_loop().time() >= check_at:
                for step in every_second:  # first of all runs that have begun, which go on before others begin
                    await self._do(step)
                check_at = asyncio.get_running_loop().time() + CHECK_SECONDS
            await self._do(self._take_queued)
            await self._do(self._take_commanded)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CHECK_SECONDS):
                    await self._engine.wait_for_other_process()
                    self._stale = True

    async def _do(self, step: Callable[[], Awaitable[None]]) -> None:
        """Do one step of the loop. A failure, even a defect, is logged and ends nothing: the other steps go on."""
        try:
            await step()
        except errors.StoreError as error:
            _LOG.warning("%s %s", error.code, error.message)
            await asyncio.sleep(CHECK_SECONDS)
        except Exception:
            name, now = step.__name__.lstrip("_"), asyncio.get_running_loop().time()
            if now >= self._reported_at.get(name, float("-inf")) + RETRY_SECONDS:
                self._reported_at[name] = now
                _LOG.exception("the supervisor failed at %s", name)

    async def _take_queued(self) -> None:
        """Take up some of the runs that were left to the first process that finds them.

        In random order and only a few at a time, so that supervisors which check at the same moment share them.
        Runs that are driven are queued, too, while no worker process is free for them.
        """
        run_ids = [
            run_id for run_id in await self._list_page("queued") if not self._engine.ownership.is_driving(run_id)
        ]
        await self._take_all(random.sample(run_ids, min(AT_ONCE, len(run_ids))))

    async def _take_commanded(self) -> None:
        """Take up runs for which another process queued a command while they were not driven."""
        entries = await self._engine.store.list_commands(None)
        late: dict[str, float] = {}
        for run_id in dict.fromkeys(command.run_id for command in entries):
            row = await self._engine.store.find_run(run_id)
            if row is not None and row.ending is not None:
                late[run_id] = self._late.get(run_id, asyncio.get_running_loop().time())
            elif await self._is_free(run_id):
                await self._take(run_id)
        self._late = late
        before = asyncio.get_running_loop().time() - RETRY_SECONDS
        void = [command.id for command in entries if late.get(command.run_id, before) < before]
        if void:  # the processes that queued them have been told, or are dead
            await self._engine.store.withdraw_commands(void)

    async def _take_stopped(self) -> None:
        """Go on with runs that another supervisor suspended; one that still holds its run has not stopped it yet."""
        await self._take_all(await handover.stopped(self._engine.store), resume=True)

    async def _take_abandoned(self) -> None:
        """Take up runs whose driver died, or had to drop them."""
        await self._take_all(await self._list_page("running"))

    async def _list_page(self, status: str) -> list[str]:
        """Return the next runs with this status, in pages, so that each check goes on where the last one ended."""
        rows = await self._engine.store.list_runs(status=status, limit=PAGE, before=self._last_seen.pop(status, None))
        if len(rows) == PAGE:
            self._last_seen[status] = rows[-1].run_id
        return [row.run_id for row in rows]

    async def _learn_expiries(self) -> None:
        """Read when open approvals expire, those of runs that another process released included."""
        if not self._stale:
            return
        wake_at: dict[str, int] = {}
        for row in await self._engine.store.list_approvals():
            expires = row.document.get("expiresAt")
            if isinstance(expires, str):
                at = int(datetime.fromisoformat(expires).timestamp() * 1000)
                wake_at[row.run_id] = min(at, wake_at.get(row.run_id, at))
        self._wake_at = wake_at
        self._stale = False

    async def _take_due(self) -> None:
        """Take up runs with an expired approval."""
        now = clock.wall_ms()
        for run_id in [run_id for run_id, at in self._wake_at.items() if at <= now]:
            del self._wake_at[run_id]
            if await self._is_free(run_id):
                await self._take(run_id)

    async def _release_idle(self) -> None:
        """Release runs that only a person, or the time, can move."""
        for run_id, wake_at in (await self._engine.ownership.release_idle(seconds=IDLE_SECONDS)).items():
            if wake_at is not None:
                self._wake_at[run_id] = wake_at

    async def _is_free(self, run_id: str) -> bool:
        """True if no process drives the run, and no defect stopped it here.

        A run that is claimed here and not driven is free: the store failed it, and the claim could not be given up.
        """
        if self._engine.ownership.is_driving(run_id) or self._engine.ownership.has_defect(run_id):
            return False
        return not await self._engine.store.is_driver_alive(run_id, elsewhere=True)

    async def _take_all(self, run_ids: Sequence[str], *, resume: bool = False) -> None:
        """Take up those of the runs that no process drives."""
        free = [run_id for run_id in run_ids if await self._is_free(run_id)]
        for start in range(0, len(free), AT_ONCE):
            await asyncio.gather(*(self._take(run_id, resume=resume) for run_id in free[start : start + AT_ONCE]))

    async def _take(self, run_id: str, *, resume: bool = False) -> None:
        """Take up a run; one that cannot go on is left as it is, and tried again later."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._not_before.get(run_id, 0.0):
            return
        try:
            if resume:
                await self._engine.resume(run_id, by=_BY, only=handover.REASON)
            else:
                await self._engine.ownership.take(run_id, check_needs=True)
            self._not_before.pop(run_id, None)
        except errors.Busy:
            return  # another process was first
        except errors.NotFound:
            await handover.forget_stopped(self._engine.store, run_id)  # it was deleted meanwhile
        except errors.OpenSkeloError as error:
            self._not_before[run_id] = loop.time() + RETRY_SECONDS
            _LOG.warning("run %s cannot go on: %s %s", run_id, error.code, error.message)
        except Exception:  # a defect in one run must not stop the others
            self._not_before[run_id] = loop.time() + RETRY_SECONDS
            _LOG.exception("run %s cannot go on", run_id)
