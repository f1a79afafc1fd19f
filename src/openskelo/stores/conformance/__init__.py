"""What every store must do, as checks that run against any implementation of `Log`.

Each check takes a `rig.Open`, which opens one more store over the same data, as another process would. A check fails by
raising AssertionError and closes what it opened. The data must be empty when a check begins.
"""

from __future__ import annotations

from openskelo.stores.conformance import beside, feed, lines, retention, rig

CHECKS: tuple[rig.Check, ...] = (*lines.CHECKS, *feed.CHECKS, *beside.CHECKS, *retention.CHECKS)
