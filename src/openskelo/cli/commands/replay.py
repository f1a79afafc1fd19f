"""`skelo replay RUN`: execute the pure steps of a run again and compare hashes; nothing outside is touched."""

from __future__ import annotations

import argparse
import asyncio
import sys

from openskelo.cli import exit_codes, output, parsing, project_context
from openskelo.history import listing, reader, replay
from openskelo.project import Project

_SHORT = 19


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.epilog = (
        "`pure` deterministic steps are executed again with their recorded inputs; of all other steps the stored "
        "outputs are checked against the receipt.\n\nexit codes: 0 nothing differs, 1 something does"
    )


def run(args: argparse.Namespace) -> int:
    report = asyncio.run(_replay(args, project_context.from_args(args)))
    if args.json:
        output.document(report.document())
        if report.ok:
            return exit_codes.COMPLETED
        return exit_codes.FAILED
    output.table(["node", "visit", "attempt", "result", ""], [_cells(step) for step in report.steps])
    painter = output.Painter(sys.stdout)
    output.say()
    words, colour = ("nothing differs", "green") if report.ok else ("the record and the work differ", "red")
    output.say(painter.paint(words, colour))
    if report.ok:
        return exit_codes.COMPLETED
    return exit_codes.FAILED


def _cells(step: replay.Step) -> list[str]:
    node = f"{step.node}[{step.item}]" if step.item is not None else step.node
    detail = step.reason
    if step.result in ("different", "altered"):
        digest_text = f"{step.found[:_SHORT]}…" if step.found else "nothing"
        detail = f"{step.recorded[:_SHORT]}… was recorded, {digest_text} was found {step.reason}".rstrip()
    return [node, str(step.visit), str(step.attempt), step.result, detail]


async def _replay(args: argparse.Namespace, where: Project) -> replay.Report:
    async with project_context.reading(where) as log:
        row = await listing.find_run(log, args.run_id)
        return await reader.HistoryReader(where, log).replay(row.run_id)
