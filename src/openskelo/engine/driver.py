"""The loop that drives runs: drain mailboxes, decide in memory, append once, then start the work that is owed.

All runs with mail share one append, so runs in flight together share a sync. Everything that other processes leave in
the store is noticed within `POLL_SECONDS`.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import time
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import cast

from openskelo import errors
from openskelo.engine import actor as actors
from openskelo.engine import clock as clocks
from openskelo.engine import copies, errands, garbage, hearing, reporting, resolve, timers, turnstile
from openskelo.engine import roster as rosters
from openskelo.executors import attempt
from openskelo.kernel import commands, events, pending
from openskelo.kernel.run import Run
from openskelo.stores import log

#: How soon commands of other processes are noticed.
POLL_SECONDS = 0.05
#: How long one task goes from attempt to attempt before others get their turn.
RELAY_SECONDS = 0.005
#: A turn that takes so long was made durable by a slow disk,
SLOW_SECONDS = 0.01
#: after which others may take so many steps.
GATHER_ROUNDS = 16
#: Troubles of the store as a whole: to try each run by itself would only take longer.
_OF_NO_RUN = frozenset({"STORE_BUSY", "STORE_GONE"})
_append: Callable[[actors.Turn], log.Append] = attrgetter("append")


class Driver:
    """Owns the runs this process drives. One task runs the loop; everybody else only sends letters."""

    def __init__(
        self,
        store: log.Log,
        performer: attempt.Performer,
        clock: Callable[[], int] | None = None,
        *,
        cache: bool = True,
    ) -> None:
        self._store = store
        self._performer = performer
        self._leave = performer.left
        self._cache = cache
        self._clock = clocks.Clock(clock)
        self.now = self._clock.now  # a call less
        self.reach = self._clock.reach
        self.roster = rosters.Roster()
        self._dirty: dict[str, actors.Actor] = {}
        self._at_work = 0
        self._errands = errands.Errands(self._work)
        self._gathering = False  # commits take long, and several runs can share them
        self._relaying = False  # whoever takes the turn has finished an attempt and can go on with another
        self._following: errands.Errand | None = None  # with which it will
        self._timers = timers.Timers()
        self._copies = copies.Copies(store)
        self.between_turns = turnstile.Turnstile()  # held while memory is ahead of the log
        self._mail = asyncio.Event()
        self.hearing = hearing.Hearing(store, self.roster.actors, self.send, self.now)
        self._alarm: asyncio.TimerHandle | None = None
        self._loop: asyncio.Task[None] | None = None
        self._stopped = False
        self._collecting = garbage.Seldom()

    # -- what the engine calls ----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to drive."""
        self._collecting.begin()
        self._loop = asyncio.create_task(self._drive(), name="skelo-driver")

    async def stop(self) -> None:
        """Stop driving: the loop ends, work under way is cut, whoever waits is told. What is durable stays so.

        Nothing is cut in the middle of a turn, which would leave memory ahead of the log for whoever comes next.
        """
        async with self.between_turns:
            self._stopped = True
            work = tuple(self._errands.tasks) if self._loop is None else (self._loop, *self._errands.tasks)
            for task in work:
                task.cancel()
        await self._copies.settle()
        if self._alarm is not None:
            self._alarm.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        self._let_go()

    def _let_go(self) -> None:
        self._stopped = True
        self._collecting.end()
        self.roster.close(closed())
        self.hearing.announce()  # nobody else wakes those who wait for other processes

    def check_home(self) -> asyncio.AbstractEventLoop:
        """The caller's event loop; one in another loop or thread is refused (ENGINE_LOOP): nobody would wake it."""
        here = asyncio.get_running_loop()
        if self._loop is not None and self._loop.get_loop() is not here:
            raise errors.InvalidInput(
                "the engine was opened in another event loop",
                code="ENGINE_LOOP",
                hint="open one in each loop, or hand the call over: `asyncio.run_coroutine_threadsafe`",
            )
        return here

    def adopt(self, actor: actors.Actor) -> None:
        """Drive a run from now on (ENGINE_CLOSED)."""
        here = self.check_home()
        if self._stopped:
            raise closed()
        self._clock.reach(actor.run.updated_at)
        actor.asked_for = here.time()
        self.roster.take_on(actor)
        self._timers.set(actor)
        self.hearing.announce()  # who followed it from afar follows it here from now on

    async def park(self, *, idle: float) -> list[Run]:
        """Let go of runs that only a person can move and that nobody asked for in so many seconds; gives them.

        Their log is all that is needed to go on. A letter that comes too late goes back to its sender (Busy).
        """
        parked: list[Run] = []
        before = asyncio.get_running_loop().time() - idle
        for actor in self.roster.all():
            if not actor.is_settled() or actor.asked_for > before:
                continue
            async with self.between_turns:
                if not actor.is_settled() or actor.mailbox or actor.work or actor.failure is not None:
                    continue
                self.roster.put_aside(actor)
                actor.failure = errors.Busy(f"run {actor.run.id} was just put aside", hint="try again")
                await self._store.release(actor.run.id)
            parked.append(actor.run)
            actor.tell()
        return parked

    def send(self, actor: actors.Actor, letter: actors.Letter) -> None:
        """Put a letter into a run's mailbox; one to a run that was given up goes back to its sender."""
        if not self._dirty:  # else the loop has been told, and has not come to it yet
            self._mail.set()
        self._deliver(actor, letter)

    def _deliver(self, actor: actors.Actor, letter: actors.Letter) -> None:
        if actor.failure is not None or self._stopped:
            actors.send_back(letter, actor.failure or closed())
            return
        actor.mailbox.append(letter)
        self._dirty[actor.run.id] = actor

    async def submit(self, actor: actors.Actor, command: commands.Command) -> None:
        """Send a command and wait until what it leads to is durable (Refused, StoreError)."""
        await self.order(actor, command)

    def order(
        self, actor: actors.Actor, command: commands.Command, blobs: Mapping[str, bytes] = actors.NO_BLOBS
    ) -> asyncio.Future[None]:
        """Send a command now, with blobs to be committed beside its facts; what `submit` waits for."""
        done: asyncio.Future[None] = self.check_home().create_future()
        self.send(actor, actors.Letter(command=command, blobs=blobs, done=done))
        return done

    async def elsewhere(self) -> None:
        """Wait until another process has changed the store (ENGINE_CLOSED when this one stops)."""
        self.check_home()
        if not self._stopped:
            await self.hearing.elsewhere()
        if self._stopped:
            raise closed()

    # -- the loop -----------------------------------------------------------------------------------------------------

    async def _drive(self) -> None:
        try:
            await self._rounds()
        except asyncio.CancelledError:
            if not self._stopped:  # a program that cancels every task there is, before it closes us or without
                self._let_go()
            raise
        except GeneratorExit:
            raise
        except BaseException as error:  # a defect of ours must not leave callers waiting for ever
            self._give_up(error)
            raise

    def _give_up(self, error: BaseException) -> None:
        self.roster.drop_all(errors.OpenSkeloError(f"the driver failed: {error!r}", code="INTERNAL"))

    async def _rounds(self) -> None:
        loop = asyncio.get_running_loop()
        poll_at = loop.time()
        while True:
            if not self._dirty:
                self._mail.clear()
                self._set_alarm(poll_at)
                await self._mail.wait()
            if loop.time() >= poll_at:
                await self._look_around(loop.time())
                poll_at = loop.time() + POLL_SECONDS
            await self._ring_timers()
            if self._dirty:
                began = loop.time()
                async with self.between_turns:
                    await self._turn()
                self._gathering = loop.time() - began > SLOW_SECONDS and len(self.roster.actors) > 1
                if self._gathering:
                    await self._gather()

    async def _gather(self) -> None:
        """Let others go on for a moment after a commit that took long: what they come to shares the next one."""
        for _ in range(GATHER_ROUNDS):
            await asyncio.sleep(0)

    def _set_alarm(self, poll_at: float) -> None:
        """Wake the loop for its next look around, or earlier for a timer; an alarm that is early enough is kept."""
        loop = asyncio.get_running_loop()
        ring_at = poll_at
        if (next_at := self._timers.next_at()) is not None:
            ring_at = min(ring_at, loop.time() + max(0, next_at - self.now()) / 1000)
        if self._alarm is None or self._alarm.cancelled() or not loop.time() <= self._alarm.when() <= ring_at:
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm = loop.call_at(ring_at, self._mail.set)

    async def _turn(self) -> None:
        """Let each run that has mail take its turn, and make all their turns durable at once."""
        dirty, self._dirty = self._dirty, {}
        turns: list[actors.Turn] = []
        for actor in dirty.values():
            try:
                turn = await actor.take_turn(self._resolve, self._leave)
            except errors.StoreError as error:
                await self._drop(actor, error)
                continue
            if turn is None:
                self._settle(actor)
            else:
                turns.append(turn)
        if turns:
            await self._commit(turns)

    async def _commit(self, turns: Sequence[actors.Turn]) -> None:
        try:
            await self._store.append(list(map(_append, turns)))
        except errors.StoreError as error:
            if len(turns) == 1 or error.code in _OF_NO_RUN:
                for turn in turns:
                    await self._drop(turn.actor, error)
            else:
                for turn in turns:  # one run's conflict must not take the others with it
                    await self._commit([turn])
            return
        self._copies.behind = True
        for turn in turns:
            self._carry_out(turn)

    async def _drop(self, actor: actors.Actor, error: errors.StoreError) -> None:
        """The store failed the run, which leaves memory and can be resumed from its log: nothing of its turn happened.

        Only between turns or in one's own turn, so that nobody else's is under way.
        """
        if self.roster.get(actor.run.id) is not actor:
            return
        self.roster.drop(actor, error)
        if error.code in _OF_NO_RUN:
            return  # nor can the claim be given up; see below
        with contextlib.suppress(errors.StoreError):  # the claim then stays this store's, which may claim it again
            await self._store.release(actor.run.id)

    def _carry_out(self, turn: actors.Turn) -> None:
        """The turn is durable: start what it owes, stop what it ended, tell those who wait."""
        actor = turn.actor
        run = actor.run
        actor.durable = actor.chain.seq
        for fact in turn.facts:  # by `type`: many are neither, which `match` takes eight times as long to see
            if type(fact) is events.AttemptStarted:
                key = (fact.node, fact.visit, fact.item or 0)
                flight = run.in_flight.get(key)
                if flight is not None and flight.attempt == fact.attempt:
                    actor.work[key] = errand = errands.Errand(actor, key, flight)
                    self._begin(errand)
            elif type(fact) is events.AttemptCancelled:
                stopped = actor.work.pop((fact.node, fact.visit, fact.item or 0), None)
                if stopped is not None:
                    stopped.cancel()
        for letter in turn.letters:
            if letter.done is not None:
                actors.acknowledge(letter)
        self._settle(actor)
        actor.tell()

    def _settle(self, actor: actors.Actor) -> None:
        if actor.run.ended:
            self.roster.end(actor)
        elif actor.failure is None:
            self._timers.set(actor)

    async def _resolve(self, run: Run, key: str, at: int) -> commands.ResolveNode:
        return await resolve.resolve(self._store, run, key, at, self._performer, cache=self._cache)

    # -- work ---------------------------------------------------------------------------------------------------------

    def _begin(self, errand: errands.Errand) -> None:
        """See to it that the attempt is performed: by the task that takes this turn, or by another."""
        self._at_work += 1
        if self._relaying and self._following is None:
            self._following = errand
        else:
            self._errands.add(errand)

    async def _work(self) -> None:
        """Perform attempts and report them, as long as there are any.

        When nothing else is under way a report is made durable here and now, which saves a trip through the loop, and
        the attempt that follows from it is performed next; otherwise the loop gathers it with the reports of others
        into one append. Context variables that a handler has set are not for others to see, nor is a cancellation that
        it has asked for: the task ends with it.
        """
        task = cast("asyncio.Task[None]", asyncio.current_task())
        context = contextvars.copy_context()
        rest_at = time.monotonic() + RELAY_SECONDS
        errand = self._errands.take()
        while errand is not None:
            letter = None
            try:
                if not errand.over:
                    errand.task = task
                    letter = await reporting.perform(self._store, self._performer, errand, self.now)
            except BaseException as error:
                if isinstance(error, asyncio.CancelledError) and self._is_meant(errand):
                    return  # not raised: a task keeps that error, with every frame of the work and this run (a cycle)
                letter = await self._lost(errand, error)
            finally:
                self._at_work -= 1
                errand.end()
            clean = contextvars.copy_context() == context and not task.cancelling()
            if letter is None:
                errand = None
            elif clean and not (self._at_work or self._stopped or self.between_turns.taken or self._gathering):
                self._deliver(errand.actor, letter)
                errand = await self._take_turn()
            else:
                self.send(errand.actor, letter)
                errand = None
            if not clean:
                return
            if time.monotonic() >= rest_at:  # work that never waits must not keep others waiting
                await self._rest(errand)
                rest_at = time.monotonic() + RELAY_SECONDS
            errand = errand or self._errands.take()

    async def _lost(self, errand: errands.Errand, error: BaseException) -> actors.Letter | None:
        """What is left to do where an attempt gave no letter. Raises what ends the task, and leaves nobody waiting."""
        match error:
            case errors.StoreError():  # what it came to cannot be kept: to the log it was cut
                errand.end()  # before its run is dropped, which stops all that is under way: not this task
                async with self.between_turns:
                    await self._drop(errand.actor, error)
                return None
            case Exception():  # a defect of ours
                self._give_up(error)
                raise error
            case KeyboardInterrupt() | SystemExit():
                raise error  # to whoever runs the loop
            case _ if self._is_meant(errand):
                raise error
            case _:
                return reporting.lost(self._performer, errand, error, self.now())

    def _is_meant(self, errand: errands.Errand) -> bool:
        return errand.stopped or self._is_ending(errand.task)

    def _is_ending(self, task: asyncio.Task[None] | None) -> bool:
        """Whether what ended the task was meant for it: the driver stops, the loop does, or it is gone already."""
        try:
            gone = asyncio.current_task() is not task
        except RuntimeError:
            gone = True
        return gone or self._stopped or self._loop is None or self._loop.cancelling() > 0

    async def _rest(self, errand: errands.Errand | None) -> None:
        """Let others have their turn. An attempt in hand is not lost with the task."""
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if errand is not None and not self._is_ending(asyncio.current_task()):
                self._errands.add(errand)
            raise

    async def _take_turn(self) -> errands.Errand | None:
        """Take the turn, which is free, in a working task; it goes on with the first attempt that the turn starts."""
        self.between_turns.take()
        self._relaying, self._following = True, None
        try:
            await self._turn()
        except GeneratorExit:
            raise
        except BaseException as error:  # memory is ahead of the log
            self._give_up(error)
            raise
        finally:
            self._relaying = False
            self.between_turns.give()
        return self._following

    # -- time and other processes -------------------------------------------------------------------------------------

    async def _ring_timers(self) -> None:
        now = self.now()
        for actor in self._timers.due(self.roster.actors, now):
            self.send(actor, actors.Letter(command=commands.Tick(at=now)))
            try:
                for asked in pending.expired(actor.run, now):
                    answer = await timers.expire(self._store, actor, asked, self.now())
                    self.send(actor, actors.Letter(command=answer))
            except errors.StoreError as error:
                async with self.between_turns:
                    await self._drop(actor, error)

    async def _look_around(self, now: float) -> None:
        """Listen, and let copies of the log catch up; where there is no room for it, the next look tries again."""
        try:
            await self.hearing.listen()
        except errors.StoreError as error:
            if error.code == "STORE_GONE":
                async with self.between_turns:
                    for actor in self.roster.all():
                        await self._drop(actor, error)
        self._copies.catch_up(now)


def closed() -> errors.OpenSkeloError:
    """The error for those who ask too late."""
    return errors.OpenSkeloError("the engine was closed", code="ENGINE_CLOSED", hint="resume the run in another one")
