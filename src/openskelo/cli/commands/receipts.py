"""`skelo receipts RUN`: print the receipt of every attempt, and one digest of the whole work."""

from __future__ import annotations

import argparse
import asyncio

from openskelo.cli import exit_codes, json_fields, output, parsing, project_context
from openskelo.history import listing, reader
from openskelo.kernel.json import JsonObject
from openskelo.project import Project


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.epilog = (
        "The digest leaves out times, attempt numbers and the chain: it is equal for two runs of the same "
        "deterministic work."
    )


def run(args: argparse.Namespace) -> int:
    document = asyncio.run(_receipts(args, project_context.from_args(args)))
    if args.json:
        output.document(document)
        return exit_codes.COMPLETED
    rows = [_cells(receipt) for receipt in json_fields.objects_at(document, "receipts")]
    output.table(["node", "op", "visit", "attempt", "status", "ms", "output hash"], rows)
    output.say()
    output.say(f"digest {document['digest']}")
    return exit_codes.COMPLETED


async def _receipts(args: argparse.Namespace, where: Project) -> JsonObject:
    async with project_context.reading(where) as log:
        row = await listing.find_run(log, args.run_id)
        return await reader.HistoryReader(where, log).receipts(row.run_id)


def _cells(receipt: JsonObject) -> list[str]:
    item = f"[{receipt['item']}]" if "item" in receipt else ""
    return [
        f"{receipt['step_id']}{item}",
        str(receipt["op"]),
        str(receipt["visit"]),
        str(receipt["attempt"]),
        str(receipt["status"]),
        str(json_fields.object_at(receipt, "metrics").get("wall_ms", "")),
        str(receipt["output_hash"]),
    ]
