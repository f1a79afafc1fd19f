"""`skelo resume RUN`: go on with a run whose driver was suspended or died, or which waits for a person."""

from __future__ import annotations

import argparse
import asyncio

from openskelo.cli import drive, exits, identity, output, parsing, place, render, runref, suggested
from openskelo.executors import task
from openskelo.kernel.json import JsonObject


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    drive.cache_argument(parser)
    drive.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    return asyncio.run(_resume(args, place.of_args(args)))


async def _resume(args: argparse.Namespace, where: task.Project) -> int:
    async with drive.engine_at(where, cache=args.cache) as engine:
        row = await runref.resolve(engine.store, args.run_id)
        if row.ending is not None:
            place.write_copy(engine.store, row.run_id)  # a power loss or a hand may have shortened it since
            return _already_ended(args, where, await engine.show(row.run_id))
        seen = await drive.head(engine, row.run_id)
        await engine.resume(row.run_id, by=identity.user())
        return await drive.to_end(engine, row.run_id, args, after=seen)


def _already_ended(args: argparse.Namespace, where: task.Project, document: JsonObject) -> int:
    if args.json:
        output.document(document)
    else:
        output.note("this run has already ended")
        render.result(document, suggested.Suggested(where))
    return exits.of_run(document)
