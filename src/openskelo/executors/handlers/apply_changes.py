"""The work of `builtin:apply-changes`, which needs the workspaces of agents."""

from __future__ import annotations

from openskelo import errors
from openskelo.executors import api
from openskelo.handlers import builtin, context
from openskelo.handlers.builtin import apply_changes as declared
from openskelo.kernel.json import JsonObject
from openskelo.providers import scripted


async def run(ctx: context.Context, services: api.Services) -> JsonObject:
    """Return branch, commit and files; raise AttemptFailed, never retried, if nothing was applied."""
    from openskelo.agents.workspace import apply_changes, workspace  # noqa: PLC0415 -- a run without agents imports none of it

    builtin.check_config(declared.HANDLER, ctx.config)
    node = builtin.text(ctx.config, "node") or ""
    if isinstance(services.provider(), scripted.Scripted):  # a test: its agents have changed nothing
        return {"branch": f"skelo/apply/{ctx.run_id}", "commit": "", "files_changed": []}
    place = workspace.find(services.project.data_dir, ctx.run_id, node)
    if place is None:
        hint = "`node` of its config is the block in which the agent works"
        raise errors.AttemptFailed(
            f"the block {node!r} has no workspace in this run", code="WORKSPACE_NOT_FOUND", hint=hint, retryable=False
        )
    message = ctx.inputs.get(builtin.text(ctx.config, "message_from") or "")
    try:
        result = await apply_changes.apply(place, apply_changes.commit_message(place, message))
    except errors.Refused as error:
        raise errors.AttemptFailed(error.message, code=error.code, hint=error.hint, retryable=False) from error
    return {"branch": result.branch, "commit": result.commit, "files_changed": list(result.files)}
