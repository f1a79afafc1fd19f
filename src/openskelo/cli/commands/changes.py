"""`skelo changes RUN [NODE]`: print what agents have changed in their workspaces, as a diff."""

from __future__ import annotations

import argparse
import asyncio

from openskelo.agents.workspace import create_workspace, workspace
from openskelo.cli import exit_codes, output, parsing, project_context, workspace_choice
from openskelo.handlers import secrets
from openskelo.kernel.json import JsonObject
from openskelo.project import Project
from openskelo.structs import replace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.add_argument("node", metavar="NODE", nargs="?", help="only what this node has changed")
    parser.add_argument("--stat", action="store_true", help="the names of the files, and how many lines changed")


def run(args: argparse.Namespace) -> int:
    return asyncio.run(_show(project_context.from_args(args), args))


async def _show(project: Project, args: argparse.Namespace) -> int:
    run_id, places = await workspace_choice.choose(project, args.run_id, args.node)
    diffs = [(place, await _masked_diff(project, place)) for place in places]
    if args.json:
        output.document({"runId": run_id, "changes": [_document(place, diff) for place, diff in diffs]})
        return exit_codes.COMPLETED
    for place, diff in diffs:
        output.note(f"{place.origin.node}: {diff.summary}")
        if args.stat:
            for name in diff.files:
                output.say(name)
        elif diff.patch:
            output.say(diff.patch.rstrip("\n"))
    return exit_codes.COMPLETED


async def _masked_diff(project: Project, place: workspace.Workspace) -> workspace.Diff:
    """Return what has changed, without the values of secrets and of copied env files."""
    diff = await place.diff_since_base()
    copied_values = secrets.spellings(await create_workspace.find_secret_values(place))
    return replace(diff, patch=secrets.mask(diff.patch, (*secrets.values(project.secrets), *copied_values)))


def _document(place: workspace.Workspace, diff: workspace.Diff) -> JsonObject:
    return {
        "node": place.origin.node,
        "path": str(place.folder),
        "filesChanged": list(diff.files),
        "insertions": diff.insertions,
        "deletions": diff.deletions,
        "diff": diff.patch,
    }
