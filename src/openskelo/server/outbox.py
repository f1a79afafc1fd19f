"""What waits to be sent to one client: bounded, so that a client that does not read costs no more than that."""

from __future__ import annotations

import asyncio
from collections import deque

from openskelo.server import frames

#: So many bytes may wait for one client before everything that waits is dropped and it has to begin anew.
MAX_BYTES = 1024 * 1024


class Outbox:
    """Frames for one client. One that falls behind is `lagging`: nothing waits for it until it has begun anew."""

    def __init__(self) -> None:
        self.lagging = False
        self.closed = False
        self._waiting: deque[frames.Frame] = deque()
        self._bytes = 0
        self._woken = asyncio.Event()

    def put(self, frame: frames.Frame) -> None:
        """Let the client have a frame when it is ready; never waits. A first frame fits, whatever its size."""
        if self.lagging or self.closed:
            return
        if self._waiting and self._bytes + len(frame.data) > MAX_BYTES:
            self._waiting.clear()
            self._bytes = 0
            self.lagging = True
        else:
            self._waiting.append(frame)
            self._bytes += len(frame.data)
        self._woken.set()

    @property
    def waiting_bytes(self) -> int:
        """How much waits."""
        return self._bytes

    @property
    def over(self) -> bool:
        """Whether there is no use in waiting: it is closed, or has to begin anew."""
        return self.lagging or self.closed

    def begin_anew(self) -> None:
        """The client has been told that it fell behind."""
        self.lagging = False

    def close(self) -> None:
        """Nothing more will come; what waits is still taken."""
        self.closed = True
        self._woken.set()

    async def take(self, silence: float) -> frames.Frame | None:
        """The next frame, or None: after `silence` seconds without any, or when none is left and it is `over`."""
        if not self._waiting and not self.over:
            self._woken.clear()
            try:
                async with asyncio.timeout(silence):
                    await self._woken.wait()
            except TimeoutError:
                return None
        if not self._waiting:
            return None
        frame = self._waiting.popleft()
        self._bytes -= len(frame.data)
        return frame
