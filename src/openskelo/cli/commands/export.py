"""`skelo export RUN`: one file with everything that verifies the run anywhere."""

from __future__ import annotations

import argparse
import asyncio

from openskelo.cli import exits, output, parsing, place, runref
from openskelo.engine import export, records
from openskelo.executors import task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="where to (default: RUN.skelo.jsonl here)")
    parser.add_argument("--sign", action="store_true", help="sign the head with the data dir's key (made when missing)")
    parser.add_argument("--force", action="store_true", help="write over the file if it exists")
    parser.epilog = "`skelo verify FILE` checks the file with no database; its form is JSON lines."


def run(args: argparse.Namespace) -> int:
    made = asyncio.run(_export(args, place.of_args(args)))
    signature = made.header.signature
    if args.json:
        output.document(made.document())
        return exits.COMPLETED
    output.say(str(made.path))
    output.note(f"{output.count(made.header.events, 'event')}, {made.bytes} bytes, head {made.header.head}")
    if signature:
        output.note(f"signed with {signature['publicKey']}")
    elif made.outdated is not None:
        output.note(
            f"not signed: the run has gone on since it was signed at event {made.outdated}; --sign signs it anew"
        )
    for name in made.missing:
        output.note(f"not there any more: {name}")
    return exits.COMPLETED


async def _export(args: argparse.Namespace, where: task.Project) -> export.Exported:
    async with place.reading(where) as log:
        row = await runref.resolve(log, args.run_id)
        path = args.output or f"{row.run_id}.skelo.jsonl"
        kept = records.Records(where, log)
        return await kept.export(row.run_id, path, sign=args.sign, overwrite=args.force)
