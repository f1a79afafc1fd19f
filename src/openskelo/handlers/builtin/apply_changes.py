"""`builtin:apply-changes`: commits what a coding agent of the same run has changed, on a branch of the repository.

It does what `skelo apply RUN NODE` does, and is meant to follow an approval. The executor brings the function, because
workspaces are a layer above the handlers (`executors/handlers/apply_changes.py`).
"""

from __future__ import annotations

from openskelo.handlers import builtin

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
    run=None,
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
