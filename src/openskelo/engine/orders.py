"""Orders and answers for a run, wherever it is driven: given to its driver here, or posted to another process's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openskelo import errors
from openskelo.engine import door, driver, holding, loading, mail, posting
from openskelo.kernel import commands
from openskelo.kernel.json import JsonObject
from openskelo.stores import log

if TYPE_CHECKING:
    from openskelo.engine import graphs


class Orders:
    """Gives them for one engine."""

    def __init__(self, store: log.Log, drives: driver.Driver, holds: holding.Holding) -> None:
        self._store = store
        self._driver = drives
        self._holding = holds

    async def give(self, run_id: str, command: commands.Command, body: JsonObject) -> None:
        """Give a run an order; `body` is the same order as it is posted (Refused RUN_ENDED)."""
        try:
            actor = await self._holding.take(run_id, first=command)
        except errors.Busy:
            await self.post(run_id, body)
            return
        if actor is None:
            raise errors.Refused("the run has ended", code="RUN_ENDED")

    async def give_graph(self, run_id: str, make: graphs.Make) -> None:
        """Give a live graph the order that `make` makes for it as it is now (Refused, NotFound, InvalidInput)."""
        try:
            actor = await self._holding.take(run_id)
        except errors.Busy:
            from openskelo.engine import graph_mail  # noqa: PLC0415  few runs are live graphs

            run = (await loading.load(self._store, run_id)).run
            command = await make(run, max(self._driver.now(), run.updated_at))
            await self.post(run_id, graph_mail.body(run, command))
            return
        if actor is None:
            raise errors.Refused("the run has ended", code="RUN_ENDED")
        await self._driver.submit(actor, await make(actor.run, self._driver.now()))

    async def post(self, run_id: str, body: JsonObject, *, leave: bool = False) -> None:
        """Leave an order for the process that drives the run, or (`leave`) for one who stands by; see `posting`."""
        await posting.post(
            self._store, run_id, body, take=self._holding.take, elsewhere=self._driver.elsewhere, leave=leave
        )

    async def answer(self, approval_id: str, given: door.Answer, *, leave: bool) -> str:
        """Answer an open approval; gives the id of its run (InvalidInput, Refused, NotFound)."""
        row = await self._store.approval(approval_id)
        if row is None and await self._store.asker(approval_id) is not None:
            raise errors.Refused("the approval is not open (any more)", code="APPROVAL_CLOSED")
        if row is None:
            raise errors.NotFound(
                f"there is no open approval {approval_id}",
                code="APPROVAL_NOT_FOUND",
                hint="`skelo approvals` lists them",
            )
        door.check_in_time(row.document, self._driver.now())
        if leave and self._driver.roster.get(row.run_id) is None:
            return await self._send_answer(row.run_id, approval_id, given, leave=True)
        try:
            actor = await self._holding.take(row.run_id, going_on=given.status != "denied")
        except errors.Busy:
            return await self._send_answer(row.run_id, approval_id, given)
        asked = None if actor is None else actor.run.approvals.get(approval_id)
        if actor is None or asked is None:
            raise errors.Refused("the approval is not open (any more)", code="APPROVAL_CLOSED")
        command = await door.answer(self._store, actor.run, asked, given, self._driver.now())
        await self._driver.submit(actor, command)
        return row.run_id

    async def _send_answer(self, run_id: str, approval_id: str, given: door.Answer, *, leave: bool = False) -> str:
        """Say what is wrong with an answer before it is posted to the run's driver."""
        from openskelo.kernel.decide import decide  # noqa: PLC0415  a look ahead at the driver's ruling

        read = await loading.load(self._store, run_id)
        asked = read.run.approvals.get(approval_id)
        if asked is None:
            raise errors.Refused("the approval is not open (any more)", code="APPROVAL_CLOSED")
        command = await door.answer(self._store, read.run, asked, given, self._driver.now())
        decide(read.run, command)
        await self.post(run_id, mail.answer_body(approval_id, given), leave=leave)
        await posting.check_answered(self._store, run_id, command, after=read.chain.seq)
        return run_id
