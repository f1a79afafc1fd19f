"""How a run begins: its id is new, what its workflow needs is there, and it is durable before anybody hears of it."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from openskelo import errors
from openskelo.contract import envelope, sealed
from openskelo.engine import actor as actors
from openskelo.engine import driver, means, pinning
from openskelo.executors import attempt
from openskelo.kernel import commands, definition, ids
from openskelo.kernel import run as runs
from openskelo.stores import log

if TYPE_CHECKING:
    from openskelo.engine.fleet import mates


class Beginning:
    """Makes runs for a driver, or has another process make them."""

    def __init__(self, store: log.Log, drives: driver.Driver, performer: attempt.Performer, pins: pinning.Pins) -> None:
        self._store = store
        self._driver = drives
        self._performer = performer
        self._pins = pins
        self.fleet: mates.Fleet | None = None  # where other processes drive runs, too

    async def check_new(self, run_id: str) -> None:
        """Nothing when a run may get this id (InvalidInput RUN_ID, Refused RUN_EXISTS)."""
        if not sealed.is_uuid(run_id):
            raise errors.InvalidInput(f"not a run id: {run_id[:100]!r}", code="RUN_ID", hint="run ids are UUIDs")
        if await self._store.row(run_id) is not None:
            raise _exists(run_id)

    def pin(self, workflow: definition.Workflow) -> pinning.Pin:
        """The workflow as its runs keep it, once whatever it asks for is there (InvalidInput)."""
        pin = self._pins.of(workflow)
        means.check(pin.needs, self._performer)
        if not pin.prepared:
            pin.prepared = True
            self._performer.prepare(pin.workflow.nodes.values())
        return pin

    async def create(self, pin: pinning.Pin, command: commands.CreateRun, run_id: str | None) -> str:
        """The id of the new run; it is durable, and driven: here, or by another process of the same engine."""
        run_id = run_id or ids.drawn(os.urandom(16))
        if self.fleet is not None:
            self._driver.check_home()
            if await self.fleet.begin(pin, command, run_id, here=len(self._driver.roster.actors)):
                return run_id
        await self.begin(pin, command, run_id)
        return run_id

    async def begin(self, pin: pinning.Pin, command: commands.CreateRun, run_id: str) -> None:
        """The run is durable, and driven here (Refused RUN_EXISTS when somebody else was quicker)."""
        if not pin.blobs:
            await self._store.put_blob(pin.data)
        try:
            await self.order(pin, command, run_id)
        except errors.Conflict:
            raise self.refusal(run_id) from None

    def order(self, pin: pinning.Pin, command: commands.CreateRun, run_id: str) -> asyncio.Future[None]:
        """What `begin` waits for, where the definition is kept already or committed beside what is ordered."""
        actor = self._driver.roster.get(run_id)  # of who asks for the same run right now: the second is refused
        if actor is None:
            chain = envelope.Chain(run_id, nodes=pin.workflow.nodes)
            actor = actors.Actor(runs.new(run_id, pin.workflow, pin.shape), chain, None)
            self._driver.adopt(actor)
        return self._driver.order(actor, command, pin.blobs)

    def refusal(self, run_id: str) -> errors.Refused:
        """What the Conflict of an order means: another process has begun the run."""
        self._driver.roster.forget(run_id)
        return _exists(run_id)


def _exists(run_id: str) -> errors.Refused:
    return errors.Refused(f"run {run_id} exists already", code="RUN_EXISTS")
