"""`skelo resume RUN`: continue a run whose driver was suspended or died, or which waits for a person."""

from __future__ import annotations

import argparse
import asyncio

from openskelo.cli import drive, exit_codes, output, parsing, project_context, render
from openskelo.history.run_document import RunDocument
from openskelo.project import Project


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    drive.add_cache_argument(parser)
    drive.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    return asyncio.run(_resume(args, project_context.from_args(args)))


async def _resume(args: argparse.Namespace, where: Project) -> int:
    async with drive.engine_at(where, cache=args.cache) as engine:
        row = await engine.history.find_run(args.run_id)
        if row.ending is not None:
            document = await engine.show(row.run_id)
            return _print_ended(args, document, await drive.command_hint(engine, document))
        after_seq = await drive.last_seq(engine, row.run_id)
        await engine.resume(row.run_id, by=project_context.current_user())
        return await drive.follow_to_end(engine, row.run_id, args, after=after_seq)


def _print_ended(args: argparse.Namespace, document: RunDocument, write_command: render.WriteCommand) -> int:
    if args.json:
        output.document(document)
    else:
        output.note("this run has already ended")
        render.result(document, write_command)
    return exit_codes.of_run(document)
