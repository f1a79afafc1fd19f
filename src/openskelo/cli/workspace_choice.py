"""The workspaces that a command is about: those of one run, or of one of its nodes."""

from __future__ import annotations

from openskelo import errors
from openskelo.agents.workspace import workspace
from openskelo.cli import project_context
from openskelo.history import listing
from openskelo.project import Project


async def choose(
    project: Project, run_text: str, node: str | None, *, also_unready: bool = False
) -> tuple[str, list[workspace.Workspace]]:
    """Return the run's id and its workspaces that are ready, or that of `node`; raise NotFound without a workspace."""
    async with project_context.reading(project) as log:
        run_id = (await listing.find_run(log, run_text)).run_id
    places = [place for place in workspace.list_workspaces(project.data_dir) if place.origin.run_id == run_id]
    if not also_unready:
        places = [place for place in places if place.origin.ready]
    if node is not None:
        places = [place for place in places if place.origin.node == node]
    if not places:
        owner = f"the node {node} of this run" if node is not None else "this run"
        raise errors.NotFound(
            f"{owner} has no workspace", code="WORKSPACE_NOT_FOUND", hint="`skelo workspaces` lists them"
        )
    return run_id, places
