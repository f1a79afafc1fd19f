"""`diff_applies_cleanly`: a real `git apply --check`; the working tree is only looked at."""

from __future__ import annotations

from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import checkers


async def _check(ctx: checkers.CheckContext) -> JsonObject:
    """Return whether the text is a patch that applies to the working tree of `repo`, as it is now, without fuzz."""
    from openskelo.programs import git  # noqa: PLC0415 -- imports asyncio

    folder = ctx.folder()
    await git.check_repository(folder)
    patch = ctx.value
    if not isinstance(patch, str):
        return checkers.failed("it is not a text that could be a patch", files=[])
    if not patch.strip():
        return checkers.failed("it is empty", files=[])
    # Checking and listing at once: git would apply nothing even without --check, as --numstat was asked for.
    result = await git.run(
        folder, "apply", "--check", "--numstat", "-z", "-", stdin=patch.encode(), timeout_ms=ctx.timeout_ms
    )
    if result.status != 0:
        return checkers.failed(git.said(result) or "git refused it", files=[])
    files = _changed(result.stdout)
    if files:
        return {"ok": True, "files": files}
    return checkers.failed("it changes nothing", files=[])


def _changed(numstat: bytes) -> list[Json]:
    """Return the paths in what `--numstat -z` lists: added, deleted, path."""
    entries = numstat.decode("utf-8", "replace").split("\0")
    return [parts[2] for entry in entries if len(parts := entry.split("\t", 2)) == 3 and parts[2]]


CHECKER = checkers.Checker(
    name="diff_applies_cleanly",
    summary=(
        "`git apply --check` accepts the text as a patch of the working tree, which stays unchanged; gives `files`"
    ),
    args=checkers.args_schema({"repo": checkers.TEXT}),
    check=_check,
    reads_outside=True,
)
