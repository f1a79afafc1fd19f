"""`skelo replay RUN`: do the pure steps of a run again and compare hashes; touch nothing outside."""

from __future__ import annotations

import argparse
import asyncio
import sys

from openskelo.cli import exits, ink, output, parsing, place, runref
from openskelo.engine import records, replay
from openskelo.executors import task

_SHORT = 19


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.epilog = (
        "`pure` deterministic steps are executed again with their recorded inputs; of all others the kept outputs "
        "are checked against the receipt.\n\nexit codes: 0 nothing differs, 1 something does"
    )


def run(args: argparse.Namespace) -> int:
    report = asyncio.run(_replay(args, place.of_args(args)))
    if args.json:
        output.document(report.document())
        return exits.COMPLETED if report.ok else exits.FAILED
    output.table(["node", "visit", "attempt", "result", ""], [_cells(step) for step in report.steps])
    painter = ink.Ink(sys.stdout)
    output.say()
    words, colour = ("nothing differs", "green") if report.ok else ("the record and the work differ", "red")
    output.say(painter.paint(words, colour))
    return exits.COMPLETED if report.ok else exits.FAILED


def _cells(step: replay.Step) -> list[str]:
    node = f"{step.node}[{step.item}]" if step.item is not None else step.node
    detail = step.reason
    if step.result in ("different", "altered"):
        found = f"{step.found[:_SHORT]}…" if step.found else "nothing"
        detail = f"{step.recorded[:_SHORT]}… was recorded, {found} was found {step.reason}".rstrip()
    return [node, str(step.visit), str(step.attempt), step.result, detail]


async def _replay(args: argparse.Namespace, where: task.Project) -> replay.Report:
    async with place.reading(where) as log:
        row = await runref.resolve(log, args.run_id)
        return await records.Records(where, log).replay(row.run_id)
