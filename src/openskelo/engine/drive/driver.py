"""The loop that drives runs.

Every command reaches a run through its mailbox: from callers in this process, from other processes (`inbox`), from the
clock (`driven_runs.Timers`) and from the run's own attempts. One task drives all runs:

    mailbox ──> decide and apply in memory ──> append (one commit for all runs) ──> visible
       ^                                                                              │
       └── report <── attempt (one asyncio task each) <── start / cancel attempts <───┘

So an intent is durable before its work starts, and a result is durable before a caller sees it or other work depends on
it. Runs that have commands at the same time share one commit: that makes many runs cheap. An append that fails leaves
memory ahead of the log; the run is dropped from memory and can be resumed from its log.

A second task polls what the loop cannot wait for: the clock, and the commands of other processes (`poller`).
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Mapping, Sequence

from openskelo import clock as clocks
from openskelo import errors
from openskelo.engine.attempts import attempt_task, attempt_tasks
from openskelo.engine.drive import driven_run, driven_runs, inbox, poller
from openskelo.engine.resolving import resolve
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.kernel import commands, events
from openskelo.stores import api

#: Failures of the store as a whole: appending each run by itself would fail, too.
_STORE_WIDE = frozenset({"STORE_BUSY", "STORE_GONE", "STORE_SYNC"})


class Driver:
    """Drives the runs of this process. Other tasks send commands and wait; only the loop changes runs."""

    def __init__(
        self,
        store: api.Store,
        performer: attempt_performer.Performer,
        clock: Callable[[], int] = clocks.wall_ms,
        *,
        cache: bool = True,
    ) -> None:
        self._store = store
        self._resolver = resolve.Resolver(store, performer, cache=cache)
        self.now = clock  # the system's time in milliseconds; each run makes its own time of it
        self.runs = driven_runs.DrivenRuns()
        self._queued_runs = driven_runs.QueuedRuns(self.runs, performer)
        self.inbox = inbox.Inbox(store, self.runs.by_id, self.now, performer)
        self.turn_lock = asyncio.Lock()  # held while memory is ahead of the log
        self._dirty: dict[str, driven_run.DrivenRun] = {}  # runs with commands in their mailbox
        self._has_commands = asyncio.Event()
        self._poller = poller.Poller(store, self.runs, self.inbox, self.now, self.drop)
        self.claims = self._poller.claims
        self._attempts = attempt_tasks.AttemptTasks(store, performer, self.now, self.drop, self._is_stopping)
        self._loop_task: asyncio.Task[None] | None = None
        self._poll_task: asyncio.Task[None] | None = None
        self._stopped = False
        self._defect: errors.OpenSkeloError | None = None  # what ended the loop

    # -- the loop -----------------------------------------------------------------------------------------------------

    async def _drive(self) -> None:
        while True:
            await self._has_commands.wait()
            self._has_commands.clear()
            async with self.turn_lock:
                await self._take_turns()

    async def _take_turns(self) -> None:
        """Let every run that has commands take a turn, and make all turns durable with one append."""
        dirty, self._dirty = self._dirty, {}
        turns: list[driven_run.Turn] = []
        for run in dirty.values():
            try:
                turn = await run.take_turn(self._resolver)
            except Exception as error:  # of the store, or a defect: it is this run's, and no other's
                await self._drop(run, driven_runs.failure_of(error))
                continue
            if turn is None:
                self._settle(run)
                run.notify()  # a task may wait until the mailbox is empty
            else:
                turns.append(turn)
        if turns:
            await self._append(turns)
        self._queued_runs.wake(self.now())

    async def _append(self, turns: Sequence[driven_run.Turn]) -> None:
        try:
            await self._store.append([turn.append for turn in turns])
        except Exception as error:
            await self._settle_failed(turns, driven_runs.failure_of(error))
            return
        self._poller.copies.behind = True
        for turn in turns:
            self._carry_out(turn)

    async def _settle_failed(self, turns: Sequence[driven_run.Turn], failure: errors.OpenSkeloError) -> None:
        """Carry out those turns of a failed append that the log has all the same, and drop the runs of the others."""
        is_unclear = not isinstance(failure, errors.Conflict)
        for turn in turns:
            if is_unclear and await self._is_committed(turn.append):
                self._carry_out(turn)
            elif len(turns) == 1 or failure.code in _STORE_WIDE:
                await self._drop(turn.run, failure)
            else:
                await self._append([turn])  # the conflict of one run must not take the others with it

    async def _is_committed(self, append: api.Append) -> bool:
        """True if the log has these lines: the commit succeeded, and only its answer was lost."""
        lines: list[bytes] = []
        try:
            async for chunk in self._store.read_events(append.run_id, after=append.expected_seq):
                lines += chunk
                if len(lines) >= len(append.lines):
                    break
        except Exception:  # the run is dropped, and read from its log when it is needed again
            return False
        return bool(append.lines) and tuple(lines[: len(append.lines)]) == tuple(append.lines)

    def _carry_out(self, turn: driven_run.Turn) -> None:
        """Do what a durable turn leads to: start and cancel attempts, acknowledge commands, wake waiters."""
        run = turn.run
        run.durable_seq = run.chain.seq
        for fact in turn.facts:
            if isinstance(fact, events.AttemptStarted):
                in_flight = run.state.in_flight.get((fact.node, fact.visit, fact.item or 0))
                if in_flight is not None and in_flight.attempt == fact.attempt:
                    self._attempts.start(run, attempt_task.AttemptTask(in_flight))
            elif isinstance(fact, events.AttemptCancelled | events.AttemptInterrupted):
                cancelled_task = run.attempts.pop((fact.node, fact.visit, fact.item or 0), None)
                if cancelled_task is not None:
                    cancelled_task.cancel()
            elif isinstance(fact, events.MessageReceived) and fact.steers:
                self._attempts.steer(run, fact)
            elif isinstance(fact, attempt_task.ABOUT_QUESTIONS):
                for attempt in run.attempts.values():
                    attempt.hear(fact)
        for queued_command in turn.commands:
            queued_command.acknowledge()
        self._settle(run)
        run.notify()

    def _settle(self, run: driven_run.DrivenRun) -> None:
        """After a turn: remove the run if it has ended, else note when it wants to be woken."""
        if run.state.ended:
            self.runs.remove(run)
        elif run.failure is None:
            self._poller.set_timer(run)

    async def drop(self, run: driven_run.DrivenRun, error: errors.OpenSkeloError) -> None:
        """Remove a run that cannot go on from memory, between two turns."""
        async with self.turn_lock:
            await self._drop(run, error)

    async def _drop(self, run: driven_run.DrivenRun, error: errors.OpenSkeloError) -> None:
        """Remove a run that cannot go on from memory; its log is as before the turn. Call with the turn lock."""
        if self.runs.get(run.id) is not run:
            return
        self.runs.drop(run, error)
        if error.code in _STORE_WIDE:
            self.claims.release_later(run.id)
        else:
            await self.claims.release(run.id)
        self._queued_runs.wake(self.now())

    # -- what the engine calls ----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start to drive."""
        self._loop_task = asyncio.create_task(self._guard(self._drive), name="skelo-driver")
        self._poll_task = asyncio.create_task(self._guard(self._poller.poll_forever), name="skelo-driver-poll")

    async def _guard(self, loop: Callable[[], Awaitable[None]]) -> None:
        """Run a loop of the driver; if it ends, no caller is left waiting."""
        try:
            await loop()
        except asyncio.CancelledError:
            if not self._stopped:  # the program cancels all its tasks before it closes the engine, or without
                self._close_runs()
            raise
        except GeneratorExit:
            raise
        except BaseException as error:  # a defect of ours
            self._give_up(error)
            raise

    def _give_up(self, error: BaseException) -> None:
        self._defect = driven_runs.failure_of(error)
        for run in self.runs.all():
            self.claims.release_later(run.id)
            self.runs.drop(run, self._defect)

    async def stop(self) -> None:
        """Stop the loop and the attempts under way, and fail callers that wait (ENGINE_CLOSED).

        A turn that has begun is finished first: what is durable stays so.
        """
        async with self.turn_lock:
            self._stopped = True
            tasks = [task for task in (*self._attempts.all(), self._loop_task, self._poll_task) if task is not None]
            for task in tasks:
                task.cancel()
        await self._poller.copies.wait()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._close_runs()

    def _is_stopping(self) -> bool:
        """True if the driver stops, or the program cancels all its tasks."""
        return self._stopped or self._loop_task is None or self._loop_task.cancelling() > 0

    def _close_runs(self) -> None:
        self._stopped = True
        self.runs.close(inbox.closed())
        self.inbox.close()

    def check_loop(self) -> asyncio.AbstractEventLoop:
        """Return the caller's event loop; raise InvalidInput (ENGINE_LOOP) if it is not the driver's."""
        loop = asyncio.get_running_loop()
        if self._loop_task is not None and self._loop_task.get_loop() is not loop:
            raise errors.InvalidInput(
                "the engine was opened in another event loop",
                code="ENGINE_LOOP",
                hint="open one in each loop, or hand the call over: `asyncio.run_coroutine_threadsafe`",
            )
        return loop

    def check_driving(self) -> None:
        """Raise the error that ended the loop, if it has ended (ENGINE_CLOSED, or a defect)."""
        if self._stopped:
            raise inbox.closed()
        if self._defect is not None:
            raise copy.copy(self._defect)

    def add(self, run: driven_run.DrivenRun) -> None:
        """Drive a run from now on (ENGINE_CLOSED)."""
        loop = self.check_loop()
        self.check_driving()
        run.last_used = loop.time()
        run.on_command = self._note_commands
        run.on_begin = self._queued_runs.may_begin
        self.runs.add(run)
        self._poller.set_timer(run)
        self.inbox.wake_waiters()  # a task that follows the run as one of another process follows it here now

    def _note_commands(self, run: driven_run.DrivenRun) -> None:
        """Let the run take a turn soon: a command is in its mailbox."""
        if self._stopped:
            run.drop(inbox.closed())
            return
        self._dirty[run.id] = run
        self._has_commands.set()

    def submit(
        self, run: driven_run.DrivenRun, command: commands.Command, blobs: Mapping[str, bytes] | None = None
    ) -> asyncio.Future[None]:
        """Send a command; the returned future is done when its events are durable (Refused, StoreError)."""
        self.check_loop()
        return run.submit(command, blobs)
