"""`skelo approvals`: what waits for a person, over all runs or in one."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence

from openskelo.cli import exits, output, place, render, runref
from openskelo.executors import task
from openskelo.stores import log as stores_log


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", nargs="?", help="only those of this run")


def run(args: argparse.Namespace) -> int:
    rows, names = asyncio.run(_rows(args, place.of_args(args)))
    if args.json:
        output.document({"approvals": [row.document for row in rows]})
    elif not rows:
        output.note("nothing waits for a person")
    else:
        for row in rows:
            render.question(row.document, run=f"{names[row.run_id]}, run {row.run_id[:8]}")
    return exits.COMPLETED


async def _rows(
    args: argparse.Namespace, where: task.Project
) -> tuple[Sequence[stores_log.ApprovalRow], Mapping[str, str]]:
    """The open approvals, and the names of their runs."""
    if args.run_id is None and not place.has_runs(where):
        return (), {}
    async with place.reading(where) as log:
        run_id = (await runref.resolve(log, args.run_id)).run_id if args.run_id else None
        rows = await log.approvals(run_id)
        runs = {row.run_id: await log.row(row.run_id) for row in rows}
        return rows, {key: row.name if row else "" for key, row in runs.items()}
