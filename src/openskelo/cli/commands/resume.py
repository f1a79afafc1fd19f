"""`skelo resume RUN`: go on with a run whose driver was suspended or died, or which waits for a person."""

from __future__ import annotations

import argparse
import asyncio

from openskelo.cli import drive, exits, output, parsing, place, render, runref
from openskelo.engine import local


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    drive.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    return asyncio.run(_resume(args, place.of_args(args)))


async def _resume(args: argparse.Namespace, where: place.Place) -> int:
    async with place.reading(where) as log:
        row = await runref.resolve(log, args.run_id)
        async with await local.Engine.open(where.project, log=log) as engine:
            if row.ending is not None:
                return _already_ended(args, await engine.show(row.run_id))
            await engine.resume(row.run_id)
            workflow = await engine.workflow(row.run_id)
            return await drive.to_end(engine, row.run_id, args, workflow.nodes)


def _already_ended(args: argparse.Namespace, document: render.JsonObject) -> int:
    if args.json:
        output.document(document)
    else:
        output.note("this run has already ended")
        render.result(document)
    return exits.of_run(document)
