"""The runs that this process holds: which they are; taken up to be driven, suspended or put aside when not."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping

from openskelo import errors
from openskelo.engine import actor as actors
from openskelo.engine import driver, loading, means, pinning, stopped
from openskelo.executors import attempt
from openskelo.kernel import commands, pending
from openskelo.kernel import run as runs
from openskelo.stores import log


class Holding:
    """Takes runs up for a driver, and lets go of them."""

    def __init__(self, store: log.Log, drives: driver.Driver, performer: attempt.Performer, pins: pinning.Pins) -> None:
        self._store = store
        self._driver = drives
        self._performer = performer
        self._pins = pins
        self._taking = asyncio.Lock()  # two who take the same run must end up with one actor

    def is_driving(self, run_id: str) -> bool:
        """Whether this process drives the run."""
        return self._driver.roster.get(run_id) is not None

    def has_driven(self, run_id: str) -> bool:
        """Whether this process drives the run, or drove it to its end not long ago."""
        return self._driver.roster.last_state(run_id) is not None

    def was_failed(self, run_id: str) -> bool:
        """Whether a defect, and not the store, stopped a run here: it would again."""
        failure = self._driver.roster.failure(run_id)
        return failure is not None and not isinstance(failure, errors.StoreError)

    def driven(self) -> tuple[str, ...]:
        """The runs that this process drives and that nobody has paused."""
        return tuple(actor.run.id for actor in self._driver.roster.all() if actor.run.paused is None)

    async def take(
        self, run_id: str, *, going_on: bool = False, first: commands.Command | None = None
    ) -> actors.Actor | None:
        """The run's actor, claimed and recovered if need be; None for a run that has ended (NotFound, Busy).

        What others posted while nobody drove it is durable, too: nobody is asked what was answered already. With
        `going_on` whatever it still has to ask must be there (InvalidInput, and the run is left as it was). What is
        ordered `first` counts before the run goes on with anything that it owes (Refused).
        """
        async with self._taking:
            actor = self._driver.roster.get(run_id)
            taken = actor is None
            if actor is None:
                actor = await self._claim(run_id, going_on=going_on)
                if actor is None:
                    return None
                self._driver.adopt(actor)
            actor.asked_for = asyncio.get_running_loop().time()
            ordered = None if first is None else self._driver.order(actor, first)
            recovered = self._recover(actor) if taken else None
        if ordered is not None:
            await ordered
        if recovered is not None:
            with contextlib.suppress(errors.Refused):  # what was ordered has ended the run
                await recovered
        if taken and await self._driver.hearing.take_posted([run_id]):
            with contextlib.suppress(errors.Refused):  # what was posted has
                await self._driver.submit(actor, commands.Tick(at=self._driver.now()))
        return actor

    async def take_over(self, run_id: str, suspended_by: str | None) -> None:
        """Go on with a run that another process drove; if it is `suspended_by` somebody, nothing of it starts."""
        pause = None if suspended_by is None else self._pause(suspended_by)
        await self.take(run_id, going_on=pause is None, first=pause)

    def _recover(self, actor: actors.Actor) -> asyncio.Future[None]:
        now = self._driver.now()
        return self._driver.order(actor, commands.Recover(at=now) if runs.is_busy(actor.run) else commands.Tick(at=now))

    async def _claim(self, run_id: str, *, going_on: bool) -> actors.Actor | None:
        """Claim a run and bring it back from its log; it is let go again when it has ended or cannot be driven."""
        if await self._store.row(run_id) is None:
            raise errors.NotFound(f"there is no run {run_id}", code="RUN_NOT_FOUND", hint="`skelo runs` lists them")
        if not await self._store.claim(run_id):
            raise errors.Busy(f"another process drives run {run_id}", hint="`skelo events --follow` watches it")
        try:
            actor = await self._recall(run_id)
            if actor is not None and going_on:
                nodes = actor.run.workflow.nodes
                left = [nodes[key] for key, node in actor.run.nodes.items() if node.status != "done"]
                means.check(means.of(left), self._performer)
        except errors.OpenSkeloError:
            await self._store.release(run_id)
            raise
        if actor is None:
            await self._store.release(run_id)
        return actor

    async def _recall(self, run_id: str) -> actors.Actor | None:
        """The run as its log says it is; None when it has ended."""
        loaded = await loading.load(self._store, run_id, self._pins.recalled)
        if loaded.run.ended:
            return None
        return actors.Actor(loaded.run, loaded.chain, await self._store.row(run_id))

    async def put_aside(self, *, idle: float = 0.0) -> Mapping[str, int | None]:
        """Let go of runs that only a person can move: they cost no memory until somebody answers or asks.

        Gives their ids, each with the moment (ms) at which time itself would move the run; `take` takes it up.
        """
        return {run.id: pending.wake_at(run) for run in await self._driver.park(idle=idle)}

    async def suspend(self, by: str) -> None:
        """Let nothing new start in any run; `once` effects finish, other work is cut."""
        await asyncio.gather(*(self._suspend(actor, by) for actor in self._driver.roster.all()))

    def _pause(self, by: str) -> commands.PauseRun:
        return commands.PauseRun(at=self._driver.now(), by=by, reason=stopped.REASON)

    async def _suspend(self, actor: actors.Actor, by: str) -> None:
        with contextlib.suppress(errors.Refused):
            await self._driver.submit(actor, self._pause(by))
        for key, flight in tuple(actor.run.in_flight.items()):
            work = actor.work.get(key)
            if work is None:
                continue
            if actor.run.workflow.nodes[flight.node].effect == "once":
                await work.wait()
                continue
            if work.job is not None:
                actor.left[key] = self._performer.left(work.job)
            work.cancel()
            await work.wait()
            actor.work.pop(key, None)
            report = commands.ReportInterrupted(
                at=self._driver.now(),
                node=flight.node,
                visit=flight.visit,
                attempt=flight.attempt,
                item=flight.item,
            )
            with contextlib.suppress(errors.Refused):
                await self._driver.submit(actor, report)
        while actor.mailbox:
            await actor.move()
