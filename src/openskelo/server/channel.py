"""Frames on their way to many clients: kept once for all of them, each of whom takes them at its own pace.

However many clients are slow, they cost no more than one channel's bound; one that falls out of it begins anew.
"""

from __future__ import annotations

import asyncio

from openskelo.server import frames

#: So many bytes are kept for the slowest.
MAX_BYTES = 4 * 1024 * 1024
#: What everybody has taken is let go of once there are so many.
SOME_BYTES = 64 * 1024


class Channel:
    """The newest frames, by number. `send` never waits for anybody."""

    def __init__(self) -> None:
        self.followers: set[Follower] = set()
        self.first = 0
        self.next = 0
        self.bytes = 0
        self._frames: dict[int, frames.Frame] = {}

    def send(self, frame: frames.Frame) -> None:
        """Let every follower have a frame when it is ready for it."""
        self._frames[self.next] = frame
        self.next += 1
        self.bytes += len(frame.data)
        if self.bytes > SOME_BYTES:
            self._let_go()
        for follower in self.followers:
            follower.wake()

    def _let_go(self) -> None:
        slowest = min((follower.at for follower in self.followers), default=self.next)
        while self.first < self.next - 1 and (self.first < slowest or self.bytes > MAX_BYTES):
            self.bytes -= len(self._frames.pop(self.first).data)
            self.first += 1

    def get(self, number: int) -> frames.Frame:
        """The frame with this number, which is there from `first` until before `next`."""
        return self._frames[number]


class Follower:
    """One client: what it follows, and the number of the frame that it takes next."""

    def __init__(self) -> None:
        self.at = 0
        self.closed = False
        self._channel: Channel | None = None
        self._woken = asyncio.Event()

    def follow(self, channel: Channel) -> None:
        """Get everything that is sent from now on."""
        self.leave()
        self._channel = channel
        self.at = channel.next
        channel.followers.add(self)

    def leave(self) -> None:
        """Get nothing more."""
        if self._channel is not None:
            self._channel.followers.discard(self)
            self._channel = None

    def close(self) -> None:
        """Nothing more will come; what was sent before is still taken."""
        self.closed = True
        self.wake()

    def wake(self) -> None:
        """There is something to see."""
        self._woken.set()

    @property
    def lagging(self) -> bool:
        """Whether something is gone that it did not take: it has to begin anew."""
        return self._channel is not None and self.at < self._channel.first

    @property
    def over(self) -> bool:
        """Whether there is no use in waiting."""
        return self.closed or self.lagging

    async def take(self, silence: float) -> frames.Frame | None:
        """The next frame; None after `silence` seconds without any, or when none is left and it is `over`."""
        if not self._ready() and not self.over:
            self._woken.clear()
            try:
                async with asyncio.timeout(silence):
                    await self._woken.wait()
            except TimeoutError:
                return None
        if self._channel is None or not self._ready():
            return None
        self.at += 1
        return self._channel.get(self.at - 1)

    def _ready(self) -> bool:
        return self._channel is not None and self._channel.first <= self.at < self._channel.next
