"""`skelo cancel RUN`: end a run and everything it started, wherever it is driven."""

from __future__ import annotations

import argparse
import asyncio

from openskelo.cli import exits, identity, output, parsing, place, render, runref
from openskelo.engine import local


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.add_argument("--reason", metavar="TEXT", help="why, for the record")
    parser.epilog = "exit codes: 0 the run is cancelled, 2 it had ended already"


def run(args: argparse.Namespace) -> int:
    return asyncio.run(_cancel(args, place.of_args(args)))


async def _cancel(args: argparse.Namespace, where: place.Place) -> int:
    async with place.reading(where) as log:
        row = await runref.resolve(log, args.run_id)
        async with await local.Engine.open(where.project, log=log) as engine:
            await engine.cancel(row.run_id, by=identity.user(), reason=args.reason)
            document = await engine.show(row.run_id)
    if args.json:
        output.document(document)
    else:
        render.result(document)
    return exits.COMPLETED
