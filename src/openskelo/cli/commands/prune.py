"""`skelo prune`: take what went through old runs out of the data dir; their records still verify."""

from __future__ import annotations

import argparse
import asyncio
import re
from datetime import timedelta

from openskelo import errors
from openskelo.cli import exits, output, parsing, place, runref
from openskelo.engine import retention
from openskelo.executors import task

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_AGE = re.compile(r"(\d{1,9})([smhdw])")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run_ids", metavar="RUN", nargs="*", help="these runs, instead of those that the options choose"
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
    choice = retention.Choice(older_than=age, keep=args.keep, status=args.status)
    return asyncio.run(_prune(args, place.of_args(args), choice))


def _age(text: str) -> timedelta:
    found = _AGE.fullmatch(text)
    if found is None:
        raise errors.InvalidInput(
            f"{text[:100]!r} is no age", code="USAGE", hint="a number and s, m, h, d or w, such as 30d"
        )
    return timedelta(seconds=int(found[1]) * _SECONDS[found[2]])


async def _prune(args: argparse.Namespace, where: task.Project, choice: retention.Choice) -> int:
    retention.check(args.run_ids, choice)
    if not place.has_runs(where):
        return _say(args, retention.Pruned(failed={}, dry_run=args.dry_run, deleted=args.delete))
    async with place.reading(where) as log:
        named = [(await runref.resolve(log, text)).run_id for text in args.run_ids]
        chosen = await retention.choose(log, named, choice)
        pruned = await retention.prune(log, chosen, where.data_dir, delete=args.delete, dry_run=args.dry_run)
        if args.compact and not args.dry_run:
            await log.compact()
    return _say(args, pruned)


def _say(args: argparse.Namespace, pruned: retention.Pruned) -> int:
    if args.json:
        output.document(pruned.document())
        return exits.FAILED if pruned.failed else exits.COMPLETED
    for run_id, error in pruned.failed.items():
        output.note(f"left as it was: {run_id}  {error.code} {error.message}")
    verb = "delete" if args.delete else "prune"
    verb = f"would {verb}" if args.dry_run else f"{verb}d"
    swept = pruned.swept
    events = output.count(pruned.events, "event")
    blobs = f"{'at most ' if args.dry_run and swept.blobs else ''}{output.count(swept.blobs, 'blob')}"
    output.say(f"{verb} {output.count(len(pruned.runs), 'run')}: {events} and {blobs}, {output.size(pruned.bytes)}")
    return exits.FAILED if pruned.failed else exits.COMPLETED
