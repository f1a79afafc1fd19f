"""`git-log`: the commits of a repository of the project."""

from __future__ import annotations

from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import tools

_FORMAT = "%H%x1f%an%x1f%aI%x1f%s"
_MAX = 50


async def _call(ctx: tools.ToolContext) -> Json:
    from openskelo.programs import git  # noqa: PLC0415 -- imports asyncio

    folder = git.folder_of(str(ctx.args.get("repo") or "."), ctx.project)
    await git.check_repository(folder)
    revisions = [git.check_revisions(text)] if (text := str(ctx.args.get("range") or "")) else []
    paths = tools.literal_paths(ctx.args.get("paths"))
    count = f"--max-count={ctx.args.get('max') or _MAX}"
    output = await git.read(folder, "log", f"--format={_FORMAT}", count, *revisions, *paths)
    return [_commit(line) for line in output.splitlines()]


def _commit(line: str) -> JsonObject:
    commit, author, at, subject = line.split("\x1f", 3)
    return {"commit": commit, "author": author, "at": at, "subject": subject}


TOOL = tools.Tool(
    name="git-log",
    summary="a list of `commit`, `author`, `at`, `subject`",
    args=tools.args_schema(
        {
            "repo": tools.TEXT,
            "range": tools.REVISIONS,
            "paths": tools.PATHS,
            "max": {**tools.COUNT, "maximum": 1000, "default": 50},
        }
    ),
    call=_call,
    effect="pure",
)
