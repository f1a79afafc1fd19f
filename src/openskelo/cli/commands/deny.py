"""`skelo deny ID --reason`: say no to an open approval, and let its run do what it does then."""

from __future__ import annotations

import argparse
import asyncio

from openskelo import errors
from openskelo.cli import approvalref, place
from openskelo.kernel import commands
from openskelo.kernel.json import JsonObject


def add_arguments(parser: argparse.ArgumentParser) -> None:
    approvalref.add_arguments(parser)
    parser.add_argument(
        "--reason", metavar="TEXT", required=True, help="why, for the record and for whoever tries again"
    )


def run(args: argparse.Namespace) -> int:
    if not args.reason.strip():
        raise errors.InvalidInput("a no needs a reason", code="USAGE")
    return asyncio.run(approvalref.answer(args, place.of_args(args), _values))


def _values(_args: argparse.Namespace, _schemas: approvalref.Schemas) -> tuple[commands.Answer, JsonObject | None]:
    return "denied", None
