"""`skelo show RUN`: where a run stands, read from the log; changes nothing."""

from __future__ import annotations

import argparse
import asyncio

from openskelo.cli import exits, output, parsing, place, render, runref
from openskelo.engine import local


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.epilog = "exits with the run's code: 0, 1, 4 or 130 for one that ended, 3 for one that did not"


def run(args: argparse.Namespace) -> int:
    return asyncio.run(_show(args, place.of_args(args)))


async def _show(args: argparse.Namespace, where: place.Place) -> int:
    async with place.reading(where) as log:
        row = await runref.resolve(log, args.run_id)
        async with await local.Engine.open(where.project, log=log) as engine:
            document = await engine.show(row.run_id)
    if args.json:
        output.document(document)
    else:
        render.whole(document, title=row.name)
    return exits.of_run(document)
