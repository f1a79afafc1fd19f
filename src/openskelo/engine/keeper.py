"""The keeper of a data dir: sees to it that every run that can move is driven, and that waiting ones cost nothing.

It takes up runs whose driver died, runs for which somebody left a command, and runs whose time has come; it puts aside
those that only a person can move. A process that stands by has one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from openskelo import errors
from openskelo.engine import clock, local, standby, stopped

#: How often it looks for runs whose driver died, and for times that have come.
LOOK_SECONDS = 1.0
#: How long a run that only a person can move stays in memory.
IDLE_SECONDS = 2.0
#: How long it leaves a run alone that it could not take up, and is silent about what goes on failing.
AGAIN_SECONDS = 30.0
#: So many runs of a status it looks at in one look, and at the next ones in the next.
PAGE = 500
#: So many runs it takes up at once: they share commits.
AT_ONCE = 64
#: In whose name it suspends and resumes runs.
_BY = "server"
_LOG = logging.getLogger("openskelo.keeper")


class Keeper:
    """Keeps the runs of an engine's data dir going from `start` until `stop`."""

    def __init__(self, engine: local.Engine) -> None:
        self._engine = engine
        self._standby: standby.Standby | None = None
        self._task: asyncio.Task[None] | None = None
        self._wake_at: dict[str, int] = {}  # of runs that wait, when time itself moves them
        self._not_before: dict[str, float] = {}  # of runs that could not be taken up
        self._seen_to: dict[str, str] = {}  # by status, the run up to which it came where there were more
        self._late: dict[str, float] = {}  # of runs that had ended before what was posted for them, when that was seen
        self._told_at: dict[str, float] = {}  # of its own tasks, when it last said that one failed
        self._stale = True  # approvals may have been opened that `_wake_at` does not know

    async def start(self) -> None:
        """Stand by, go on with what the last keeper had to stop, and keep looking."""
        self._standby = standby.Standby(self._engine.project.data_dir)
        await self._engine.stand_by()
        await self._take_stopped()
        self._task = asyncio.create_task(self._keep(), name="skelo-keeper")

    async def stop(self) -> None:
        """Stop cleanly: `once` effects finish, other work is cut, and the next keeper goes on with all of it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._standby is not None:
            self._standby.leave()
        await self._engine.holding.put_aside()
        # Before anything is suspended: whoever finds a suspended run must know that nobody asked for that.
        await stopped.note(self._engine.store, self._engine.holding.driven())
        await self._engine.suspend(by=_BY)

    async def _keep(self) -> None:
        look_at = 0.0
        looks = (self._take_stopped, self._take_left, self._learn_times, self._take_due, self._put_aside)
        while True:
            await self._do(self._take_commanded)
            if asyncio.get_running_loop().time() >= look_at:
                for look in looks:
                    await self._do(look)
                look_at = asyncio.get_running_loop().time() + LOOK_SECONDS
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._engine.elsewhere()
                    self._stale = True

    async def _do(self, task: Callable[[], Awaitable[None]]) -> None:
        """Do one of its tasks. Nothing that comes of it ends the keeping, not even a defect: the others go on."""
        try:
            await task()
        except errors.StoreError as error:
            _LOG.warning("%s %s", error.code, error.message)
            await asyncio.sleep(LOOK_SECONDS)
        except Exception:
            name, now = task.__name__.lstrip("_"), asyncio.get_running_loop().time()
            if now >= self._told_at.get(name, float("-inf")) + AGAIN_SECONDS:
                self._told_at[name] = now
                _LOG.exception("keeping runs going failed at %s", name)

    async def _take_commanded(self) -> None:
        """Take up runs for which somebody left a command while nobody drove them."""
        posted = await self._engine.store.posted(None)
        late: dict[str, float] = {}
        for run_id in dict.fromkeys(command.run_id for command in posted):
            row = await self._engine.store.row(run_id)
            if row is not None and row.ending is not None:
                late[run_id] = self._late.get(run_id, asyncio.get_running_loop().time())
            elif await self._is_left(run_id):
                await self._attempt(run_id)
        self._late = late
        before = asyncio.get_running_loop().time() - AGAIN_SECONDS
        void = [command.id for command in posted if late.get(command.run_id, before) < before]
        if void:  # whoever posted them has been told, or is dead
            await self._engine.store.withdraw(void)

    async def _take_stopped(self) -> None:
        """Go on with runs that another keeper had to stop; one that still holds its run has not stopped it yet."""
        await self._attempt_all(await stopped.noted(self._engine.store), resume=True)

    async def _take_left(self) -> None:
        """Take up runs whose driver died, or had to let go of them."""
        for status in ("running", "queued"):
            rows = await self._engine.store.rows(status=status, limit=PAGE, before=self._seen_to.pop(status, None))
            if len(rows) == PAGE:
                self._seen_to[status] = rows[-1].run_id
            await self._attempt_all([row.run_id for row in rows])

    async def _learn_times(self) -> None:
        """When open approvals expire, those of runs that another process left behind included."""
        if not self._stale:
            return
        found: dict[str, int] = {}
        for row in await self._engine.store.approvals():
            expires = row.document.get("expiresAt")
            if isinstance(expires, str):
                at = int(datetime.fromisoformat(expires).timestamp() * 1000)
                found[row.run_id] = min(at, found.get(row.run_id, at))
        self._wake_at = found
        self._stale = False

    async def _take_due(self) -> None:
        """Take up runs whose time has come."""
        now = clock.wall_ms()
        for run_id in [run_id for run_id, at in self._wake_at.items() if at <= now]:
            del self._wake_at[run_id]
            if await self._is_left(run_id):
                await self._attempt(run_id)

    async def _put_aside(self) -> None:
        """Let go of runs that only a person, or the time, can move."""
        for run_id, wake_at in (await self._engine.holding.put_aside(idle=IDLE_SECONDS)).items():
            if wake_at is not None:
                self._wake_at[run_id] = wake_at

    async def _is_left(self, run_id: str) -> bool:
        """Whether nobody drives a run. One that is claimed here and not driven is: no room, or a log that another
        program held, took it out of memory, and the claim could not be given up either.
        """
        if self._engine.holding.is_driving(run_id) or self._engine.holding.was_failed(run_id):
            return False
        return not await self._engine.store.driver_alive(run_id, elsewhere=True)

    async def _attempt_all(self, run_ids: Sequence[str], *, resume: bool = False) -> None:
        """Take up those of the runs that nobody drives."""
        left = [run_id for run_id in run_ids if await self._is_left(run_id)]
        for start in range(0, len(left), AT_ONCE):
            await asyncio.gather(*(self._attempt(run_id, resume=resume) for run_id in left[start : start + AT_ONCE]))

    async def _attempt(self, run_id: str, *, resume: bool = False) -> None:
        """Take up a run; one that cannot be is left as it is, and tried again later."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._not_before.get(run_id, 0.0):
            return
        try:
            if resume:
                await self._engine.resume(run_id, by=_BY, only=stopped.REASON)
            else:
                await self._engine.holding.take(run_id, going_on=True)
            self._not_before.pop(run_id, None)
        except errors.Busy:
            return  # somebody else was quicker
        except errors.NotFound:
            await stopped.forget(self._engine.store, run_id)  # it was deleted meanwhile
        except errors.OpenSkeloError as error:
            self._not_before[run_id] = loop.time() + AGAIN_SECONDS
            _LOG.warning("run %s cannot go on: %s %s", run_id, error.code, error.message)
        except Exception:  # a defect of ours in one run is none in the others
            self._not_before[run_id] = loop.time() + AGAIN_SECONDS
            _LOG.exception("run %s cannot go on", run_id)
