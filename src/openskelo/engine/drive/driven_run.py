"""One run in memory while this process drives it: its state, its mailbox and its attempts under way.

Commands reach a run through its mailbox (`QueuedCommand`). The driver lets the run take a turn: the run decides every
queued command in memory, applies the events, and returns one `Turn`: the append that makes the events durable, and what
the driver has to do once they are. Between the decision and the append memory is ahead of the log. So no event is
visible to other tasks before the append, and a run whose append fails leaves memory (`drop`) and is read from its log
when it is needed again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from openskelo import clock, errors
from openskelo.engine.attempts import attempt_task
from openskelo.engine.resolving import resolve
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.executors.inputs import node_inputs
from openskelo.history import listing
from openskelo.kernel import commands, decide, events, outcome, reports
from openskelo.kernel.apply import apply
from openskelo.kernel.decide import step
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import Attempt, AttemptId, Run, is_busy
from openskelo.record import envelope
from openskelo.stores import api
from openskelo.structs import field, mutable, replace

_CUTS = (events.AttemptCancelled, events.AttemptInterrupted)


@mutable
class QueuedCommand:
    """A command on its way to a run, with what is committed beside its events."""

    command: commands.Command
    blobs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    cached: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    #: The id of a command that another process queued in the store: the same append removes it there.
    inbox_id: int | None = None
    #: The future that the sender waits for, if it waits.
    done: asyncio.Future[None] | None = None

    def acknowledge(self) -> None:
        """Tell the sender that the command was carried out and is durable."""
        if self.done is not None and not self.done.done():
            self.done.set_result(None)

    def fail(self, error: errors.OpenSkeloError) -> None:
        """Tell the sender why the command changed nothing."""
        if self.done is not None and not self.done.done():
            self.done.set_exception(error)


@mutable
class Timer:
    """The next times at which a run must be woken."""

    #: In the run's own time.
    tick_at: int | None = None
    #: The moment of `tick_at` by the event loop's clock, which no user can set.
    due_at: float = 0.0
    #: By the system's clock.
    expires_at: int | None = None


@mutable
class Turn:
    """The result of the queued commands of one run: the append, its events, and the commands to acknowledge."""

    run: DrivenRun
    append: api.Append
    facts: list[events.Event]
    commands: list[QueuedCommand]


class DrivenRun:
    """The state, mailbox and attempts of one run. Only its driver lets it take a turn."""

    def __init__(
        self,
        run: Run,
        chain: envelope.Chain,
        row: api.RunRow | None,
        performer: attempt_performer.Performer,
    ) -> None:
        self.state = run
        self.chain = chain
        self.row = row
        self.mailbox: deque[QueuedCommand] = deque()
        # Set by the driver when it adds the run.
        self.on_command: Callable[[DrivenRun], None] | None = None
        self.on_begin: Callable[[DrivenRun], bool] = lambda _run: True
        self.inbox_ids: set[int] = set()  # commands of other processes that are, or were, in the mailbox
        self.attempts: dict[AttemptId, attempt_task.AttemptTask] = {}
        self.visits = node_inputs.Visits()
        self.durable_seq = chain.seq
        self.timer = Timer()
        self.last_used = 0.0  # when a caller last needed this run in memory, by the loop's clock
        self.failure: errors.OpenSkeloError | None = None
        self._performer = performer
        self._clock = clock.RunClock(run.updated_at)
        # Of attempts whose stop is not in the log yet.
        self._partial_results: dict[AttemptId, attempt_performer.PartialResult] = {}
        self._current: list[QueuedCommand] = []  # the commands of the turn that is being taken
        self._change_waiters: list[asyncio.Future[None]] = []
        self._settle_waiters: list[asyncio.Future[None]] = []

    @property
    def id(self) -> str:
        """Return the run's id."""
        return self.state.id

    # -- its mailbox --------------------------------------------------------------------------------------------------

    def send(self, queued: QueuedCommand) -> None:
        """Put a command into the mailbox; fail it if the run was dropped."""
        if self.failure is not None:
            queued.fail(self.failure)
            return
        self.mailbox.append(queued)
        if self.on_command is not None:
            self.on_command(self)

    def submit(self, command: commands.Command, blobs: Mapping[str, bytes] | None = None) -> asyncio.Future[None]:
        """Send a command; the returned future is done when its events are durable (Refused, StoreError)."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.send(QueuedCommand(command=command, blobs=blobs or {}, done=future))
        return future

    # -- a turn -------------------------------------------------------------------------------------------------------

    async def take_turn(self, resolver: resolve.Resolver) -> Turn | None:
        """Decide and apply every queued command in memory; return None if there is nothing to make durable.

        After StoreError memory is ahead of the log: the driver must drop the run.
        """
        facts: list[events.Event] = []
        accepted_commands = self._current = []
        while self.mailbox:
            queued_command = self.mailbox.popleft()
            wall = queued_command.command.at
            facts += self._skip_time(queued_command.command)
            command = self._in_own_time(queued_command.command)
            try:
                facts += step(self.state, command, self)
            except errors.Refused as refusal:
                queued_command.fail(refusal)
                if queued_command.inbox_id is None:
                    continue  # else the append still has to remove the command from the store
            accepted_commands.append(queued_command)
            if self.state.resolving:
                facts += await self._resolve_nodes(resolver, command.at, wall)
        if not facts and all(queued_command.inbox_id is None for queued_command in accepted_commands):
            for queued_command in accepted_commands:
                queued_command.acknowledge()
            return None
        blobs: dict[str, bytes] = {}
        if any(isinstance(fact, _CUTS) for fact in facts):
            facts = await self._with_partial_results(facts, blobs)
        return Turn(
            run=self, append=self._append(facts, accepted_commands, blobs), facts=facts, commands=accepted_commands
        )

    def now(self, wall: int) -> int:
        """Return the run's time when the system's clock shows `wall`: never earlier than its last event."""
        return self._clock.at(wall, self.state.updated_at)

    def _skip_time(self, command: commands.Command) -> list[events.Event]:
        """Leave out of the wall time what the system's clock has skipped; recovery does so itself."""
        skipped_ms = self._clock.skip(command.at)
        if not skipped_ms or self.state.active_since is None or isinstance(command, commands.Recover):
            return []
        facts = decide.decide(self.state, commands.SkipTime(at=self.now(command.at), skipped_ms=skipped_ms), self)
        for fact in facts:
            apply(self.state, fact)
        return list(facts)

    def _in_own_time(self, command: commands.Command) -> commands.Command:
        """Return the command, which was made by the system's clock, with the time of the run."""
        at = self.now(command.at)
        if at == command.at:
            return command
        if isinstance(command, commands.AnswerApproval):
            return replace(command, at=at, answered_at=command.at)
        return replace(command, at=at)

    async def _resolve_nodes(self, resolver: resolve.Resolver, at: int, wall: int) -> list[events.Event]:
        """Evaluate the expressions of every node that waits for them, until none does or the run ends."""
        facts: list[events.Event] = []
        while keys := decide.resolutions(self.state):
            for key in keys:
                if key in self.state.resolving and self.state.ending is None:
                    facts += step(self.state, await resolver.resolve(self.state, key, at, wall), self)
        return facts

    def _append(
        self, facts: Sequence[events.Event], accepted: Sequence[QueuedCommand], blobs: dict[str, bytes]
    ) -> api.Append:
        cache_entries: dict[str, JsonObject] = {}
        for queued_command in accepted:
            blobs.update(queued_command.blobs)
            cache_entries.update(queued_command.cached)
        expected_seq = self.chain.seq
        lines = envelope.seal(self.chain, facts)
        row = listing.row(self.state, self.row)
        if row is not None:
            self.row = row
        opened_approvals, closed_approval_ids = listing.approvals(self.state, facts)
        return api.Append(
            run_id=self.id,
            expected_seq=expected_seq,
            lines=lines,
            row=row,
            opened=opened_approvals,
            closed=closed_approval_ids,
            blobs=blobs,
            consumed=tuple(
                queued_command.inbox_id for queued_command in accepted if queued_command.inbox_id is not None
            ),
            cached=cache_entries,
        )

    # -- attempts that are stopped ------------------------------------------------------------------------------------

    def used(self, flight: Attempt) -> outcome.Metrics:
        """Return what an attempt that is being stopped has used (the kernel's `receipts.Meter`)."""
        key = (flight.node, flight.visit, flight.slot)
        if key in self._partial_results:
            return self._partial_results[key].used
        attempt = self.attempts.get(key)
        if attempt is None or attempt.progress is None:
            return outcome.Metrics()
        return attempt.progress.usage.total()

    def may_begin(self) -> bool:
        """True if there is room for the run's first attempt (the kernel's `receipts.Meter`)."""
        return self.on_begin(self)

    def logs_so_far(self, node: str) -> list[JsonObject]:
        """Return what each attempt of a node that is under way has logged so far: `{visit, attempt, item, text}`."""
        return [
            {
                "visit": task.attempt.visit,
                "attempt": task.attempt.attempt,
                "item": task.attempt.item,
                "text": self._performer.log_so_far(task.progress),
            }
            for task in self.attempts.values()
            if task.attempt.node == node and task.progress is not None
        ]

    def said(self, flight: Attempt) -> str | None:
        """Return what the model or agent of an attempt that is being stopped has said so far."""
        attempt = self.attempts.get((flight.node, flight.visit, flight.slot))
        if attempt is None or attempt.progress is None:
            return None
        return self._performer.said_so_far(attempt.progress)

    async def store_partial_result(self, key: AttemptId) -> None:
        """Remember the files and costs of an attempt that is being stopped, until the log says that it was."""
        attempt = self.attempts.get(key)
        if key not in self._partial_results and attempt is not None and attempt.progress is not None:
            self._partial_results[key] = await self._performer.store_partial_result(attempt.progress)

    async def _with_partial_results(self, facts: Sequence[events.Event], blobs: dict[str, bytes]) -> list[events.Event]:
        """Return the events with the artifacts of each stopped attempt before its stop; add their bytes to `blobs`."""
        result: list[events.Event] = []
        for fact in facts:
            if isinstance(fact, _CUTS):
                key = (fact.node, fact.visit, fact.item or 0)
                await self.store_partial_result(key)
                partial = self._partial_results.pop(key, attempt_performer.PartialResult())
                for note in partial.notes:
                    artifact = reports.artifact_created(fact, note)
                    apply(self.state, artifact)
                    result.append(artifact)
                blobs.update(partial.blobs)
            result.append(fact)
        return result

    # -- waiting for the run ------------------------------------------------------------------------------------------

    def is_settled(self) -> bool:
        """True if the run has ended, or only a person can move it."""
        return self.state.created and not is_busy(self.state)

    async def wait_for_change(self) -> None:
        """Wait until the run has taken a turn, and its events are durable, or it was dropped."""
        await wait_in(self._change_waiters)

    async def wait_until_settled(self) -> None:
        """Wait until the run has settled, or was dropped; it may have moved on since."""
        await wait_in(self._settle_waiters)

    def notify(self) -> None:
        """Wake the tasks that wait for a change and, if the run has settled, the tasks that wait for that."""
        wake(self._change_waiters)
        if self.failure is not None or self.is_settled():
            wake(self._settle_waiters)

    def drop(self, error: errors.OpenSkeloError) -> None:
        """Stop the run's attempts and fail its commands and waiters with `error`. Its log is as it was."""
        self.failure = error
        for attempt in self.attempts.values():
            attempt.cancel()
        for queued_command in (*self._current, *self.mailbox):
            queued_command.fail(error)
        self.attempts.clear()
        self._current = []
        self.mailbox.clear()
        self.notify()


async def wait_in(waiters: list[asyncio.Future[None]]) -> None:
    """Wait until `wake` is called with the same list."""
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    waiters.append(waiter)
    try:
        await waiter
    except asyncio.CancelledError:
        if waiter in waiters:
            waiters.remove(waiter)
        raise


def wake(waiters: list[asyncio.Future[None]]) -> None:
    """Wake the tasks that wait in the list, and empty it."""
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
    waiters.clear()
