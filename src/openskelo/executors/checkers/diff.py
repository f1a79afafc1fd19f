"""`diff_applies_cleanly`: a real `git apply --check`; the working tree is only looked at."""

from __future__ import annotations

from openskelo.executors import git
from openskelo.executors.checkers import asked
from openskelo.kernel.json import Json, JsonObject


async def diff_applies_cleanly(of: asked.Asked) -> JsonObject:
    """Whether the text is a patch that applies to the working tree of `repo`, as it is now, without fuzz."""
    folder = of.folder()
    await git.check_repository(folder)
    patch = of.value
    if not isinstance(patch, str):
        return asked.no("it is not a text that could be a patch", files=[])
    if not patch.strip():
        return asked.no("it is empty", files=[])
    # Checking and listing at once: git would apply nothing even without --check, as --numstat was asked for.
    finished = await git.run(
        folder, "apply", "--check", "--numstat", "-z", "-", stdin=patch.encode(), timeout_ms=of.timeout_ms
    )
    if finished.status != 0:
        return asked.no(git.said(finished) or "git refused it", files=[])
    files = changed(finished.stdout)
    return {"ok": True, "files": files} if files else asked.no("it changes nothing", files=[])


def changed(numstat: bytes) -> list[Json]:
    """The paths in what `--numstat -z` lists: added, deleted, path."""
    entries = numstat.decode("utf-8", "replace").split("\0")
    return [parts[2] for entry in entries if len(parts := entry.split("\t", 2)) == 3 and parts[2]]
