"""`skelo apply RUN [NODE]`: commit what an agent has changed on a branch of your repository, or change your files."""

from __future__ import annotations

import argparse
import asyncio

from openskelo import errors
from openskelo.agents.workspace import apply_changes, workspace
from openskelo.cli import exit_codes, output, parsing, project_context, workspace_choice
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.add_argument("node", metavar="NODE", nargs="?", help="the node, if several agents have worked")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--message", metavar="TEXT", help="the commit's message (default: the agent's summary)")
    way.add_argument("--here", action="store_true", help="change your files instead, for you to look at and commit")
    parser.epilog = (
        "The changes are merged three ways with what your branch has now, and committed on the branch skelo/apply/RUN; "
        "your own branch and files stay as they are. With --here your files are changed and nothing is committed; they "
        "must have no changes of your own. A conflict is shown, and nothing is changed then.\n\n"
        "exit codes: 0 applied, 2 nothing was changed: a conflict, or changes of your own in the way"
    )


def run(args: argparse.Namespace) -> int:
    return asyncio.run(_apply(project_context.from_args(args), args))


async def _apply(project: Project, args: argparse.Namespace) -> int:
    run_id, places = await workspace_choice.choose(project, args.run_id, args.node)
    if len(places) > 1:
        nodes = ", ".join(place.origin.node for place in places)
        raise errors.InvalidInput("several agents have worked in this run", code="USAGE", hint=f"name one: {nodes}")
    (place,) = places
    async with project_context.reading(project) as log:
        document = await project_context.read_document(log, run_id)
    message = args.message or apply_changes.commit_message(place, _summary(document, place))
    result = await apply_changes.apply(place, message, here=args.here)
    if args.json:
        commit_document: JsonObject = {"branch": result.branch or None, "commit": result.commit or None}
        output.document({"runId": run_id, **commit_document, "filesChanged": list(result.files)})
        return exit_codes.COMPLETED
    count = output.count(len(result.files), "file")
    if args.here:
        output.say(f"{count} changed, for you to commit")
    else:
        output.say(f"{count} changed, committed as {result.commit[:12]} on {result.branch}")
        output.note(f"  to take it: git merge {result.branch}")
    return exit_codes.COMPLETED


def _summary(document: RunDocument, place: workspace.Workspace) -> Json:
    """Return what the agent says it has done."""
    node = document["nodes"].get(place.origin.node)
    return None if node is None else (node["outputs"] or {}).get("summary")
