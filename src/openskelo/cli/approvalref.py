"""Which approval a person means, and how an answer from the command line reaches its run."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TypeAlias

from openskelo import errors
from openskelo.cli import drive, exits, identity, members, output, render, suggested
from openskelo.engine import loading, local, standby, stopped
from openskelo.executors import task
from openskelo.kernel import commands
from openskelo.kernel.json import JsonObject
from openskelo.stores import log as stores_log

SHORTEST = 4
Schemas: TypeAlias = "Mapping[str, JsonObject]"
Reader: TypeAlias = "Callable[[argparse.Namespace, Schemas], tuple[commands.Answer, JsonObject | None]]"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `approve` and `deny` share."""
    parser.add_argument("approval_id", metavar="ID", help="the approval's id, or at least 4 first characters of it")
    drive.cache_argument(parser)
    drive.add_arguments(parser)
    parser.epilog = (
        "When no other process drives the run and no server stands by, this one goes on with it\n"
        "until it ends or waits again, and exits with the run's code. Otherwise it exits with 0\n"
        "once the answer is taken, or after some seconds with 3 (COMMAND_WAITING): it stays posted\n"
        "then, and is taken as soon as the other process goes on."
    )


async def answer(args: argparse.Namespace, where: task.Project, read: Reader) -> int:
    """Give the answer that `read` makes of the arguments, then follow the run if it is ours to drive."""
    async with drive.engine_at(where, cache=args.cache) as engine:
        row = await resolve(engine.store, args.approval_id)
        status, values = read(args, await _schemas(engine, row))
        seen = await drive.head(engine, row.run_id)
        elsewhere = await engine.store.driver_alive(row.run_id) or standby.is_there(where.data_dir)
        await engine.answer(
            row.approval_id, status=status, values=values, reason=args.reason, by=identity.user(), leave=elsewhere
        )
        if not elsewhere or engine.holding.has_driven(row.run_id):  # whoever had it may have died since
            await engine.resume(row.run_id, by=identity.user(), only=stopped.REASON)  # an answer ends nobody's pause
            return await drive.to_end(engine, row.run_id, args, after=seen)
        document = await engine.show(row.run_id)
    if args.json:
        output.document(document)
    else:
        output.note(f"{status}; the process that drives the run goes on with it")
        render.result(document, suggested.Suggested(where))
    return exits.COMPLETED


async def _schemas(engine: local.Engine, row: stores_log.ApprovalRow) -> Schemas:
    """What the values of an answer must fit: the form; else inputs that may change, or outputs that cut work had."""
    properties = members.object_at(members.object_at(row.document, "form"), "properties")
    if properties:
        return {name: members.as_object(part) for name, part in properties.items()}
    node = (await loading.load(engine.store, row.run_id)).run.workflow.nodes[row.node]
    ports = node.outputs if row.document.get("kind") == "uncertain" else node.inputs
    return {port.name: port.schema for port in ports}


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
