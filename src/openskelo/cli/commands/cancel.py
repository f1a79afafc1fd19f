"""`skelo cancel RUN`: end a run and everything it started, wherever it is driven."""

from __future__ import annotations

import argparse
import asyncio

from openskelo.cli import drive, exits, identity, output, parsing, place, render, runref, suggested
from openskelo.engine import local
from openskelo.executors import task
from openskelo.kernel.json import JsonObject

#: How long this waits for the work under way to stop.
_PATIENCE = 15.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.add_argument("--reason", metavar="TEXT", help="why, for the record")
    parser.epilog = (
        "exit codes: 0 the run is cancelled, 2 it had ended already, 3 the process that drives it "
        "has not taken the order yet (COMMAND_WAITING): it stays posted, and will be done"
    )


def run(args: argparse.Namespace) -> int:
    return asyncio.run(_cancel(args, place.of_args(args)))


async def _cancel(args: argparse.Namespace, where: task.Project) -> int:
    async with drive.engine_at(where) as engine:
        row = await runref.resolve(engine.store, args.run_id)
        await engine.cancel(row.run_id, by=identity.user(), reason=args.reason)
        document = await _ended(engine, row.run_id)
    if args.json:
        output.document(document)
    else:
        render.result(document, suggested.Suggested(where))
    return exits.COMPLETED


async def _ended(engine: local.Engine, run_id: str) -> JsonObject:
    """Wait until what was under way has been stopped, here or in the process that drives the run."""
    try:
        async with asyncio.timeout(_PATIENCE):
            async for _ in engine.follow(run_id):
                pass
    except TimeoutError:
        output.note("the run is being stopped, which takes longer than usual")
    return await runref.document(engine.store, run_id)
