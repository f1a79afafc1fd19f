"""Leaving a command for the process that drives a run, and waiting until it has been taken."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from openskelo import errors
from openskelo.contract import envelope
from openskelo.kernel import commands, events
from openskelo.kernel.json import JsonObject
from openskelo.stores import log

#: How long a process waits for another one to take a command it posted.
TAKEN_SECONDS = 10.0
#: How often it looks whether the other one is still there.
LOOK_SECONDS = 0.2
#: How long it leaves a run that nobody drives to one who stands by.
STANDBY_SECONDS = 3.0


async def post(
    store: log.Log,
    run_id: str,
    body: JsonObject,
    *,
    take: Callable[[str], Awaitable[object]],
    elsewhere: Callable[[], Awaitable[None]],
    leave: bool = False,
) -> None:
    """Post the command and wait until it is taken (Refused when the run ends first).

    Posted (COMMAND_WAITING) when that takes long: the command stays, and is done by whoever goes on with the run.

    Should nobody drive the run (any more), this process does, by `take`; with `leave` only after those who stand by
    have had their time. `elsewhere` returns when another process has changed the store.
    """
    posted = await store.post(run_id, body)
    loop = asyncio.get_running_loop()
    alone_at = loop.time() + (STANDBY_SECONDS if leave else 0)
    try:
        async with asyncio.timeout(TAKEN_SECONDS):
            while await store.waits(posted):
                row = await store.row(run_id)
                if row is not None and row.ending is not None:
                    await _check_taken(store, posted)
                    return
                if loop.time() >= alone_at and not await store.driver_alive(run_id):
                    with contextlib.suppress(errors.Busy):  # somebody else was quicker, and takes it
                        await take(run_id)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await elsewhere()
    except TimeoutError:
        raise errors.Posted(
            f"the process that drives run {run_id} has not taken this yet; "
            "it stays posted, and is done as soon as that process, or another one, goes on with the run",
            hint=f"there is no need to give it again; `skelo show {run_id}` says what has come of it",
        ) from None


async def _check_taken(store: log.Log, posted: int) -> None:
    """Refused when the run has ended without this command; its taking may have been what ended the run."""
    if await store.waits(posted):
        await store.withdraw([posted])
        raise errors.Refused("the run has ended", code="RUN_ENDED")


async def check_answered(store: log.Log, run_id: str, answer: commands.AnswerApproval, *, after: int) -> None:
    """Refused (APPROVAL_CLOSED) when a posted answer was taken, and another one that was quicker holds.

    The log says which: its lines after the seq at which the approval was open.
    """
    async for lines in store.read(run_id, after=after):
        for line in lines:
            match envelope.open_line(line)[1]:
                case events.ApprovalResolved() as told if told.approval_id == answer.approval_id:
                    if _is_same(told, answer):
                        return
                    raise errors.Refused(
                        f"{told.by} has answered first ({told.resolution['status']})", code="APPROVAL_CLOSED"
                    )
                case _:
                    pass
    raise errors.Refused("the approval is not open (any more)", code="APPROVAL_CLOSED")


def _is_same(told: events.ApprovalResolved, answer: commands.AnswerApproval) -> bool:
    digest = answer.new_digest or answer.digest
    return (told.by, told.resolution["status"], told.digest) == (answer.by, answer.status, digest)
