"""`git-show`: a file of a repository of the project, as it is in a revision."""

from __future__ import annotations

from openskelo.kernel.json import Json
from openskelo.ops import tools


async def _call(ctx: tools.ToolContext) -> Json:
    from openskelo.programs import git  # noqa: PLC0415 -- imports asyncio

    folder = git.folder_of(str(ctx.args.get("repo") or "."), ctx.project)
    await git.check_repository(folder)
    revision = git.check_revisions(str(ctx.args.get("revision") or "HEAD"))
    return await git.read(folder, "show", "--no-textconv", f"{revision}:./{ctx.args['path']}")


TOOL = tools.Tool(
    name="git-show",
    summary="the file at that revision",
    args=tools.args_schema(
        {"repo": tools.TEXT, "revision": {**tools.REVISIONS, "default": "HEAD"}, "path": tools.TEXT}, required=["path"]
    ),
    call=_call,
    effect="pure",
)
