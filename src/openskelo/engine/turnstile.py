"""A lock that lets one through at a time, in the order they came, and can be taken at once where it is free."""

from __future__ import annotations

import asyncio
from collections import deque


class Turnstile:
    """As `asyncio.Lock`, but for `take`: a step takes it without waiting, and is not made to pay for waiting."""

    __slots__ = ("_waiting", "taken")

    def __init__(self) -> None:
        self.taken = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take(self) -> None:
        """Take it, which only somebody may do who has just seen that it is free."""
        assert not self.taken  # noqa: S101  two turns at once would mix up what they decide
        self.taken = True

    def give(self) -> None:
        """Give it back: to the first who waits, else to whoever comes next."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.taken = False

    async def __aenter__(self) -> None:
        if not self.taken:
            self.taken = True
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():  # it was ours already
                self.give()
            raise

    async def __aexit__(self, *_: object) -> None:
        self.give()
