"""Which approval a person means, and how an answer from the command line reaches its run."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from openskelo import errors
from openskelo.cli import drive, exits, identity, output, place, render
from openskelo.engine import local
from openskelo.kernel.json import JsonObject
from openskelo.stores import log as stores_log

SHORTEST = 4
Reader = Callable[[argparse.Namespace, JsonObject], tuple[str, JsonObject | None]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `approve` and `deny` share."""
    parser.add_argument("approval_id", metavar="ID", help="the approval's id, or at least 4 first characters of it")
    drive.add_arguments(parser)
    parser.epilog = (
        "When no other process drives the run, this one goes on with it until it ends or waits\n"
        "again, and exits with the run's code. Otherwise it exits with 0 once the answer is taken."
    )


async def answer(args: argparse.Namespace, where: place.Place, read: Reader) -> int:
    """Give the answer that `read` makes of the arguments, then follow the run if it is ours to drive."""
    async with place.reading(where) as log:
        row = await resolve(log, args.approval_id)
        status, values = read(args, row.document)
        elsewhere = await log.driver_alive(row.run_id)
        async with await local.Engine.open(where.project, log=log) as engine:
            await engine.answer(row.approval_id, status=status, values=values, reason=args.reason, by=identity.user())
            if not elsewhere:
                workflow = await engine.workflow(row.run_id)
                return await drive.to_end(engine, row.run_id, args, workflow.nodes)
            document = await engine.show(row.run_id)
    if args.json:
        output.document(document)
    else:
        output.note(f"{status}; the process that drives the run goes on with it")
        render.result(document)
    return exits.COMPLETED


async def resolve(log: stores_log.Log, text: str) -> stores_log.ApprovalRow:
    """The open approval that `text` names."""
    wanted = text.strip().lower()
    row = await log.approval(wanted)
    if row is not None:
        return row
    found = (
        [row for row in await log.approvals() if row.approval_id.startswith(wanted)] if len(wanted) >= SHORTEST else []
    )
    if len(found) == 1:
        return found[0]
    if found:
        raise errors.InvalidInput(
            f"{text} fits {len(found)} approvals", code="APPROVAL_AMBIGUOUS", hint="give more characters"
        )
    raise errors.NotFound(
        f"there is no open approval {text}",
        code="APPROVAL_NOT_FOUND",
        hint="skelo approvals lists what is open; an answered one is closed for good",
    )
