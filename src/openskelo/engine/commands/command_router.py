"""Send the commands of callers to the driver of their run, in this process or in another one.

    command ──> take the run ──┬─ driven here ───────> its mailbox, and wait until it is durable
                               └─ driven elsewhere ──> the store's inbox, and wait until it is taken

A run that no process drives is taken up here, so that the command is carried out at once.

A command for another process goes into the store's inbox. The process that drives the run polls the inbox (within 50
ms), and the append that carries the command out removes it. The sender polls, too: it returns when the command is gone,
takes the run up itself when no process drives it (any more), and gives up after ten seconds (`CommandQueued`): the
command stays, and is carried out when a process goes on with the run.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from openskelo import errors
from openskelo.engine.commands import command_codec, input_checks
from openskelo.engine.drive import driver
from openskelo.engine.takeover import ownership
from openskelo.history import loading
from openskelo.kernel import commands, events, ids
from openskelo.kernel.decide import decide
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import Run
from openskelo.record import envelope
from openskelo.stores import api

#: Returns the command for a live graph as it is now, at this time (ms).
MakeGraphCommand: TypeAlias = Callable[[Run, int], Awaitable[commands.GraphCommand]]


class CommandRouter:
    """Routes the commands of one engine's callers."""

    def __init__(self, store: api.Store, run_driver: driver.Driver, owned: ownership.Ownership) -> None:
        self._store = store
        self._driver = run_driver
        self._ownership = owned

    async def send(self, run_id: str, command: commands.Command) -> None:
        """Carry out a command in the process that drives the run. Raise NotFound or Refused."""

        async def first(_: Run) -> commands.Command:
            return command

        try:
            run = await self._ownership.take(run_id, first=first)
        except errors.Busy:
            await self.send_to_other_process(run_id, command)
            return
        if run is None:
            raise errors.Refused("the run has ended", code="RUN_ENDED")

    async def send_to_other_process(self, run_id: str, command: commands.Command) -> None:
        """Queue a command for the process that drives the run, and wait until it is taken (Refused, CommandQueued)."""
        await self._queue(run_id, command_codec.encode_command(command))

    async def send_graph(self, run_id: str, make: MakeGraphCommand) -> None:
        """Carry out the command that `make` returns for the live graph as it is now (Refused, InvalidInput).

        A message is for a node whose model, agent or handler is there: else it is refused, and the run left as it was.
        """

        async def first(run: Run) -> commands.Command:
            command = await make(run, self._driver.now())
            decide(run, command)  # a node that does not exist is said before what it lacks
            if isinstance(command, commands.SendMessage | commands.RetryTurn):
                self._ownership.check_node(run, command.node)
            return command

        try:
            run = await self._ownership.take(run_id, first=first)
        except errors.Busy:
            state = (await loading.load(self._store, run_id)).run
            command = await make(state, max(self._driver.now(), state.updated_at))
            decide(state, command)  # a refusal is raised now, not lost in the other process
            await self.send_to_other_process(run_id, command)
            return
        if run is None:
            raise errors.Refused("the run has ended", code="RUN_ENDED")

    async def answer(self, approval_id: str, answer: input_checks.Answer, *, leave: bool) -> str:
        """Answer an open approval and return the id of its run (InvalidInput, Refused, NotFound).

        An answer after which the run goes on is refused, and the approval stays open, if something that the rest of the
        run needs is missing here. With `leave` a run that is not driven here goes on in another process, if one takes
        it.
        """
        row = await api.get_approval(self._store, approval_id)
        input_checks.check_in_time(row.document, self._driver.now())
        if leave and not self._ownership.is_driving(row.run_id):
            return await self._answer_elsewhere(row.run_id, approval_id, answer, leave=True)

        async def first(run: Run) -> commands.Command:
            approval = errors.require_open(run.approvals.get(approval_id))
            command = await input_checks.answer_command(self._store, run, approval, answer, self._driver.now())
            if input_checks.goes_on(run, command):
                self._ownership.check_needs(run)
            return command

        try:
            run = await self._ownership.take(row.run_id, first=first)
        except errors.Busy:
            return await self._answer_elsewhere(row.run_id, approval_id, answer)
        errors.require_open(run)  # the end of a run closes its approvals
        return row.run_id

    async def _answer_elsewhere(
        self, run_id: str, approval_id: str, answer: input_checks.Answer, *, leave: bool = False
    ) -> str:
        """Check an answer against the log, then queue it for the run's driver."""
        loaded_run = await loading.load(self._store, run_id)
        approval = errors.require_open(loaded_run.run.approvals.get(approval_id))
        command = await input_checks.answer_command(self._store, loaded_run.run, approval, answer, self._driver.now())
        decide(loaded_run.run, command)
        await self._queue(run_id, command_codec.encode_answer(approval_id, answer), leave=leave)
        await check_answered(self._store, run_id, command, after=loaded_run.chain.seq)
        return run_id

    async def _queue(self, run_id: str, body: JsonObject, *, leave: bool = False) -> None:
        await queue_and_wait(
            self._store,
            run_id,
            body,
            take=self._ownership.take,
            wait_for_other_process=self._driver.inbox.wait_for_other_process,
            leave=leave,
        )


# -- commands for another process -------------------------------------------------------------------------------------

#: How long the sender waits for another process to take the command.
TAKEN_SECONDS = 10.0
#: How often the sender checks that the run's driver is alive.
CHECK_SECONDS = 0.2
#: How long the sender leaves a run without a driver to the supervisors of other processes.
SUPERVISOR_SECONDS = 3.0


async def queue_and_wait(
    store: api.Store,
    run_id: str,
    body: JsonObject,
    *,
    take: Callable[[str], Awaitable[object]],
    wait_for_other_process: Callable[[], Awaitable[None]],
    leave: bool = False,
) -> None:
    """Queue the command and wait until it is taken (Refused if the run ends first, CommandQueued if it takes long).

    If no process drives the run, this one does, by `take`; with `leave` only after supervisors have had their time.
    """
    command_id = errors.require_run(await store.queue_command(run_id, body), run_id)
    loop = asyncio.get_running_loop()
    take_at = loop.time() + (SUPERVISOR_SECONDS if leave else 0)
    try:
        async with asyncio.timeout(TAKEN_SECONDS):
            while await store.is_command_queued(command_id):
                row = await store.find_run(run_id)
                if row is not None and row.ending is not None:
                    await _check_taken(store, command_id)
                    return
                if loop.time() >= take_at and not await store.is_driver_alive(run_id):
                    with contextlib.suppress(errors.Busy):  # another process was first, and takes the command
                        await take(run_id)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(CHECK_SECONDS):
                        await wait_for_other_process()
    except TimeoutError:
        raise errors.CommandQueued(
            f"the process that drives run {run_id} has not taken this yet; "
            "it stays queued, and is done as soon as that process, or another one, goes on with the run",
            hint=f"there is no need to send it again; `skelo show {ids.short(run_id)}` shows its result",
        ) from None


async def _check_taken(store: api.Store, command_id: int) -> None:
    """Raise Refused if the run has ended without this command; the command may have been what ended the run."""
    if await store.is_command_queued(command_id):
        await store.withdraw_commands([command_id])
        raise errors.Refused("the run has ended", code="RUN_ENDED")


async def check_answered(store: api.Store, run_id: str, answer: commands.AnswerApproval, *, after: int) -> None:
    """Raise Refused if another answer to the approval was first (APPROVAL_CLOSED), or none was taken (NEEDS_MISSING).

    The log says which: its lines after `after`, the seq at which the approval was open.
    """
    async for lines in store.read_events(run_id, after=after):
        for line in lines:
            fact = envelope.open_line(line)[1]
            if not isinstance(fact, events.ApprovalResolved) or fact.approval_id != answer.approval_id:
                continue
            matching_fact = fact if _is_same(fact, answer) else None
            errors.require_open(matching_fact, f"{fact.by} has answered first ({fact.resolution['status']})")
            return
    await api.get_approval(store, answer.approval_id)  # NotFound if it was withdrawn
    raise errors.Refused(
        "the process that drives the run lacks a model, a handler or a secret that the rest of it needs",
        code="NEEDS_MISSING",
        hint="the approval is still open; the log of that process says what is missing",
    )


def _is_same(fact: events.ApprovalResolved, answer: commands.AnswerApproval) -> bool:
    digest = answer.new_digest or answer.digest
    return (fact.by, fact.resolution["status"], fact.digest) == (answer.by, answer.status, digest)
