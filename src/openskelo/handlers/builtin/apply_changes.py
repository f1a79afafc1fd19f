"""`builtin:apply-changes`: commits what a coding agent of the same run has changed, on a branch of the repository.

It does what `skelo apply RUN NODE` does, and is meant to follow an approval.
"""

from __future__ import annotations

from openskelo import errors
from openskelo.handlers import builtin, context
from openskelo.kernel.json import JsonObject


async def run(ctx: context.Context, access: builtin.Access) -> JsonObject:
    """Return branch, commit and files; raise AttemptFailed, never retried, if nothing was applied."""
    builtin.check_config(HANDLER, ctx.config)
    node = builtin.text(ctx.config, "node") or ""
    message = ctx.inputs.get(builtin.text(ctx.config, "message_from") or "")
    try:
        applied = await access.apply_changes(ctx.run_id, node, message)
    except errors.Refused as error:
        raise errors.AttemptFailed(error.message, code=error.code, hint=error.hint, retryable=False) from error
    if applied is None:
        hint = "`node` of its config is the block in which the agent works"
        raise errors.AttemptFailed(
            f"the block {node!r} has no workspace in this run", code="WORKSPACE_NOT_FOUND", hint=hint, retryable=False
        )
    return applied


_DOC = """
It does what `skelo apply RUN NODE` does, and is meant to follow an approval. Your branch and files stay as they are.

Outputs: `branch`, `commit`, `files_changed`. In `skelo test` nothing is committed and `commit` is empty.
Codes: `APPLY_BRANCH`, `DET_CONFIG_INVALID`, `MERGE_CONFLICT`, `NOTHING_TO_APPLY`, `NO_REPOSITORY`,
`WORKSPACE_NOT_FOUND`.
"""

HANDLER = builtin.Handler(
    name="builtin:apply-changes",
    summary="Commits what a coding agent of the same run has changed, on the branch `skelo/apply/RUN`.",
    config=builtin.config_schema(
        {
            "node": builtin.key("the block in which the agent works", builtin.TEXT),
            "message_from": builtin.key("the commit's message; a long first line goes into its body", builtin.TEXT),
        },
        required=["node"],
    ),
    run=run,
    outputs={
        "branch": {"type": "string"},
        "commit": {"type": "string"},
        "files_changed": {"type": "array", "items": {"type": "string"}},
    },
    effect="once",
    uncacheable="a later run would commit nothing",
    sees_item_index=False,
    doc=_DOC,
)
