"""The runs that this process drives, and why it dropped others.

Dropped runs (the store failed, or a defect) are remembered with their error, which later callers get.

`QueuedRuns` are those that have not begun because no worker process is free for them.

`Timers` says when time itself moves a run. Retries after a pause and wall-time limits are due when their time has
passed by the event loop's clock, or the system's clock shows it; so neither a clock that is set back nor a machine
that sleeps delays them. Approvals expire by the system's clock alone. The times that count are kept on the run
(`Timer`). The heaps order them; older entries of the same run stay in a heap and are skipped when they come up.
"""

from __future__ import annotations

import copy
import heapq
import math
from collections.abc import Iterator, Mapping

from openskelo import errors
from openskelo.engine.commands import input_checks
from openskelo.engine.drive import driven_run
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.kernel import answers, commands, decide
from openskelo.kernel.run import OpenApproval, status
from openskelo.stores import api

#: How many dropped runs are remembered: when the store fails, all runs are dropped at once.
REMEMBERED_DROPPED = 10_000


def failure_of(error: BaseException) -> errors.OpenSkeloError:
    """Return what the callers of a dropped run get: an error of the store or the system as it is, else a defect."""
    if isinstance(error, errors.StoreError):
        return error
    if isinstance(error, OSError):
        return errors.StoreError(f"the system failed: {error}", code="STORE_IO", hint="resume the run")
    return errors.OpenSkeloError(f"the driver failed: {error!r}", code="INTERNAL")


class DrivenRuns:
    """The driven runs by id. Only the driver adds and removes them."""

    def __init__(self) -> None:
        self.by_id: dict[str, driven_run.DrivenRun] = {}
        self._dropped: dict[str, errors.OpenSkeloError] = {}

    def get(self, run_id: str) -> driven_run.DrivenRun | None:
        """Return the run while this process drives it."""
        return self.by_id.get(run_id)

    def all(self) -> tuple[driven_run.DrivenRun, ...]:
        """Return every run that this process drives."""
        return tuple(self.by_id.values())

    def failure(self, run_id: str) -> errors.OpenSkeloError | None:
        """Return the error that made this process drop a run, if it did not long ago."""
        return copy.copy(self._dropped.get(run_id))  # each caller raises an error of its own

    def forget(self, run_id: str) -> None:
        """Forget why this process dropped a run."""
        self._dropped.pop(run_id, None)

    # -- what the driver calls ----------------------------------------------------------------------------------------

    def add(self, driven: driven_run.DrivenRun) -> None:
        """Add a run that is driven here from now on."""
        self.by_id[driven.id] = driven
        self._dropped.pop(driven.id, None)

    def remove(self, driven: driven_run.DrivenRun) -> None:
        """Remove a run that has ended, or that waits and can be added again."""
        self.by_id.pop(driven.id, None)

    def drop(self, driven: driven_run.DrivenRun, error: errors.OpenSkeloError) -> None:
        """Remove a run that cannot be driven on here; its callers get `error`."""
        del self.by_id[driven.id]
        self._dropped[driven.id] = copy.copy(error)  # without its traceback, whose frames hold the run
        if len(self._dropped) > REMEMBERED_DROPPED:
            del self._dropped[next(iter(self._dropped))]
        driven.drop(error)

    def close(self, error: errors.OpenSkeloError) -> None:
        """Remove every run because the driver stops; their callers get `error`, and it is not remembered."""
        for run in self.by_id.values():
            run.drop(error)
        self.by_id.clear()


class QueuedRuns:
    """The driven runs that have not begun because no worker process is free, in the order in which they came.

    Only runs whose first work needs a worker are queued. A worker is taken from the start of an attempt that needs one,
    not from when the attempt reaches the pool: so of many runs that start at once only as many begin as there are free
    workers. A run that has begun is never queued again: its later attempts wait in the pool.
    """

    def __init__(self, driven_runs: DrivenRuns, performer: attempt_performer.Performer) -> None:
        self._driven_runs = driven_runs
        self._performer = performer
        self._queue: dict[str, driven_run.DrivenRun] = {}

    def may_begin(self, run: driven_run.DrivenRun) -> bool:
        """True if the run may start its first attempt; if not, it is queued."""
        workflow = run.state.workflow
        if not all(self._performer.needs_worker(workflow.nodes[key]) for key in run.state.ready):
            return True
        is_next = run.id in self._queue or not self._queue
        if is_next and self._count_free_workers():
            self._queue.pop(run.id, None)
            return True
        self._queue[run.id] = run
        return False

    def wake(self, now: int) -> None:
        """Send a `Tick` to the first queued runs, one for each free worker; runs that wait no more are removed."""
        if not self._queue:
            return
        free_workers = self._count_free_workers()
        for run in tuple(self._queue.values()):
            if not free_workers:
                return
            if self._driven_runs.get(run.id) is run and status(run.state) == "queued":
                run.send(driven_run.QueuedCommand(command=commands.Tick(at=now)))
                free_workers -= 1
            else:
                del self._queue[run.id]

    def _count_free_workers(self) -> int:
        free_workers = self._performer.worker_count()
        for run in self._driven_runs.by_id.values():
            for attempt in run.state.in_flight.values():
                if self._performer.needs_worker(run.state.workflow.nodes[attempt.node]):
                    free_workers -= 1
                    if free_workers == 0:
                        return 0
        return free_workers


#: A heap is rebuilt when it has this many entries more than twice the number of runs.
_STALE_ENTRIES = 64


class Timers:
    """The times at which the driver wakes runs. `wall` is the system's clock (ms), `loop_time` the event loop's (s)."""

    def __init__(self) -> None:
        self._by_wall: list[tuple[int, str]] = []
        self._by_loop: list[tuple[float, str]] = []

    def set(self, driven: driven_run.DrivenRun, wall: int, loop_time: float) -> bool:
        """Note when the run, as it is now, wants to be woken; True if that is before every other run."""
        run, timer = driven.state, driven.timer
        if timer.tick_at is None and timer.expires_at is None and not (run.timers or run.expiries or run.has_limits):
            return False  # most runs wait for no time
        is_first = False
        tick_at, expires_at = decide.tick_at(run), decide.next_expiry(run)
        if tick_at is not None and tick_at != timer.tick_at:
            timer.due_at = loop_time + max(0, tick_at - driven.now(wall)) / 1000
            heapq.heappush(self._by_loop, (timer.due_at, driven.id))
            heapq.heappush(self._by_wall, (tick_at, driven.id))
            is_first = self._by_loop[0][1] == driven.id or self._by_wall[0][1] == driven.id
        if expires_at is not None and expires_at != timer.expires_at:
            heapq.heappush(self._by_wall, (expires_at, driven.id))
            is_first = is_first or self._by_wall[0][1] == driven.id
        timer.tick_at, timer.expires_at = tick_at, expires_at
        return is_first

    def seconds_until_next(self, wall: int, loop_time: float) -> float:
        """Return how long no run has to be woken; infinity without timers."""
        by_wall = (self._by_wall[0][0] - wall) / 1000 if self._by_wall else math.inf
        by_loop = self._by_loop[0][0] - loop_time if self._by_loop else math.inf
        return max(0.0, min(by_wall, by_loop))

    def due(
        self, driven_runs: Mapping[str, driven_run.DrivenRun], wall: int, loop_time: float
    ) -> Iterator[tuple[driven_run.DrivenRun, int]]:
        """Yield the runs whose time has come, each once, with the time by which to wake it."""
        if len(self._by_wall) > 2 * len(driven_runs) + _STALE_ENTRIES:  # most are of runs that have ended
            self._rebuild(driven_runs)
        run_ids: dict[str, None] = {}
        while self._by_wall and self._by_wall[0][0] <= wall:
            run_ids[heapq.heappop(self._by_wall)[1]] = None
        while self._by_loop and self._by_loop[0][0] <= loop_time:
            run_ids[heapq.heappop(self._by_loop)[1]] = None
        for run in [driven_runs[run_id] for run_id in run_ids if run_id in driven_runs]:
            timer = run.timer
            tick_at, is_tick = timer.tick_at, False
            if tick_at is not None:
                is_tick = tick_at <= wall or timer.due_at <= loop_time
            if is_tick or (timer.expires_at is not None and timer.expires_at <= wall):
                run.timer = driven_run.Timer()
                yield run, max(wall, tick_at) if is_tick and tick_at is not None else wall

    def _rebuild(self, driven_runs: Mapping[str, driven_run.DrivenRun]) -> None:
        self._by_wall.clear()
        self._by_loop.clear()
        for run_id, run in driven_runs.items():
            if run.timer.tick_at is not None:
                self._by_loop.append((run.timer.due_at, run_id))
            self._by_wall += [(at, run_id) for at in (run.timer.tick_at, run.timer.expires_at) if at is not None]
        heapq.heapify(self._by_wall)
        heapq.heapify(self._by_loop)


async def expire(
    blobs: api.Blobs, driven: driven_run.DrivenRun, approval: OpenApproval, now: int
) -> commands.AnswerApproval:
    """Return the answer that an expired approval gets: what its node says in `on_timeout`, else denied."""
    approval_rule = driven.state.workflow.nodes[approval.node].approval
    approve = approval_rule is not None and approval_rule.on_timeout == "approve"
    answer = input_checks.Answer(status="approved" if approve else "denied", by=answers.TIMER, reason="expired")
    try:
        return await input_checks.answer_command(blobs, driven.state, approval, answer, now)
    except errors.InvalidInput as error:  # the form wants values that only a person has
        denial = input_checks.Answer(status="denied", by=answers.TIMER, reason=f"expired; {error.message}")
        return await input_checks.answer_command(blobs, driven.state, approval, denial, now)
