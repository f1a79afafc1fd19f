"""Attempts on their way to being performed, and the tasks that perform them one after the other.

A task for each attempt would cost more than a quick attempt itself. One task does as many as it can; when it has to
wait for one of them, more tasks are made for those that are left: one, then two, then four.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

from openskelo.frozen import mutable
from openskelo.kernel.run import AttemptId, InFlight

if TYPE_CHECKING:
    from openskelo.engine import actor as actors
    from openskelo.executors import job as jobs


@mutable
class Errand:
    """One attempt: nobody has begun it, `task` performs it, or it is `over`; `stopped` when somebody wanted it so.

    `job` is how far the work has come, once it has begun; `ended` is there where somebody waits for its end.
    """

    actor: actors.Actor
    key: AttemptId
    flight: InFlight
    task: asyncio.Task[None] | None = None
    job: jobs.Job | None = None
    over: bool = False
    stopped: bool = False
    ended: asyncio.Future[None] | None = None

    def cancel(self) -> None:
        """Stop it; what nobody has begun is over at once."""
        self.stopped = True
        if self.task is None:
            self.end()
        else:
            self.task.cancel()

    def end(self) -> None:
        """It is over, whatever it came to."""
        self.over = True
        self.task = None
        self.actor.work.pop(self.key, None)
        if self.ended is not None and not self.ended.done():
            self.ended.set_result(None)

    async def wait(self) -> None:
        """Wait until it is over."""
        if not self.over:
            if self.ended is None:
                self.ended = asyncio.get_running_loop().create_future()
            await asyncio.shield(self.ended)


class Errands:
    """The attempts that wait for a task, in their order, and all tasks there are."""

    def __init__(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        self._work = work
        self._waiting: deque[Errand] = deque()
        self._called = False
        self._hands = 1
        self.tasks: set[asyncio.Task[None]] = set()

    def add(self, errand: Errand) -> None:
        """Let somebody perform it soon."""
        self._waiting.append(errand)
        if not self._called:
            self._call()

    def take(self) -> Errand | None:
        """The next one, for the task that asks; None when there is none. Those left find somebody if it has to wait."""
        if not self._waiting:
            return None
        errand = self._waiting.popleft()
        if self._waiting and not self._called:
            self._call()
        return errand

    def _call(self) -> None:
        """Look for hands as soon as the loop is free: until then, whoever is at work may have done it all."""
        self._called = True
        asyncio.get_running_loop().call_soon(self._hire)

    def _hire(self) -> None:
        self._called = False
        if not self._waiting:
            self._hands = 1
            return
        for _ in range(min(self._hands, len(self._waiting))):
            task = asyncio.create_task(self._work())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        self._hands *= 2
