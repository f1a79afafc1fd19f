"""The system's clock, and the time of a run, which never goes back.

Deadlines that people see (until when an approval waits) are compared with the system's clock. The events of a run are
in order of time, even if that clock is set back: each run has a time of its own, which is ahead of the system's only if
its own log is. So a run that was written while the clock was wrong moves no other run.

How long a run has been busy is no matter of the system's clock, which may be set forward, or go on while the machine
sleeps. A second clock of the process, which no user can set, says how much time has passed.
"""

from __future__ import annotations

import time

#: The two clocks may differ by so much before the system's counts as set.
_TOLERANCE_MS = 1_000


class RunClock:
    """The time of one run: the system's, unless the run's own time is later.

    Then it goes on from there at the usual speed, until the system's clock has caught up. `last_event` is the time of
    the run's last event, in ms.
    """

    __slots__ = ("_offset",)

    def __init__(self, last_event: int) -> None:
        self._offset = last_event - _steady_ms()  # of the run's time at the usual speed, to the steady clock

    def at(self, wall: int, floor: int) -> int:
        """Return the run's time, in ms, when the system's clock shows `wall` and the last event is of `floor`."""
        usual = _steady_ms() + self._offset
        return wall if wall >= max(floor, usual - _TOLERANCE_MS) else max(floor, usual)

    def skip(self, wall: int) -> int:
        """Return how far (ms) the system's clock, which shows `wall`, was set ahead since this was asked last; or 0."""
        offset = wall - _steady_ms()
        skipped = max(0, offset - self._offset)
        self._offset += skipped
        return skipped if skipped >= _TOLERANCE_MS else 0


def wall_ms() -> int:
    """Return the system's time in milliseconds."""
    return time.time_ns() // 1_000_000


def _steady_ms() -> int:
    """Return the milliseconds of a clock that is never set, and may stand still while the machine sleeps."""
    return time.monotonic_ns() // 1_000_000
