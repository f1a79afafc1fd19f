"""`skelo approvals`: what waits for a person, over all runs or in one."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence

from openskelo.cli import exits, output, place, render, runref, suggested
from openskelo.engine import records
from openskelo.executors import task
from openskelo.kernel.json import JsonObject


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", nargs="?", help="only those of this run")


def run(args: argparse.Namespace) -> int:
    where = place.of_args(args)
    found, names = asyncio.run(_open(args, where))
    if args.json:
        output.document({"approvals": found})
    elif not found:
        output.note("nothing waits for a person")
    else:
        typed = suggested.Suggested(where)
        for asked in found:
            run_id = str(asked["runId"])
            render.question(asked, typed, run=f"{names[run_id]}, run {run_id[:8]}")
    return exits.COMPLETED


async def _open(args: argparse.Namespace, where: task.Project) -> tuple[Sequence[JsonObject], Mapping[str, str]]:
    """The open approvals, and the names of their runs."""
    if args.run_id is None and not place.has_runs(where):
        return (), {}
    async with place.reading(where) as log:
        run_id = (await runref.resolve(log, args.run_id)).run_id if args.run_id else None
        found = await records.Records(where, log).approvals(run_id)
        runs = {str(asked["runId"]): await log.row(str(asked["runId"])) for asked in found}
        return found, {key: row.name if row else "" for key, row in runs.items()}
