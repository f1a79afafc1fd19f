"""The time that runs are told: in milliseconds, and never earlier than it was."""

from __future__ import annotations

import time
from collections.abc import Callable


class Clock:
    """Follows the system's clock; where that was set back, it goes on from where it was."""

    def __init__(self, read: Callable[[], int] | None = None) -> None:
        self._read = read or wall_ms
        self._latest = 0
        self._ahead = 0  # of a clock that was set back

    def now(self) -> int:
        """The time."""
        at = self._read()
        if at < self._latest:
            self._ahead = max(self._ahead, self._latest - at)
            at += self._ahead
        else:
            self._ahead = 0
        self._latest = at
        return at

    def reach(self, at: int) -> None:
        """It has been this late already."""
        self._latest = max(self._latest, at)


def wall_ms() -> int:
    """The system's clock as it is, for what is no fact of a run."""
    return time.time_ns() // 1_000_000
