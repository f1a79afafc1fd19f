"""`skelo diff RUN RUN`: two runs side by side, node by node."""

from __future__ import annotations

import argparse
import asyncio
import os.path
import sys
from collections.abc import Iterable

from openskelo.cli import exits, ink, output, parsing, place, runref
from openskelo.engine import comparison, difference, records
from openskelo.executors import task
from openskelo.kernel.json import Json

#: As much of a value is shown, and as much of what is the same before it parts from the other one.
_COLUMNS, _BEFORE = 100, 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser, "run_a")
    parsing.run_argument(parser, "run_b")
    parser.add_argument("--exit-code", action="store_true", help="exit with 1 when the two differ (default: always 0)")


def run(args: argparse.Namespace) -> int:
    found = asyncio.run(_compare(args, place.of_args(args)))
    if args.json:
        output.document(found.document())
    else:
        _say(found)
    same = found.same_work and found.same_workflow and all(node.same for node in found.nodes)
    return exits.FAILED if args.exit_code and not same else exits.COMPLETED


async def _compare(args: argparse.Namespace, where: task.Project) -> comparison.Comparison:
    async with place.reading(where) as log:
        first = await runref.resolve(log, args.run_a)
        second = await runref.resolve(log, args.run_b)
        return await records.Records(where, log).diff(first.run_id, second.run_id)


def _say(found: comparison.Comparison) -> None:
    painter = ink.Ink(sys.stdout)
    for sign, colour, side in (("-", "red", found.a), ("+", "green", found.b)):
        ending = side.ending or side.status
        time = output.duration(side.use.wall_ms / 1000)
        output.say(f"{painter.paint(sign, colour)} {side.run_id}  {ink.one_line(side.workflow)}  {ending}, {time}")
    output.say("same workflow" if found.same_workflow else painter.paint("the workflows differ", "yellow"))
    output.say("same work, by the receipts" if found.same_work else painter.paint("the work differs", "yellow"))
    for name, changes in (("inputs", found.inputs), ("outputs", found.outputs)):
        if changes:
            output.say(name)
            _changes(changes, painter)
    for node in found.nodes:
        if not node.same:
            output.say(f"{painter.paint(node.node, 'bold')}  {_verdict(node)}".rstrip())
            _changes(node.inputs, painter, "inputs")
            _changes(node.outputs, painter)
            _errors(node, painter)
    equal = sum(node.same for node in found.nodes)
    output.say(f"{equal} of {len(found.nodes)} nodes are the same")


def _verdict(node: comparison.NodeComparison) -> str:
    if node.a is None or node.b is None:
        return "only in the second run" if node.a is None else "only in the first run"
    words = ["redefined"] if node.redefined else []
    before, after = node.a.outcome or node.a.status, node.b.outcome or node.b.status
    if before != after:
        words.append(f"{before} -> {after}")
    elif node.verdict == "unfinished":
        words.append(f"{before} in both")
    if "visits" in node.differs:
        words.append(f"{node.a.visits} -> {node.b.visits} visits")
    return ", ".join(words)


def _errors(node: comparison.NodeComparison, painter: ink.Ink) -> None:
    if "error" not in node.differs:
        return
    errors = [side.error if side is not None else None for side in (node.a, node.b)]
    said = _apart(*((error or {}).get("message") for error in errors))
    for sign, colour, error, text in zip("-+", ("red", "green"), errors, said, strict=True):
        if error is not None:
            output.say(f"  {painter.paint(sign, colour)} error {error['code']}  {text}")


def _changes(changes: Iterable[difference.Change], painter: ink.Ink, within: str = "") -> None:
    for change in changes:
        where = f"{within}{change.path}" or "/"
        before, after = _apart(change.before, change.after)
        if change.kind != "added":
            output.say(f"  {painter.paint('-', 'red')} {where}  {before}")
        if change.kind != "removed":
            output.say(f"  {painter.paint('+', 'green')} {where}  {after}")


def _apart(*values: Json) -> list[str]:
    """The values on a line each. Long ones that begin alike are shown from where they part, and a little before."""
    texts = [output.compact(value) for value in values]
    alike = len(os.path.commonprefix(texts))  # noqa: RUF071  by character is what is meant
    begin = alike - _BEFORE if alike > _COLUMNS - _BEFORE else 0
    return [ink.one_line(f"…{text[begin:]}" if begin else text, _COLUMNS) for text in texts]
