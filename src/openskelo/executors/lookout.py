"""Looking for a message again and again instead of sleeping until it is there, where it is to be there soon.

To sleep and be woken takes as long as a quick handler does. Whoever looks takes a core, though: nobody looks while
others need it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

#: So much of the time that it looked, somebody else had the core: then it is needed.
_SHARED = 0.2
#: So long it is left to the others: at first, as an interrupt of a moment looks the same, and at most. Each time in a
#: row it is twice as long, and each time that nobody needed it half as long again.
LEAST_SECONDS, MOST_SECONDS = 0.002, 0.25


class Lookout:
    """Looks for so many seconds at most, and not at all on a machine with one core."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds if (os.cpu_count() or 1) > 1 else 0.0
        self._again_at = 0.0
        self._leave = LEAST_SECONDS

    def sees(self, look: Callable[[], bool]) -> bool:
        """Whether `look` has said yes in time; it is asked until it does."""
        now = began = time.perf_counter()
        if began < self._again_at:
            return False
        worked = time.thread_time()
        found = False
        while now - began < self._seconds and not found:
            found = look()
            now = time.perf_counter()
        if time.thread_time() - worked < (now - began) * (1 - _SHARED):
            self._again_at = now + self._leave
            self._leave = min(2 * self._leave, MOST_SECONDS)
        elif self._leave > LEAST_SECONDS:
            self._leave /= 2
        return found
