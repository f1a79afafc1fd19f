"""The runs that this process drives: claim them in the store, read them from their log, release them.

A run has one driver at a time. Before this process drives a run it claims it in the store; the claim of a process that
died is free. `take` claims a run, folds its log, hands it to the driver and lets it recover: attempts whose outcome is
not in the log are retried, or become uncertain if their effect is `once`. Runs that only a person can move are released
again, so that they cost no memory.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from openskelo import errors
from openskelo.engine import pinning
from openskelo.engine.attempts import attempt_task
from openskelo.engine.drive import driven_run, driver
from openskelo.engine.takeover import handover
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.history import loading
from openskelo.kernel import commands, decide
from openskelo.kernel import run as runs
from openskelo.kernel.run import Attempt
from openskelo.stores import api

#: Returns the command for a run as it is now, or raises if the run is to stay as it is.
MakeCommand: TypeAlias = Callable[[runs.Run], Awaitable[commands.Command]]


class Ownership:
    """Takes up runs for one driver, and releases them."""

    def __init__(
        self,
        store: api.Store,
        run_driver: driver.Driver,
        performer: attempt_performer.Performer,
        pins: pinning.Pins,
    ) -> None:
        self._store = store
        self._driver = run_driver
        self._performer = performer
        self._pins = pins
        self._take_lock = asyncio.Lock()  # two tasks that take one run must get the same DrivenRun

    # -- which --------------------------------------------------------------------------------------------------------

    def is_driving(self, run_id: str) -> bool:
        """True if this process drives the run."""
        return self._driver.runs.get(run_id) is not None

    def has_defect(self, run_id: str) -> bool:
        """True if a defect, and not the store, stopped the run here: it would again."""
        failure = self._driver.runs.failure(run_id)
        return failure is not None and not isinstance(failure, errors.StoreError)

    def unpaused_runs(self) -> tuple[str, ...]:
        """Return the ids of the runs driven here that are not paused."""
        return tuple(run.id for run in self._driver.runs.all() if run.state.paused is None)

    def busy_count(self) -> int:
        """Return how many of the runs driven here can go on without a person."""
        return sum(not run.is_settled() for run in self._driver.runs.all())

    # -- taking up ----------------------------------------------------------------------------------------------------

    async def take(
        self, run_id: str, *, check_needs: bool = False, first: MakeCommand | None = None
    ) -> driven_run.DrivenRun | None:
        """Return the driven run, claimed and recovered if need be; None if it has ended (NotFound, Busy).

        Commands that other processes queued while it was not driven are carried out, too. With `check_needs` the
        models, handlers and secrets of its remaining nodes must be there (InvalidInput, and the run is left as it was).
        The command that `first` makes is carried out in the same turn, before any work starts (Refused). If it raises,
        the run is left as it was, too.
        """
        async with self._take_lock:
            run, command = self._driver.runs.get(run_id), None
            is_new = run is None
            if run is None:
                run, command = await self._claim(run_id, check_needs=check_needs, first=first)
                if run is None:
                    return None
                self._driver.add(run)
            elif first is not None:
                command = await first(run.state)
            run.last_used = asyncio.get_running_loop().time()
            # All are in the mailbox before the next turn, so no work starts between them. An order to stop comes before
            # recovery, which would begin attempts. Anything else comes after it: only then is the answer to a question
            # about an attempt that was lost kept for the next attempt.
            stops = isinstance(command, commands.CancelRun | commands.PauseRun)
            first_done = self._driver.submit(run, command) if command is not None and stops else None
            recovery = self._recover(run) if is_new else None
            if command is not None and not stops:
                first_done = self._driver.submit(run, command)
        if recovery is not None:
            with contextlib.suppress(errors.Refused):  # the order has ended the run
                await recovery
        if first_done is not None:
            await first_done
        if is_new and await self._driver.inbox.read([run_id]):
            with contextlib.suppress(errors.Refused):  # a queued command has ended it
                await self._driver.submit(run, commands.Tick(at=self._driver.now()))  # done when those are durable
        return run

    async def _claim(
        self, run_id: str, *, check_needs: bool, first: MakeCommand | None
    ) -> tuple[driven_run.DrivenRun | None, commands.Command | None]:
        """Claim a run, read it from its log, and make its first command; release it if it has ended or that fails."""
        await api.get_run(self._store, run_id)
        self._driver.claims.keep(run_id)
        command = None
        try:
            is_claimed = await self._store.claim_run(run_id)
            run = await self._read(run_id, check_needs=check_needs) if is_claimed else None
            if run is not None and first is not None:
                command = await first(run.state)
        except BaseException:
            await self._driver.claims.release(run_id)
            raise
        if not is_claimed:
            raise errors.Busy(f"another process drives run {run_id}", hint="`skelo events --follow` watches it")
        if run is None:
            await self._driver.claims.release(run_id)
        return run, command

    async def _read(self, run_id: str, *, check_needs: bool) -> driven_run.DrivenRun | None:
        """Read a run from its log; None if it has ended (InvalidInput if something that it needs is missing)."""
        loaded_run = await loading.load(self._store, run_id, self._pins.restore)
        state = loaded_run.run
        if state.ended:
            return None
        if check_needs:
            self.check_needs(state)
        row = await self._store.find_run(run_id)
        return driven_run.DrivenRun(state, loaded_run.chain, row, self._performer)

    def check_needs(self, state: runs.Run) -> None:
        """Raise InvalidInput if a model, a handler or a secret that the run's remaining nodes need is missing here."""
        pinning.check_remaining(state, self._performer)

    def check_node(self, state: runs.Run, key: str) -> None:
        """Raise InvalidInput if a model, a handler or a secret that this node needs is missing here."""
        pinning.check_nodes((state.workflow.nodes[key],), self._performer)

    def _recover(self, run: driven_run.DrivenRun) -> asyncio.Future[None]:
        """Let a run go on that was read from its log: a queued one starts, another one recovers from a lost driver."""
        now = self._driver.now()
        was_driven = run.row is None or run.row.status != "queued"
        if was_driven and (run.state.in_flight or runs.is_busy(run.state)):
            return self._driver.submit(run, commands.Recover(at=now))
        return self._driver.submit(run, commands.Tick(at=now))

    # -- releasing ----------------------------------------------------------------------------------------------------

    async def release_idle(self, *, seconds: float = 0.0) -> Mapping[str, int | None]:
        """Release runs that only a person can move and that no caller needed in the last `seconds`.

        Return their ids, each with the time (ms) at which time itself would move the run. A command that comes too late
        for a released run fails with Busy.
        """
        released_runs: dict[str, int | None] = {}
        before = asyncio.get_running_loop().time() - seconds
        for run in self._driver.runs.all():
            if not run.is_settled() or run.last_used > before:
                continue
            async with self._driver.turn_lock:
                if self._driver.runs.get(run.id) is not run:
                    continue  # it ended, or was dropped, while this task waited for the lock
                if not run.is_settled() or run.mailbox or run.attempts or run.failure is not None:
                    continue
                self._driver.runs.remove(run)
                run.failure = errors.Busy(f"run {run.id} was just released", hint="try again")
                await self._driver.claims.release(run.id)
            released_runs[run.id] = decide.wake_at(run.state)
            run.notify()
        return released_runs

    async def suspend(self, by: str) -> None:
        """Pause every run driven here: `once` effects finish, other attempts are cut and retried on resume.

        The failure of one run does not keep the others from being paused; it is raised at the end.
        """
        suspensions = (self._suspend(run, by) for run in self._driver.runs.all())
        for result in await asyncio.gather(*suspensions, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    async def _suspend(self, run: driven_run.DrivenRun, by: str) -> None:
        pause = commands.PauseRun(at=self._driver.now(), by=by, reason=handover.REASON)
        with contextlib.suppress(errors.Refused):
            await self._driver.submit(run, pause)
        for key, attempt in tuple(run.state.in_flight.items()):
            task = run.attempts.get(key)
            if task is None:
                continue
            if run.state.workflow.nodes[attempt.node].effect == "once":
                await task.wait()
            else:
                await self._interrupt(run, task, attempt)
        while run.mailbox:
            await run.wait_for_change()

    async def cut_waiting_attempts(self) -> None:
        """Cut the attempts whose agents wait for an answer: their questions stay open, and then they go on."""
        for run in self._driver.runs.all():
            for key, attempt in tuple(run.state.in_flight.items()):
                task = run.attempts.get(key)
                if task is not None and attempt.questions:
                    await self._interrupt(run, task, attempt)

    async def _interrupt(self, run: driven_run.DrivenRun, task: attempt_task.AttemptTask, attempt: Attempt) -> None:
        await run.store_partial_result(task.key)
        task.cancel()
        await task.wait()
        run.attempts.pop(task.key, None)
        report = commands.ReportInterrupted(
            at=self._driver.now(),
            node=attempt.node,
            visit=attempt.visit,
            attempt=attempt.attempt,
            item=attempt.item,
        )
        with contextlib.suppress(errors.Refused):
            await self._driver.submit(run, report)
