"""What a run owes now beside its attempts (`Run.in_flight`), read off its state: values, and what time moves."""

from __future__ import annotations

from openskelo.kernel import budget
from openskelo.kernel.run import OpenApproval, Run


def resolutions(run: Run) -> tuple[str, ...]:
    """Nodes whose expressions want their values before anything else happens."""
    if not run.resolving or run.ending is not None or run.paused is not None:
        return ()
    return tuple(run.resolving)


def wake_at(run: Run) -> int | None:
    """The next moment at which time itself moves the run."""
    if run.ended or not (run.timers or run.expiries or run.limited):
        return None
    times: list[int] = []
    if run.timers and run.paused is None:
        times.append(run.timers[0][0])
    if (deadline := budget.wall_deadline(run)) is not None:
        times.append(deadline)
    if run.expiries:
        times.append(run.expiries[0][0])
    return min(times, default=None)


def expired(run: Run, at: int) -> tuple[OpenApproval, ...]:
    """Open approvals whose time is up, the longest first; the driver answers them in the clock's name."""
    due: list[tuple[int, str]] = []
    places = [0]
    while places:
        place = places.pop()
        if place < len(run.expiries) and run.expiries[place][0] <= at:
            due.append(run.expiries[place])
            places += (2 * place + 1, 2 * place + 2)  # below a later time in the heap there are only later ones
    return tuple(run.approvals[approval_id] for _, approval_id in sorted(due) if approval_id in run.approvals)
