"""`skelo show RUN`: where a run stands, read from the log; changes nothing."""

from __future__ import annotations

import argparse
import asyncio

from openskelo.cli import artifacts, exits, output, parsing, place, render, runref, suggested
from openskelo.executors import task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.add_argument("--logs", action="store_true", help="also what each attempt has logged, newest last")
    parser.epilog = "exits with the run's code: 0, 1, 4 or 130 for one that ended, 3 for one that did not"


def run(args: argparse.Namespace) -> int:
    return asyncio.run(_show(args, place.of_args(args)))


async def _show(args: argparse.Namespace, where: task.Project) -> int:
    async with place.reading(where) as log:
        row = await runref.resolve(log, args.run_id)
        document = await runref.document(log, row.run_id)
        logs = await artifacts.logs(log, row.run_id) if args.logs else None
        driven = await log.driver_alive(row.run_id)
    if args.json:
        output.document(document if logs is None else {**document, "logs": logs})
    else:
        typed = suggested.Suggested(where)
        render.whole(document, typed, title=row.name)
        render.logs(logs or ())
        if document["ending"] is None and not driven and not document["approvals"]:
            output.note(f"no process drives this run; go on with: {typed(f'skelo resume {row.run_id}')}")
    return exits.of_run(document)
