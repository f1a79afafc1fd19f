"""`skelo export RUN`: write one file that has everything to verify the run anywhere."""

from __future__ import annotations

import argparse
import asyncio

from openskelo.cli import exit_codes, output, parsing, project_context
from openskelo.history import export, listing, reader
from openskelo.project import Project


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="the file to write (default: RUN.skelo.jsonl)")
    parser.add_argument(
        "--sign", action="store_true", help="sign the head with the data dir's key (created if missing)"
    )
    parser.add_argument("--force", action="store_true", help="overwrite the file if it exists")
    parser.epilog = "`skelo verify FILE` checks the file with no database; its form is JSON lines."


def run(args: argparse.Namespace) -> int:
    result = asyncio.run(_export(args, project_context.from_args(args)))
    signature = result.header.signature
    if args.json:
        output.document(result.document())
        return exit_codes.COMPLETED
    output.note(f"{output.count(result.header.events, 'event')}, {result.bytes} bytes, head {result.header.head}")
    if signature:
        output.note(f"signed with {signature['publicKey']}")
    elif result.outdated is not None:
        output.note(
            f"not signed: the run has continued since it was signed at event {result.outdated}; --sign signs it again"
        )
    for name in result.missing:
        output.note(f"no longer in the data dir: {name}")
    output.say(str(result.path))
    return exit_codes.COMPLETED


async def _export(args: argparse.Namespace, where: Project) -> export.Exported:
    async with project_context.reading(where) as log:
        row = await listing.find_run(log, args.run_id)
        path = args.output or f"{row.run_id}.skelo.jsonl"
        run_records = reader.HistoryReader(where, log)
        return await run_records.export(row.run_id, path, sign=args.sign, overwrite=args.force)
