"""`skelo explain FILE`: draw a workflow and estimate a run of it, without running it."""

from __future__ import annotations

import argparse
import asyncio

from openskelo import errors
from openskelo.cli import exit_codes, explanation, output, parsing, project_context
from openskelo.history import run_estimate
from openskelo.kernel import definition
from openskelo.project import Project


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a workflow file (YAML or JSON)")
    parser.add_argument(
        "--items", metavar="N", type=parsing.count, default=10, help="count a foreach as N items (default: 10)"
    )


def run(args: argparse.Namespace) -> int:
    path = project_context.workflow_file(args.file)
    where = project_context.from_args(args, path)
    workflow = project_context.load_workflow(args.file, path, where, quiet=args.json)
    past = _read_past_runs(where, workflow)
    on = run_estimate.basis(workflow, where, past, items=args.items)
    explanation.show(workflow, on, as_json=args.json)
    return exit_codes.COMPLETED


def _read_past_runs(where: Project, workflow: definition.Workflow) -> run_estimate.PastRuns | None:
    """Return the statistics of earlier runs. If the store cannot be read, explain the workflow without them."""
    try:
        has_runs = project_context.has_runs(where)
        return asyncio.run(_past(where, workflow)) if has_runs else None
    except (errors.StoreError, errors.InvalidInput) as error:
        output.note(f"without past runs: {error.code} {error.message}")
        return None


async def _past(where: Project, workflow: definition.Workflow) -> run_estimate.PastRuns | None:
    async with project_context.reading(where) as log:
        return await run_estimate.read_past_runs(log, workflow)
