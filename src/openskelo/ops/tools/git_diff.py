"""`git-diff`: the changes in a repository of the project."""

from __future__ import annotations

from openskelo.kernel.json import Json
from openskelo.ops import tools


async def _call(ctx: tools.ToolContext) -> Json:
    from openskelo.programs import git  # noqa: PLC0415 -- imports asyncio

    folder = git.folder_of(str(ctx.args.get("repo") or "."), ctx.project)
    await git.check_repository(folder)
    revisions = [git.check_revisions(text)] if (text := str(ctx.args.get("range") or "")) else []
    paths = tools.literal_paths(ctx.args.get("paths"))
    return await git.read(folder, "diff", "--no-ext-diff", "--no-textconv", *revisions, *paths)


TOOL = tools.Tool(
    name="git-diff",
    summary="the diff of a range, or of uncommitted changes",
    args=tools.args_schema({"repo": tools.TEXT, "range": tools.REVISIONS, "paths": tools.PATHS}),
    call=_call,
    effect="pure",
)
