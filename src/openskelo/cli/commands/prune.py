"""`skelo prune`: take what went through old runs out of the data dir; their records still verify."""

from __future__ import annotations

import argparse
import asyncio
import re
import time

from openskelo import errors
from openskelo.cli import exits, output, place, runref
from openskelo.engine import pruning
from openskelo.executors import task
from openskelo.stores import log as stores_log

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_AGE = re.compile(r"(\d{1,9})([smhdw])")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run_ids", metavar="RUN", nargs="*", help="these runs, instead of those that the options choose"
    )
    parser.add_argument("--older-than", metavar="AGE", help="runs that ended longer ago: 30d, 12h, 90m, 8w")
    parser.add_argument("--keep", metavar="N", type=int, help="spare the newest N of the runs that have ended")
    parser.add_argument("--status", choices=("completed", "failed"), help="only runs in this status")
    parser.add_argument("--delete", action="store_true", help="remove the runs altogether, records and receipts too")
    parser.add_argument("--compact", action="store_true", help="give freed room back to the disk (rewrites the log)")
    parser.add_argument("--dry-run", action="store_true", help="say what would be freed, and change nothing")
    parser.epilog = (
        "Inputs, outputs, prompts, messages and files go; the chain, the receipts and the ending stay, so that\n"
        "`skelo verify` still proves its record. Runs that have not ended are never touched.\n\n"
        "exit codes: 0 done, 1 a run could not be pruned, 2 nothing was chosen by the arguments"
    )


def run(args: argparse.Namespace) -> int:
    before = None if args.older_than is None else time.time_ns() // 1_000_000 - _age_ms(args.older_than)
    if args.keep is not None and args.keep < 0:
        raise errors.InvalidInput("--keep is not negative", code="USAGE")
    chosen = before is not None or args.keep is not None
    if bool(args.run_ids) == chosen or (args.run_ids and args.status):
        raise errors.InvalidInput(
            "say which runs: RUN…, or --older-than and/or --keep", code="USAGE", hint="skelo prune --older-than 30d"
        )
    rule = None if args.run_ids else pruning.Rule(before=before, keep=args.keep or 0, status=args.status)
    return asyncio.run(_prune(args, place.of_args(args), rule))


def _age_ms(text: str) -> int:
    found = _AGE.fullmatch(text)
    if found is None:
        raise errors.InvalidInput(
            f"{text[:100]!r} is no age", code="USAGE", hint="a number and s, m, h, d or w, such as 30d"
        )
    return int(found[1]) * _SECONDS[found[2]] * 1000


async def _prune(args: argparse.Namespace, where: task.Project, rule: pruning.Rule | None) -> int:
    if not place.has_runs(where):
        return _say(args, (), stores_log.Swept(), {})
    async with place.reading(where) as log:
        if rule is None:
            chosen = [(await runref.resolve(log, text)).run_id for text in args.run_ids]
        else:
            chosen = [row.run_id for row in await pruning.choose(log, rule)]
        freed, failed = await _each(args, log, where, chosen)
        done = [run_id for run_id in chosen if run_id not in failed]
        if args.dry_run:
            swept = await pruning.measure_blobs(log, done, delete=args.delete)
        else:
            swept = await pruning.sweep(log, done)
            if args.compact:
                await log.compact()
    return _say(args, freed, swept, failed)


async def _each(
    args: argparse.Namespace, log: stores_log.Log, where: task.Project, chosen: list[str]
) -> tuple[list[pruning.Freed], dict[str, errors.OpenSkeloError]]:
    """What every run gave up; one that cannot be pruned does not keep the others from it."""
    freed: list[pruning.Freed] = []
    failed: dict[str, errors.OpenSkeloError] = {}
    for run_id in dict.fromkeys(chosen):
        try:
            if args.dry_run:
                freed.append(await pruning.measure(log, run_id, delete=args.delete))
            elif args.delete:
                freed.append(await pruning.delete(log, run_id, where.data_dir))
            else:
                freed.append(await pruning.prune(log, run_id, where.data_dir))
        except (errors.Corrupt, errors.Refused, errors.Busy) as error:
            failed[run_id] = error
    return freed, failed


def _say(
    args: argparse.Namespace,
    freed: list[pruning.Freed] | tuple[()],
    swept: stores_log.Swept,
    failed: dict[str, errors.OpenSkeloError],
) -> int:
    changed = [one for one in freed if one.events]
    size = sum(one.bytes for one in changed) + swept.bytes
    if args.json:
        output.document(
            {
                "dryRun": args.dry_run,
                "runs": [{"runId": one.run_id, "events": one.events, "bytes": one.bytes} for one in changed],
                "deleted": args.delete,
                "blobs": swept.blobs,
                "bytes": size,
                "failed": [
                    {"runId": run_id, "code": error.code, "message": error.message} for run_id, error in failed.items()
                ],
            }
        )
        return exits.FAILED if failed else exits.COMPLETED
    for run_id, error in failed.items():
        output.note(f"left as it was: {run_id}  {error.code} {error.message}")
    verb = "delete" if args.delete else "prune"
    verb = f"would {verb}" if args.dry_run else f"{verb}d"
    events = output.count(sum(one.events for one in changed), "event")
    blobs = f"{'at most ' if args.dry_run and swept.blobs else ''}{output.count(swept.blobs, 'blob')}"
    output.say(f"{verb} {output.count(len(changed), 'run')}: {events} and {blobs}, {_size(size)}")
    return exits.FAILED if failed else exits.COMPLETED


def _size(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
