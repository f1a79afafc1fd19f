"""Ctrl-C as two orders: the first suspends, the second cancels."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")


class Interrupted(Exception):
    """Somebody asked to stop what was being waited for; `hurried` when the system did (SIGTERM)."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.hurried = number == signal.SIGTERM


class Interrupts:
    """Counts SIGINT and SIGTERM while it is open, and lets a wait end when one arrives."""

    def __init__(self) -> None:
        self._arrived: asyncio.Queue[int] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> Interrupts:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self._arrived.put_nowait, number)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.remove_signal_handler(number)

    async def until(self, work: Coroutine[object, object, T]) -> T:
        """The result of `work`; Interrupted when a signal comes first (`work` is then cancelled and waited for)."""
        task = asyncio.ensure_future(work)
        signalled = asyncio.ensure_future(self._arrived.get())
        try:
            await asyncio.wait({task, signalled}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return await task
            raise Interrupted(signalled.result())
        finally:
            for waiting in (task, signalled):
                waiting.cancel()
            await asyncio.gather(task, signalled, return_exceptions=True)
