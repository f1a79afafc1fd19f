"""`skelo approve ID`: approve an open approval, if needed with modified values, and drive its run on."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Mapping
from typing import TypeAlias

from openskelo.cli import drive, exit_codes, inputs, json_fields, output, project_context, render
from openskelo.engine import api as engine_api
from openskelo.kernel import commands
from openskelo.kernel.json import JsonObject
from openskelo.project import Project
from openskelo.stores import api


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_answer_arguments(parser)
    parser.add_argument(
        "--set",
        metavar="K=V",
        action="append",
        default=[],
        help="modify a value of the form; V is JSON unless a string is wanted; K=@FILE reads it (repeatable)",
    )
    parser.add_argument(
        "--set-file", metavar="F.json", help="modified values as one JSON object (- reads standard input)"
    )
    parser.add_argument("--reason", metavar="TEXT", help="why, for the record")
    parser.add_argument(
        "--for",
        dest="remember",
        choices=("turn", "run"),
        help="allow an agent's calls like this one until its turn, or the run, ends",
    )


def run(args: argparse.Namespace) -> int:
    return asyncio.run(send_answer(args, project_context.from_args(args), _values))


def _values(args: argparse.Namespace, schemas: Schemas) -> tuple[commands.Answer, JsonObject | None]:
    values = inputs.from_file(args.set_file, pair_option="--set") if args.set_file else {}
    values |= inputs.from_pairs(args.set, schemas)
    if args.set_file or args.set:
        return ("modified", values)
    return ("approved", None)


_SHORTEST_PREFIX = 4
Schemas: TypeAlias = "Mapping[str, JsonObject]"
Reader: TypeAlias = "Callable[[argparse.Namespace, Schemas], tuple[commands.Answer, JsonObject | None]]"


def add_answer_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `approve` and `deny` share."""
    parser.add_argument(
        "approval_id",
        metavar="ID",
        help="an approval id, its first characters (at least 4), or `last` if only one is open",
    )
    drive.add_cache_argument(parser)
    drive.add_arguments(parser)
    parser.epilog = (
        "If no other process drives the run and no server is running, this command drives the run until\n"
        "it ends or waits again, and exits with the run's code. Otherwise it exits with 0 as soon as the\n"
        "driver has taken the answer, or after ten seconds with 3 (COMMAND_WAITING): the answer stays\n"
        "queued, and the next process that drives the run takes it."
    )


async def send_answer(args: argparse.Namespace, where: Project, read: Reader) -> int:
    """Send the answer that `read` returns for the arguments, then drive the run if no other process does."""
    async with drive.engine_at(where, cache=args.cache) as engine:
        row = await engine.history.find_approval(args.approval_id)
        status, modified_args = read(args, await _answer_schemas(engine, row))
        after_seq = await drive.last_seq(engine, row.run_id)
        elsewhere = await engine.is_driven_elsewhere(row.run_id)
        await engine.answer(
            row.approval_id,
            status=status,
            modified_args=modified_args,
            reason=args.reason,
            remember=getattr(args, "remember", None),
            by=project_context.current_user(),
            leave=elsewhere,
        )
        if not elsewhere or engine.is_driving(row.run_id):  # the other driver may have died since
            # An answer resumes a run that a dead driver left, not one that a user has paused.
            await engine.resume(row.run_id, by=project_context.current_user(), only=commands.SUSPENDED)
            return await drive.follow_to_end(engine, row.run_id, args, after=after_seq)
        document = await engine.show(row.run_id)
        write_command = await drive.command_hint(engine, document)
    if args.json:
        output.document(document)
    else:
        output.note(f"{status}; the process that drives the run goes on with it")
        render.result(document, write_command)
    return exit_codes.COMPLETED


async def _answer_schemas(engine: engine_api.Engine, row: api.ApprovalRow) -> Schemas:
    """Return the schemas of an answer's values: those of the form, else of the node's inputs.

    If it is unknown whether an effect happened (`uncertain`), the values are the outputs of the node.
    """
    properties = json_fields.object_at(json_fields.object_at(row.document, "form"), "properties")
    if properties:
        return {name: json_fields.as_object(part) for name, part in properties.items()}
    node = (await engine.history.load_run(row.run_id)).workflow.nodes[row.node]
    ports = node.outputs if row.document.get("kind") == "uncertain" else node.inputs
    return {port.name: port.schema for port in ports}
