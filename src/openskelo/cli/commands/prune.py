"""`skelo prune`: remove the data of old runs from the data dir; their records still verify."""

from __future__ import annotations

import argparse
import asyncio
import re
from datetime import timedelta

from openskelo import errors
from openskelo.cli import exit_codes, output, parsing, project_context
from openskelo.history import listing, prune
from openskelo.project import Project

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_AGE = re.compile(r"(\d{1,9})([smhdw])")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run_ids", metavar="RUN", nargs="*", help="prune exactly these runs (then the options below are not used)"
    )
    parser.add_argument("--older-than", metavar="AGE", help="runs that ended longer ago: 30d, 12h, 90m, 8w")
    parser.add_argument(
        "--keep", metavar="N", type=parsing.count, help="spare the newest N of the runs that have ended"
    )
    parser.add_argument("--status", choices=("completed", "failed"), help="only runs in this status")
    parser.add_argument("--delete", action="store_true", help="remove the runs altogether, records and receipts too")
    parser.add_argument("--compact", action="store_true", help="give freed room back to the disk (rewrites the log)")
    parser.add_argument("--dry-run", action="store_true", help="say what would be freed, and change nothing")
    parser.epilog = (
        "Inputs, outputs, prompts, messages and files go; the chain, the receipts and the ending stay, so that "
        "`skelo verify` still proves its record. Runs that have not ended are never touched.\n\n"
        "exit codes: 0 done, 1 a run could not be pruned, 2 nothing was chosen by the arguments"
    )


def run(args: argparse.Namespace) -> int:
    age = None if args.older_than is None else _age(args.older_than)
    choice = prune.Choice(older_than=age, keep=args.keep, status=args.status)
    return asyncio.run(_prune(args, project_context.from_args(args), choice))


def _age(text: str) -> timedelta:
    match = _AGE.fullmatch(text)
    if match is None:
        raise errors.InvalidInput(
            f"{text[:100]!r} is not an age", code="USAGE", hint="a number and s, m, h, d or w, such as 30d"
        )
    return timedelta(seconds=int(match[1]) * _SECONDS[match[2]])


async def _prune(args: argparse.Namespace, where: Project, choice: prune.Choice) -> int:
    prune.check_choice(args.run_ids, choice)
    if not project_context.has_runs(where):
        return _say(args, prune.Pruned(failed={}, dry_run=args.dry_run, deleted=args.delete))
    async with project_context.reading(where) as log:
        named_ids = [(await listing.find_run(log, text)).run_id for text in args.run_ids]
        run_ids = await prune.choose(log, named_ids, choice)
        result = await prune.prune_runs(log, run_ids, where.data_dir, delete=args.delete, dry_run=args.dry_run)
        if args.compact and not args.dry_run:
            await log.compact()
    if not args.dry_run:
        await _remove_workspaces(where, {run.run_id for run in result.runs})
    return _say(args, result)


async def _remove_workspaces(where: Project, run_ids: set[str]) -> None:
    """Remove the workspaces of these runs, except those with changes that were not applied."""
    from openskelo.agents.workspace import apply_changes, workspace  # noqa: PLC0415 -- few data dirs have workspaces

    for place in workspace.list_workspaces(where.data_dir):
        if place.origin.run_id not in run_ids:
            continue
        try:
            await apply_changes.remove(place)
        except (errors.Refused, errors.AttemptFailed) as error:
            output.note(f"left the workspace of {place.origin.node} ({place.origin.run_id[:8]}): {error.message}")


def _say(args: argparse.Namespace, pruned: prune.Pruned) -> int:
    if args.json:
        output.document(pruned.document())
        if pruned.failed:
            return exit_codes.FAILED
        return exit_codes.COMPLETED
    for run_id, error in pruned.failed.items():
        output.note(f"left as it was: {run_id}  {error.code} {error.message}")
    verb = "delete" if args.delete else "prune"
    verb = f"would {verb}" if args.dry_run else f"{verb}d"
    swept = pruned.swept
    events = output.count(pruned.events, "event")
    blobs = f"{'at most ' if args.dry_run and swept.blobs else ''}{output.count(swept.blobs, 'blob')}"
    output.say(f"{verb} {output.count(len(pruned.runs), 'run')}: {events} and {blobs}, {output.size(pruned.bytes)}")
    if pruned.failed:
        return exit_codes.FAILED
    return exit_codes.COMPLETED
