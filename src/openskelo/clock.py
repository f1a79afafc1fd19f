"""The system's clock, and the time of a run, which never goes back.

Deadlines that people see (until when an approval waits) are compared with the system's clock. The events of a run are
in order of time, even if that clock is set back: each run has a time of its own, which is ahead of the system's only if
its own log is. So a run that was written while the clock was wrong moves no other run.
"""

from __future__ import annotations

import time


class RunClock:
    """The time of one run: the system's, unless the run's last event is later.

    Then it goes on from that event at the usual speed, until the system's clock has caught up.
    """

    __slots__ = ("_ahead",)

    def __init__(self) -> None:
        self._ahead = 0  # how far it is ahead of the system's clock

    def at(self, wall: int, floor: int) -> int:
        """Return the run's time, in ms, when the system's clock shows `wall` and the last event is of `floor`."""
        if wall >= floor:
            self._ahead = 0
        elif wall + self._ahead < floor:
            self._ahead = floor - wall
        return wall + self._ahead


def wall_ms() -> int:
    """Return the system's time in milliseconds."""
    return time.time_ns() // 1_000_000
