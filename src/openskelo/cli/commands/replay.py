"""`skelo replay RUN`: do the pure steps of a run again and compare hashes; touch nothing outside."""

from __future__ import annotations

import argparse
import asyncio
import sys

from openskelo.cli import exits, ink, output, parsing, place, runref
from openskelo.engine import replay
from openskelo.executors import attempt, task

_SHORT = 19


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.epilog = (
        "`pure` deterministic steps are executed again with their recorded inputs; of all others the kept outputs\n"
        "are checked against the receipt. exit codes: 0 nothing differs, 1 something does."
    )


def run(args: argparse.Namespace) -> int:
    report = asyncio.run(_replay(args, place.of_args(args)))
    if args.json:
        output.document(report.document())
        return exits.COMPLETED if report.ok else exits.FAILED
    rows = [
        [
            f"{step.node}[{step.item}]" if step.item is not None else step.node,
            str(step.visit),
            str(step.attempt),
            step.result,
            step.recorded[:_SHORT] + "…",
            (step.found or "")[:_SHORT] + ("…" if step.found else ""),
            step.reason,
        ]
        for step in report.steps
    ]
    output.table(["node", "visit", "attempt", "result", "recorded", "found", "why"], rows)
    painter = ink.Ink(sys.stdout)
    output.say()
    words, colour = ("nothing differs", "green") if report.ok else ("the record and the work differ", "red")
    output.say(painter.paint(words, colour))
    return exits.COMPLETED if report.ok else exits.FAILED


async def _replay(args: argparse.Namespace, where: task.Project) -> replay.Report:
    async with place.reading(where) as log:
        row = await runref.resolve(log, args.run_id)
        performer = attempt.Performer(project=where, blobs=replay.Nowhere())
        try:
            return await replay.replay(log, row.run_id, performer)
        finally:
            await performer.close()
