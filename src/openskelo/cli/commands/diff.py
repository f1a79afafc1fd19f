"""`skelo diff RUN RUN`: compare two runs node by node."""

from __future__ import annotations

import argparse
import asyncio
import os.path
import sys
from collections.abc import Iterable

from openskelo.cli import exit_codes, output, parsing, project_context
from openskelo.history import comparison_result, listing, reader
from openskelo.kernel.json import Json
from openskelo.project import Project

#: How many columns of a value are shown, and how many of them before the first difference.
_COLUMNS, _BEFORE = 100, 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser, "run_a")
    parsing.run_argument(parser, "run_b")
    parser.add_argument("--exit-code", action="store_true", help="exit with 1 if the two differ (default: always 0)")


def run(args: argparse.Namespace) -> int:
    result = asyncio.run(_compare(args, project_context.from_args(args)))
    if args.json:
        output.document(result.document())
    else:
        _print(result)
    same = result.same_work and result.same_workflow and all(node.same for node in result.nodes)
    if args.exit_code and not same:
        return exit_codes.FAILED
    return exit_codes.COMPLETED


async def _compare(args: argparse.Namespace, where: Project) -> comparison_result.Comparison:
    async with project_context.reading(where) as log:
        first = await listing.find_run(log, args.run_a)
        second = await listing.find_run(log, args.run_b)
        return await reader.HistoryReader(where, log).diff(first.run_id, second.run_id)


def _print(result: comparison_result.Comparison) -> None:
    painter = output.Painter(sys.stdout)
    for sign, colour, side in (("-", "red", result.a), ("+", "green", result.b)):
        ending = side.ending or side.status
        time = output.duration(side.use.wall_ms / 1000)
        output.say(f"{painter.paint(sign, colour)} {side.run_id}  {output.one_line(side.workflow)}  {ending}, {time}")
    output.say("same workflow" if result.same_workflow else painter.paint("the workflows differ", "yellow"))
    output.say("same work, by the receipts" if result.same_work else painter.paint("the work differs", "yellow"))
    for name, changes in (("inputs", result.inputs), ("outputs", result.outputs)):
        if changes:
            output.say(name)
            _changes(changes, painter)
    for node in result.nodes:
        if not node.same:
            output.say(f"{painter.paint(node.node, 'bold')}  {_verdict(node)}".rstrip())
            _changes(node.inputs, painter, "inputs")
            _changes(node.outputs, painter)
            _errors(node, painter)
    equal = sum(node.same for node in result.nodes)
    output.say(f"{equal} of {len(result.nodes)} nodes are the same")


def _verdict(node: comparison_result.NodeComparison) -> str:
    if node.a is None or node.b is None:
        if node.a is None:
            return "only in the second run"
        return "only in the first run"
    words = ["redefined"] if node.redefined else []
    before, after = node.a.outcome or node.a.status, node.b.outcome or node.b.status
    if before != after:
        words.append(f"{before} -> {after}")
    elif node.verdict == "unfinished":
        words.append(f"{before} in both")
    if "visits" in node.differs:
        words.append(f"{node.a.visits} -> {node.b.visits} visits")
    return ", ".join(words)


def _errors(node: comparison_result.NodeComparison, painter: output.Painter) -> None:
    if "error" not in node.differs:
        return
    errors = [side.error if side is not None else None for side in (node.a, node.b)]
    messages = _from_difference(*((error or {}).get("message") for error in errors))
    for sign, colour, error, text in zip("-+", ("red", "green"), errors, messages, strict=True):
        if error is not None:
            output.say(f"  {painter.paint(sign, colour)} error {error['code']}  {text}")


def _changes(changes: Iterable[comparison_result.Change], painter: output.Painter, within: str = "") -> None:
    for change in changes:
        where = f"{within}{change.path}" or "/"
        before, after = _from_difference(change.before, change.after)
        if change.kind != "added":
            output.say(f"  {painter.paint('-', 'red')} {where}  {before}")
        if change.kind != "removed":
            output.say(f"  {painter.paint('+', 'green')} {where}  {after}")


def _from_difference(*values: Json) -> list[str]:
    """Return each value on one line; long values with the same start are shown from shortly before the difference."""
    texts = [output.compact(value) for value in values]
    common = len(os.path.commonprefix(texts))  # noqa: RUF071  by character is what is meant
    start = common - _BEFORE if common > _COLUMNS - _BEFORE else 0
    return [output.one_line(f"…{text[start:]}" if start else text, _COLUMNS) for text in texts]
