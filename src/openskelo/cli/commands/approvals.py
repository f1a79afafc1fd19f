"""`skelo approvals`: list the open approvals of all runs or of one."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence

from openskelo.cli import exit_codes, output, project_context, render
from openskelo.history import listing, reader, run_document
from openskelo.project import Project


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", nargs="?", help="only the approvals of this run")


def run(args: argparse.Namespace) -> int:
    where = project_context.with_runs(project_context.from_args(args))
    open_approvals, names, short_ids = asyncio.run(_read_open(args, where))
    if args.json:
        output.document({"approvals": open_approvals})
    elif not open_approvals:
        no_runs = "" if project_context.has_runs(where) else f": no runs are kept in {where.data_dir}"
        output.note(f"nothing is waiting for a person{no_runs}")
    else:
        write_command = project_context.CommandHint(where, short_ids)
        for approval in open_approvals:
            run_id = approval["runId"]
            render.question(approval, write_command, run=f"{names[run_id]}, run {short_ids[run_id]}")
    return exit_codes.COMPLETED


async def _read_open(
    args: argparse.Namespace, where: Project
) -> tuple[Sequence[run_document.ApprovalDocument], Mapping[str, str], Mapping[str, str]]:
    """Return the open approvals, the names of their runs, and their short ids and those of the runs."""
    if args.run_id is None and not project_context.has_runs(where):
        project_context.note_data_dirs(project_context.data_dirs_below(where))
        return (), {}, {}
    async with project_context.reading(where) as log:
        run_id = (await listing.find_run(log, args.run_id)).run_id if args.run_id else None
        open_approvals = await reader.HistoryReader(where, log).approvals(run_id)
        by_run: dict[str, list[str]] = {}
        for approval in open_approvals:
            by_run.setdefault(approval["runId"], []).append(approval["id"])
        runs = {run_id: await log.find_run(run_id) for run_id in by_run}
        names = {key: row.name if row else "" for key, row in runs.items()}
        return open_approvals, names, await listing.short_ids(log, by_run)
