"""`skelo runs`: the runs of this data dir, newest first."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from openskelo.cli import exits, output, parsing, place
from openskelo.engine import listing
from openskelo.executors import task
from openskelo.stores import log as stores_log


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", metavar="N", type=parsing.count, default=100, help="at most so many (default: 100)")
    parser.add_argument("--offset", metavar="N", type=parsing.count, default=0, help="leave out the newest N")
    parser.add_argument(
        "--status", choices=("queued", "running", "paused", "completed", "failed"), help="only runs in this status"
    )


def run(args: argparse.Namespace) -> int:
    rows = asyncio.run(_rows(args, place.of_args(args)))
    if args.json:
        output.document({"runs": [listing.run_document(row) for row in rows]})
    elif not rows:
        output.note("no runs")
    else:
        output.table(["run", "status", "ending", "created", "name"], [_cells(row) for row in rows])
    return exits.COMPLETED


def _cells(row: stores_log.RunRow) -> list[str]:
    """A row of the table; on a terminal the first characters of the id do, for they name the run in every command."""
    run_id = row.run_id[:8] if sys.stdout.isatty() else row.run_id
    return [run_id, row.status, row.ending or "", output.moment(row.created_at), row.name]


async def _rows(args: argparse.Namespace, where: task.Project) -> Sequence[stores_log.RunRow]:
    if not place.has_runs(where):
        return ()
    async with place.reading(where) as log:
        return await log.rows(limit=args.limit, offset=args.offset, status=args.status)
