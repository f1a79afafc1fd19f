"""`skelo explain FILE`: draw a workflow and say what it would take; run nothing."""

from __future__ import annotations

import argparse
import asyncio

from openskelo import errors
from openskelo.cli import exits, explaining, loaded, output, parsing, place
from openskelo.engine import outlook, past
from openskelo.executors import task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a workflow file (YAML or JSON)")
    parser.add_argument(
        "--items", metavar="N", type=parsing.count, default=10, help="count a foreach as N items (default: 10)"
    )


def run(args: argparse.Namespace) -> int:
    path = place.workflow_file(args.file)
    where = place.of_args(args, path)
    workflow = loaded.workflow(args.file, path, where.root, quiet=args.json)
    before = _known(where, workflow.name)
    on = outlook.basis(workflow, where, before, items=args.items)
    explaining.show(workflow, on, as_json=args.json)
    return exits.COMPLETED


def _known(where: task.Project, name: str) -> past.Past | None:
    """What earlier runs took. They are no part of the workflow: one who may not see them sees all the rest."""
    try:
        return asyncio.run(_past(where, name)) if place.has_runs(where) else None
    except (errors.StoreError, errors.InvalidInput) as error:
        output.note(f"without past runs: {error.code} {error.message}")
        return None


async def _past(where: task.Project, name: str) -> past.Past | None:
    async with place.reading(where) as log:
        return await past.read(log, name)
