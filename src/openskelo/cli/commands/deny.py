"""`skelo deny ID --reason`: deny an open approval, and drive its run on."""

from __future__ import annotations

import argparse
import asyncio

from openskelo import errors
from openskelo.cli import project_context
from openskelo.cli.commands import approve
from openskelo.kernel import commands
from openskelo.kernel.json import JsonObject


def add_arguments(parser: argparse.ArgumentParser) -> None:
    approve.add_answer_arguments(parser)
    parser.add_argument(
        "--reason", metavar="TEXT", required=True, help="why, for the record and for the node that tries again"
    )


def run(args: argparse.Namespace) -> int:
    if not args.reason.strip():
        raise errors.InvalidInput("a denial needs a reason", code="USAGE")
    return asyncio.run(approve.send_answer(args, project_context.from_args(args), _values))


def _values(_args: argparse.Namespace, _schemas: approve.Schemas) -> tuple[commands.Answer, JsonObject | None]:
    return "denied", None
