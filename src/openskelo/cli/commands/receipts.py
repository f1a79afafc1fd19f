"""`skelo receipts RUN`: the hashable record of every attempt, and one digest of the work as a whole."""

from __future__ import annotations

import argparse
import asyncio

from openskelo.cli import exits, members, output, parsing, place, runref
from openskelo.contract import receipts
from openskelo.executors import task
from openskelo.kernel.json import JsonObject


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.epilog = (
        "The digest leaves out times, attempt numbers and the chain: it is equal for two runs of the same\n"
        "deterministic work."
    )


def run(args: argparse.Namespace) -> int:
    run_id, found = asyncio.run(_receipts(args, place.of_args(args)))
    digest = receipts.digest(found)
    if args.json:
        output.document({"runId": run_id, "digest": digest, "receipts": found})
        return exits.COMPLETED
    output.table(["node", "op", "visit", "attempt", "status", "ms", "output hash"], [_cells(one) for one in found])
    output.say()
    output.say(f"digest {digest}")
    return exits.COMPLETED


async def _receipts(args: argparse.Namespace, where: task.Project) -> tuple[str, list[JsonObject]]:
    async with place.reading(where) as log:
        row = await runref.resolve(log, args.run_id)
        found: list[JsonObject] = []
        async for lines in log.read(row.run_id):
            found += receipts.collect(lines)
    return row.run_id, found


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
