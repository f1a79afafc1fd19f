"""`skelo cancel RUN`: cancel a run and everything it started, whichever process drives it."""

from __future__ import annotations

import argparse
import asyncio

from openskelo.cli import drive, exit_codes, output, parsing, project_context, render
from openskelo.engine import api as engine_api
from openskelo.history.run_document import RunDocument
from openskelo.project import Project

#: Seconds to wait for the running work to stop.
_STOP_TIMEOUT = 15.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.add_argument("--reason", metavar="TEXT", help="why, for the record")
    parser.epilog = (
        "exit codes: 0 the run is cancelled, 2 it had ended already, 3 the process that drives it "
        "has not taken the command yet (COMMAND_WAITING): the command stays queued and will be done"
    )


def run(args: argparse.Namespace) -> int:
    return asyncio.run(_cancel(args, project_context.from_args(args)))


async def _cancel(args: argparse.Namespace, where: Project) -> int:
    async with drive.engine_at(where) as engine:
        row = await engine.history.find_run(args.run_id)
        await engine.cancel(row.run_id, by=project_context.current_user(), reason=args.reason)
        document = await _wait_for_end(engine, row.run_id)
        write_command = await drive.command_hint(engine, document)
    if args.json:
        output.document(document)
    else:
        render.result(document, write_command)
    return exit_codes.COMPLETED


async def _wait_for_end(engine: engine_api.Engine, run_id: str) -> RunDocument:
    """Wait until the running work has stopped, here or in the process that drives the run; return the document."""
    try:
        async with asyncio.timeout(_STOP_TIMEOUT):
            async for _ in engine.follow(run_id):
                pass
    except TimeoutError:
        output.note("the run is being stopped, which takes longer than usual")
    return await engine.show(run_id)
