"""`skelo receipts RUN`: the hashable record of every attempt, and one digest of the work as a whole."""

from __future__ import annotations

import argparse
import asyncio

from openskelo.cli import exits, members, output, parsing, place, runref
from openskelo.engine import records
from openskelo.executors import task
from openskelo.kernel.json import JsonObject


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.epilog = (
        "The digest leaves out times, attempt numbers and the chain: it is equal for two runs of the same "
        "deterministic work."
    )


def run(args: argparse.Namespace) -> int:
    found = asyncio.run(_receipts(args, place.of_args(args)))
    if args.json:
        output.document(found)
        return exits.COMPLETED
    rows = [_cells(one) for one in members.objects_at(found, "receipts")]
    output.table(["node", "op", "visit", "attempt", "status", "ms", "output hash"], rows)
    output.say()
    output.say(f"digest {found['digest']}")
    return exits.COMPLETED


async def _receipts(args: argparse.Namespace, where: task.Project) -> JsonObject:
    async with place.reading(where) as log:
        row = await runref.resolve(log, args.run_id)
        return await records.Records(where, log).receipts(row.run_id)


def _cells(receipt: JsonObject) -> list[str]:
    item = f"[{receipt['item']}]" if "item" in receipt else ""
    return [
        f"{receipt['step_id']}{item}",
        str(receipt["op"]),
        str(receipt["visit"]),
        str(receipt["attempt"]),
        str(receipt["status"]),
        str(members.object_at(receipt, "metrics").get("wall_ms", "")),
        str(receipt["output_hash"]),
    ]
