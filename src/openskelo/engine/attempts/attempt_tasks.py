"""The asyncio tasks of a driver's attempts: each performs one attempt and puts its report into the run's mailbox."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine

from openskelo import errors
from openskelo.engine.attempts import attempt_report, attempt_task
from openskelo.engine.drive import driven_run, driven_runs
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.kernel import events
from openskelo.stores import api


class AttemptTasks:
    """Starts the attempts of one driver.

    `drop` removes a run from the driver; `is_stopping` is true once the driver or its loop is being stopped.
    """

    def __init__(
        self,
        store: api.Store,
        performer: attempt_performer.Performer,
        now: Callable[[], int],
        drop: Callable[[driven_run.DrivenRun, errors.OpenSkeloError], Awaitable[None]],
        is_stopping: Callable[[], bool],
    ) -> None:
        self._store = store
        self._performer = performer
        self._now = now
        self._drop = drop
        self._is_stopping = is_stopping
        self._tasks: set[asyncio.Task[None]] = set()

    def all(self) -> tuple[asyncio.Task[None], ...]:
        """Return the tasks that have not ended."""
        return tuple(self._tasks)

    def start(self, run: driven_run.DrivenRun, attempt: attempt_task.AttemptTask) -> None:
        """Perform an attempt whose start is durable."""
        run.attempts[attempt.key] = attempt
        attempt.task = self._create_task(self._perform(run, attempt))

    def steer(self, run: driven_run.DrivenRun, message: events.MessageReceived) -> None:
        """Give a message to the agent of the node's attempt, if one is under way."""
        attempt = run.attempts.get((message.node, run.state.nodes[message.node].visit, 0))
        if attempt is not None:
            self._create_task(attempt_report.steer(self._store, attempt, message.content))

    def _create_task(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _perform(self, run: driven_run.DrivenRun, attempt: attempt_task.AttemptTask) -> None:
        """Perform one attempt and send its report to the run."""
        report, failure = None, None
        try:
            report = await attempt_report.perform(self._store, self._performer, run, attempt, self._now)
        except (KeyboardInterrupt, SystemExit):
            raise
        except Exception as error:  # of the store's or the system's, or a defect of ours
            failure = driven_runs.failure_of(error)
        except BaseException as error:
            if not (attempt.cancelled or self._is_ending(attempt.task)):
                report = attempt_report.lost(self._performer, attempt, error, self._now())
            elif not isinstance(error, asyncio.CancelledError):  # which a task would keep, with all its frames
                raise
        finally:
            if run.attempts.get(attempt.key) is attempt:
                del run.attempts[attempt.key]
        if failure is not None:  # the outcome cannot be kept: to the log the attempt was cut
            await self._drop(run, failure)
        elif report is not None:
            run.send(report)

    def _is_ending(self, task: asyncio.Task[None] | None) -> bool:
        """True if what ended an attempt's task was meant for the program: the driver or the event loop stops."""
        try:
            is_gone = asyncio.current_task() is not task
        except RuntimeError:
            is_gone = True
        return is_gone or self._is_stopping()
