"""`skelo approve ID`: say yes to an open approval, perhaps with changed values, and go on with its run."""

from __future__ import annotations

import argparse
import asyncio

from openskelo.cli import approvalref, inputs, place
from openskelo.kernel import commands
from openskelo.kernel.json import JsonObject


def add_arguments(parser: argparse.ArgumentParser) -> None:
    approvalref.add_arguments(parser)
    parser.add_argument(
        "--set",
        metavar="K=V",
        action="append",
        default=[],
        help="change a value of the form; V is JSON unless a string is wanted; K=@FILE reads it (repeatable)",
    )
    parser.add_argument("--values", metavar="F.json", help="changed values as one JSON object (- reads standard input)")
    parser.add_argument("--reason", metavar="TEXT", help="why, for the record")


def run(args: argparse.Namespace) -> int:
    return asyncio.run(approvalref.answer(args, place.of_args(args), _values))


def _values(args: argparse.Namespace, schemas: approvalref.Schemas) -> tuple[commands.Answer, JsonObject | None]:
    values = {**(inputs.from_file(args.values) if args.values else {}), **inputs.from_pairs(args.set, schemas)}
    return ("modified", values) if args.values or args.set else ("approved", None)
