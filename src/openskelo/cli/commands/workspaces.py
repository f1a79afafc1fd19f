"""`skelo workspaces`: list the folders in which agents work, or remove those of a run."""

from __future__ import annotations

import argparse
import asyncio

from openskelo import errors
from openskelo.agents.workspace import apply_changes, workspace
from openskelo.cli import exit_codes, output, project_context, workspace_choice
from openskelo.kernel.json import JsonObject
from openskelo.project import Project


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("list", "remove"), default="list", help="what to do")
    parser.add_argument("run_id", metavar="RUN", nargs="?", help="the run whose workspaces are removed")
    parser.add_argument("node", metavar="NODE", nargs="?", help="only the workspace of this node")
    parser.add_argument("--force", action="store_true", help="remove changes, too, that were not applied")
    parser.epilog = (
        "A workspace with changes that were not applied is only removed with --force.\n\n"
        "exit codes: 0 done, 1 a workspace was left because of its changes"
    )


def run(args: argparse.Namespace) -> int:
    project = project_context.from_args(args)
    if args.action == "list":
        return asyncio.run(_list(project, as_json=args.json))
    if args.run_id is None:
        raise errors.InvalidInput("`skelo workspaces remove` needs a run", code="USAGE", hint="RUN, or `last`")
    return asyncio.run(_remove(project, args))


async def _list(project: Project, *, as_json: bool) -> int:
    rows = [await _row(place) for place in workspace.list_workspaces(project.data_dir)]
    if as_json:
        output.document({"workspaces": rows})
        return exit_codes.COMPLETED
    for row in rows:
        state = "changes not applied" if row["changed"] else "nothing to apply"
        if not row["ready"]:
            state = "its set-up did not end"
        elif row["gone"]:
            state += ", its folder is gone"
        branch = f", branch {row['branch']}" if row["branch"] else ""
        output.say(f"{str(row['runId'])[:8]} {row['node']}  {row['kind']}{branch}, {state}")
        output.say(f"  {row['path']}")
    if not rows:
        output.note("there are no workspaces")
    return exit_codes.COMPLETED


async def _row(place: workspace.Workspace) -> JsonObject:
    try:
        has_changes = await place.has_changes()
    except errors.AttemptFailed:  # its folder is gone, or no longer what git expects
        has_changes = True
    return {**workspace.as_json(place), "changed": has_changes, "ready": place.origin.ready, "gone": place.is_gone}


async def _remove(project: Project, args: argparse.Namespace) -> int:
    _, places = await workspace_choice.choose(project, args.run_id, args.node, also_unready=True)
    removed_ids: list[str] = []
    failures: dict[str, errors.OpenSkeloError] = {}
    for place in places:
        try:
            await apply_changes.remove(place, force=args.force)
            removed_ids.append(place.origin.node)
        except (errors.Refused, errors.AttemptFailed) as error:
            failures[place.origin.node] = error
    if args.json:
        reasons = {node: {"code": error.code, "message": error.message} for node, error in failures.items()}
        output.document({"removed": list(removed_ids), "left": reasons})
    else:
        for node in removed_ids:
            output.say(f"removed the workspace of {node}")
        for node, error in failures.items():
            output.note(f"left the workspace of {node}: {error.code} {error.message}")
            if error.hint:
                output.note(f"  {error.hint}")
    return exit_codes.FAILED if failures else exit_codes.COMPLETED
