"""`skelo apply RUN [NODE]`: bring what an agent has changed to the branch that your repository is on."""

from __future__ import annotations

import argparse
import asyncio

from openskelo import errors
from openskelo.agents import apply_changes, workspace
from openskelo.cli import exit_codes, json_fields, output, parsing, project_context, workspace_choice
from openskelo.kernel.json import JsonObject
from openskelo.project import Project

_MAX_SUBJECT = 72


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parsing.run_argument(parser)
    parser.add_argument("node", metavar="NODE", nargs="?", help="the node, if several agents have worked")
    parser.add_argument("--message", metavar="TEXT", help="the commit's message (default: the agent's summary)")
    parser.add_argument("--no-commit", action="store_true", help="leave the changes staged, for you to commit")
    parser.epilog = (
        "The changes are merged three ways with what your branch has now. A conflict is shown, and nothing is changed "
        "then.\n\nexit codes: 0 applied, 2 nothing was changed: a conflict, or changes of your own in the way"
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
    message = args.message or _message(document, place)
    applied = await apply_changes.apply(place, message, commit=not args.no_commit)
    if args.json:
        output.document({"runId": run_id, "commit": applied.commit or None, "filesChanged": list(applied.files)})
    else:
        done = f"committed as {applied.commit[:12]}" if applied.commit else "staged, not committed"
        output.say(f"{output.count(len(applied.files), 'file')} changed, {done}")
    return exit_codes.COMPLETED


def _message(document: JsonObject, place: workspace.Workspace) -> str:
    """Return a commit message from what the agent says it has done: prompts stay out of it."""
    nodes = json_fields.object_at(document, "nodes")
    node = place.origin.node
    summary = json_fields.object_at(json_fields.object_at(nodes, node), "outputs").get("summary")
    text = summary.strip() if isinstance(summary, str) else ""
    subject, _, body = text.partition("\n")
    if len(subject) > _MAX_SUBJECT:
        subject, body = f"Apply the changes of {node}", text
    trailer = f"Skelo-Run: {place.origin.run_id}\nSkelo-Node: {node}"
    return "\n\n".join(part for part in (subject or f"Apply the changes of {node}", body.strip(), trailer) if part)
