"""One run in memory while this process drives it: its state, its mailbox, its work under way."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

from openskelo import errors
from openskelo.contract import envelope
from openskelo.engine import errands, listing, wiring
from openskelo.executors import attempt, job
from openskelo.frozen import field, mutable, replace
from openskelo.kernel import commands, events, fresh, outcome, pending, reports
from openskelo.kernel.apply import apply
from openskelo.kernel.decide import step
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import AttemptId, InFlight, Run, is_busy
from openskelo.stores import log

#: Turns a node's expressions into a command; work without effects, done before the append.
Resolve = Callable[[Run, str, int], Awaitable[commands.ResolveNode]]
#: Says what an attempt leaves behind that is stopped now.
Leave = Callable[[job.Job], attempt.Left]
#: What most letters bring along.
NO_BLOBS: Mapping[str, bytes] = {}
_CUTS = (events.AttemptCancelled, events.AttemptInterrupted)


@mutable
class Letter:
    """A command on its way to the run, with what must be committed beside its facts."""

    command: commands.Command
    blobs: Mapping[str, bytes] = field(default_factory=fresh.a_dict)
    cached: Mapping[str, JsonObject] = field(default_factory=fresh.a_dict)
    posted: int | None = None
    done: asyncio.Future[None] | None = None


@mutable
class Turn:
    """What one round of letters came to: the append that makes it durable, and what to do once it is."""

    actor: Actor
    append: log.Append
    facts: list[events.Event]
    letters: list[Letter]


class Actor:
    """The mailbox and memory of one run. Only its driver calls it; nothing it says is visible before the append."""

    def __init__(self, run: Run, chain: envelope.Chain, row: log.RunRow | None) -> None:
        self.run = run
        self.chain = chain
        self.row = row
        self.mailbox: deque[Letter] = deque()
        self.heard: set[int] = set()  # posted commands that were put into the mailbox
        self.work: dict[AttemptId, errands.Errand] = {}
        self.left: dict[AttemptId, attempt.Left] = {}  # of attempts that were stopped before the log says so
        self.visits = wiring.Visits()
        self.durable = chain.seq
        self.wake_at: int | None = None
        self.asked_for = 0.0  # when somebody last wanted this run to be in memory, by the loop's clock
        self.failure: errors.OpenSkeloError | None = None
        self._leave: Leave = _nothing
        self._taken: list[Letter] = []  # the letters of the turn that is being taken
        self._until_moved: list[asyncio.Future[None]] = []  # those who wait for it
        self._until_settled: list[asyncio.Future[None]] = []

    async def take_turn(self, resolve: Resolve, leave: Leave) -> Turn | None:
        """Decide and apply every letter in memory; None when there is nothing to make durable.

        After an error memory is ahead of the log: the run must be given up.
        """
        run, mailbox = self.run, self.mailbox
        facts: list[events.Event] = []
        letters = self._taken = []
        self._leave = leave
        while mailbox:
            letter = mailbox.popleft()
            command = letter.command
            if command.at < run.updated_at:  # it was made before what is now in the log: time never goes back
                command = replace(command, at=run.updated_at)
            try:
                facts += step(run, command, self)
            except errors.Refused as refusal:
                send_back(letter, refusal)
                if letter.posted is None:
                    continue  # nothing changed; a posted command still has to be taken out of the store
            letters.append(letter)
            if run.resolving:
                facts += await self._resolve_all(resolve, command.at)
        if not facts and all(letter.posted is None for letter in letters):
            for letter in letters:
                acknowledge(letter)
            return None
        blobs: dict[str, bytes] = {}
        if self.left:
            facts = self._with_leavings(facts, blobs)
        return Turn(actor=self, append=self._append(facts, letters, blobs), facts=facts, letters=letters)

    async def _resolve_all(self, resolve: Resolve, at: int) -> list[events.Event]:
        """Give every node that waits for its values what it waits for, until none does or the run ends over one."""
        facts: list[events.Event] = []
        while owed := pending.resolutions(self.run):
            for key in owed:
                if key in self.run.resolving and self.run.ending is None:
                    facts += step(self.run, await resolve(self.run, key, at), self)
        return facts

    def used(self, flight: InFlight) -> outcome.Metrics:
        """What an attempt that is being stopped has used (`record.Meter`)."""
        key = (flight.node, flight.visit, flight.slot)
        left = self.left.get(key)
        if left is None:
            errand = self.work.get(key)
            if errand is None or errand.job is None:  # nobody has begun it
                return outcome.Metrics()
            left = self.left[key] = self._leave(errand.job)
        return left.used

    def _with_leavings(self, facts: Sequence[events.Event], blobs: dict[str, bytes]) -> list[events.Event]:
        """The facts, with the files of each stopped attempt before its stop; their bytes go into `blobs`."""
        told: list[events.Event] = []
        for fact in facts:
            if isinstance(fact, _CUTS):
                left = self.left.pop((fact.node, fact.visit, fact.item or 0), None)
                for note in () if left is None else left.notes:
                    kept = reports.artifact(fact, note)
                    apply(self.run, kept)
                    told.append(kept)
                blobs.update({} if left is None else left.blobs)
            told.append(fact)
        return told

    def _append(self, facts: Sequence[events.Event], letters: Sequence[Letter], blobs: dict[str, bytes]) -> log.Append:
        run, chain = self.run, self.chain
        expected = chain.seq
        lines = envelope.seal(chain, facts)
        cached: dict[str, JsonObject] = {}
        consumed: list[int] = []
        for letter in letters:  # most bring nothing along
            if letter.blobs:
                blobs.update(letter.blobs)
            if letter.cached:
                cached.update(letter.cached)
            if letter.posted is not None:
                consumed.append(letter.posted)
        row = listing.row(run, self.row)
        if row is not None:
            self.row = row
        opened, closed = listing.approvals(run, facts)
        return log.Append(
            run_id=run.id,
            expected_seq=expected,
            lines=lines,
            row=row,
            opened=opened,
            closed=closed,
            blobs=blobs,
            consumed=tuple(consumed),
            cached=cached,
        )

    def is_settled(self) -> bool:
        """Whether only a person can move the run, or nobody."""
        return self.run.created and not is_busy(self.run)

    def tell(self) -> None:
        """Wake those who wait for the run to move, and those who wait for it to settle if it has."""
        if self._until_moved:
            _wake(self._until_moved)
        if self._until_settled and (self.failure is not None or (not self.run.in_flight and self.is_settled())):
            _wake(self._until_settled)

    def move(self) -> Coroutine[object, None, None]:
        """Wait until something of this run has become durable, or it was dropped."""
        return _woken(self._until_moved)

    def settle(self) -> Coroutine[object, None, None]:
        """Wait until the run has settled, or was dropped; it may have moved on since."""
        return _woken(self._until_settled)

    def give_up(self, error: errors.OpenSkeloError) -> None:
        """The run leaves memory: stop its work, tell everybody who waits. Its log is what it was."""
        self.failure = error
        for errand in tuple(self.work.values()):
            errand.cancel()
        for letter in (*self._taken, *self.mailbox):
            send_back(letter, error)
        self._taken = []
        self.mailbox.clear()
        self.tell()


def _nothing(_one: job.Job) -> attempt.Left:
    """What is left by attempts before the first turn."""
    return attempt.NOTHING_LEFT


async def _woken(waiting: list[asyncio.Future[None]]) -> None:
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    waiting.append(waiter)
    try:
        await waiter
    except asyncio.CancelledError:
        if waiter in waiting:
            waiting.remove(waiter)
        raise


def _wake(waiting: list[asyncio.Future[None]]) -> None:
    for waiter in waiting:
        if not waiter.done():  # else it is about to give up waiting
            waiter.set_result(None)
    waiting.clear()


def send_back(letter: Letter, error: errors.OpenSkeloError) -> None:
    """Tell the sender why the letter led to nothing."""
    if letter.done is not None and not letter.done.done():
        letter.done.set_exception(error)


def acknowledge(letter: Letter) -> None:
    """Tell the sender that the letter was taken and is durable."""
    if letter.done is not None and not letter.done.done():
        letter.done.set_result(None)
