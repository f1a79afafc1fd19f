"""`skelo runs`: the runs of this data dir, newest first."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from openskelo.cli import exit_codes, output, parsing, project_context
from openskelo.history import listing
from openskelo.project import Project
from openskelo.stores import api


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--limit", metavar="N", type=parsing.count, default=100, help="list at most N runs (default: 100)"
    )
    parser.add_argument("--offset", metavar="N", type=parsing.count, default=0, help="skip the newest N runs")
    parser.add_argument(
        "--status", choices=("queued", "running", "paused", "completed", "failed"), help="only runs in this status"
    )


def run(args: argparse.Namespace) -> int:
    where = project_context.with_runs(project_context.from_args(args))
    rows = asyncio.run(_rows(args, where))
    if args.json:
        output.document({"runs": [listing.run_document(row) for row in rows]})
    elif not rows:
        status = f"{args.status} " if args.status else ""
        output.note(f"no {status}runs in {where.data_dir}")
    else:
        output.table(["run", "status", "ending", "created", "name"], [_cells(row) for row in rows])
    return exit_codes.COMPLETED


def _cells(row: api.RunRow) -> list[str]:
    """Return a row of the table; on a terminal with a short id, which every command accepts."""
    run_id = row.run_id[:8] if sys.stdout.isatty() else row.run_id
    return [run_id, row.status, row.ending or "", output.moment(row.created_at), row.name]


async def _rows(args: argparse.Namespace, where: Project) -> Sequence[api.RunRow]:
    if not project_context.has_runs(where):
        project_context.note_data_dirs(project_context.data_dirs_below(where))
        return ()
    async with project_context.reading(where) as log:
        return await log.list_runs(limit=args.limit, offset=args.offset, status=args.status)
