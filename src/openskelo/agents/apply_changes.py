"""Bring the changes of a workspace to the user's branch, or remove the workspace.

The changes are merged three ways: the files that the agent began with, what it made of them, and the commit that the
user's branch is at now. The merge is made in our own git dir, so a conflict changes nothing. Only then are the user's
files, index and branch moved, and only if nothing of the user's own stands where a file would change.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from openskelo import errors
from openskelo.agents import workspace
from openskelo.handlers import blocking_call
from openskelo.programs import git
from openskelo.structs import frozen

_GIT_MS = 300_000
_NAMELESS = {"NAME": "skelo", "EMAIL": "skelo@localhost"}
_NOBODY = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in _NAMELESS.items()}
#: Only the objects of a commit are wanted: no refs, no tags, no tidying of the user's repository.
_FETCH = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")


@frozen
class Applied:
    """What was applied: the new commit (empty if the user commits it), and the files."""

    commit: str
    files: tuple[str, ...]


async def apply(place: workspace.Workspace, message: str, *, commit: bool) -> Applied:
    """Merge the changes into the branch that the user's repository is on; commit them if `commit`.

    Raise Refused: NOTHING_TO_APPLY, MERGE_CONFLICT with the files, WORKSPACE_DIRTY, NO_REPOSITORY.
    """
    origin = place.origin
    repository = Path(origin.repository)
    if origin.kind not in ("worktree", "clone"):
        raise errors.Refused(
            f"a workspace of kind {origin.kind} has no branch to apply from",
            code="NO_REPOSITORY",
            hint="`in_place` has changed your files already; `none` has no repository",
        )
    tree = await place.snapshot()
    head = (await git.read(repository, "rev-parse", "HEAD^{commit}")).strip()
    merged = await _merge(place, head, tree)
    changes = await _list_changes(place, head, merged)
    if not changes:
        raise errors.Refused("your branch has these changes already, or there are none", code="NOTHING_TO_APPLY")
    await _check_clean(repository, changes)
    made = await _commit(place, merged, head, message, await _identity(repository))
    await place.shadow_git("update-ref", "refs/heads/result", made)
    await git.read(repository, "fetch", *_FETCH, str(place.shadow), "refs/heads/result", timeout_ms=_GIT_MS)
    await git.read(repository, "read-tree", "-m", "-u", head, merged, timeout_ms=_GIT_MS)
    if commit:
        await git.read(repository, "update-ref", "-m", "skelo apply", "HEAD", made, head)
    place.mark_applied(tree)
    return Applied(commit=made if commit else "", files=tuple(git.printable(name) for name in changes))


async def _merge(place: workspace.Workspace, head: str, tree: str) -> str:
    """Return the tree of the merge; raise Refused MERGE_CONFLICT.

    The merge happens in our own git dir. Its base is what the agent began with, after the set-up: so what is applied
    is what `skelo changes` shows. Two commits that are never kept say so to git, which merges commits and not trees.
    """
    base = await _commit(place, await place.tree_of_base(), "", "base", _NOBODY)
    ours = await _commit(place, f"{head}^{{tree}}", base, "ours", _NOBODY)
    theirs = await _commit(place, tree, base, "theirs", _NOBODY)
    arguments = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
    finished = await git.run(place.tree, *arguments, timeout_ms=_GIT_MS, environment=place.git_environment)
    if finished.status not in (0, 1):
        raise git.failed("merge-tree", finished)
    merged, *conflicts = git.split_fields(finished.stdout)
    if finished.status == 0:
        return merged
    raise errors.Refused(
        f"the changes conflict with your branch in {_listed(conflicts)}",
        code="MERGE_CONFLICT",
        hint="nothing was changed; merge the files of the workspace yourself, or run the agent again from here",
    )


async def _commit(place: workspace.Workspace, tree: str, parent: str, message: str, identity: dict[str, str]) -> str:
    """Return the id of a new commit in our own git dir."""
    parents = ("-p", parent) if parent else ()
    made = await place.shadow_git("commit-tree", tree, *parents, "-m", message, environment=identity)
    return made.strip()


async def _list_changes(place: workspace.Workspace, before: str, after: str) -> dict[str, str]:
    """Return the files that differ between two trees, each with its status: A, M, D or T."""
    options = ("-r", "-z", "--name-status", "--no-renames")
    fields = await git.read_fields(place.tree, "diff-tree", *options, before, after, environment=place.git_environment)
    return dict(zip(fields[1::2], fields[0::2], strict=True))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(git.printable(name) for name in sorted(set(names)))


async def _check_clean(repository: Path, changes: Mapping[str, str]) -> None:
    """Raise Refused WORKSPACE_DIRTY if a file that would be changed has changes of the user's own."""
    options = ("--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=all")
    touched = {entry[3:] for entry in await git.read_fields(repository, "status", *options)}
    dirty = {name for name in changes if name in touched}
    for name, kind in changes.items():
        if kind == "A" and (found := _in_the_way(repository, name, changes)) is not None:
            dirty.add(found)
    if dirty:
        raise errors.Refused(
            f"you have changes of your own in {_listed(dirty)}",
            code="WORKSPACE_DIRTY",
            hint="commit, move or remove them first; nothing was changed",
        )


def _in_the_way(repository: Path, name: str, changes: Mapping[str, str]) -> str | None:
    """Return what stands where a new file would be written: git would overwrite it if it is an ignored file."""
    if os.path.lexists(repository / name):
        return name
    for parent in PurePosixPath(name).parents:
        path = repository / parent
        if os.path.lexists(path) and (path.is_symlink() or not path.is_dir()) and str(parent) not in changes:
            return str(parent)
    return None


async def _identity(repository: Path) -> dict[str, str]:
    """Return the name and address that git would use for the user, for author and committer."""
    with_user = {"GIT_CONFIG_GLOBAL": f"{os.environ.get('HOME', '')}/.gitconfig", "GIT_CONFIG_NOSYSTEM": "0"}
    values: dict[str, str] = {}
    for key, default in _NAMELESS.items():
        finished = await git.run(repository, "config", "--get", f"user.{key.lower()}", environment=with_user)
        value = finished.stdout.decode("utf-8", "replace").strip() or os.environ.get(f"GIT_AUTHOR_{key}") or default
        values[f"GIT_AUTHOR_{key}"] = values[f"GIT_COMMITTER_{key}"] = value
    return values


async def remove(place: workspace.Workspace, *, force: bool = False) -> None:
    """Remove a workspace, its worktree and its branch; raise Refused WORKSPACE_CHANGED if work would be lost."""
    origin = place.origin
    if not force and origin.kind != "in_place" and await place.has_changes():
        raise errors.Refused(
            "the workspace has changes that were not applied",
            code="WORKSPACE_CHANGED",
            hint="`skelo changes` shows them, `skelo apply` takes them; --force drops them",
        )
    try:
        await place.run_commands(origin.teardown, [])
    except errors.AttemptFailed:
        if not force:
            raise
    if origin.kind == "worktree":
        await _remove_worktree(Path(origin.repository), place.tree, origin.branch)
    await blocking_call.run(lambda: _delete(place.place))


async def _remove_worktree(repository: Path, tree: Path, branch: str) -> None:
    removed = await git.run(repository, "worktree", "remove", "--force", "--force", str(tree), timeout_ms=_GIT_MS)
    if removed.status != 0:  # its folder is damaged or gone already: the entry goes with the folder
        await blocking_call.run(lambda: shutil.rmtree(tree, ignore_errors=True))
        await git.run(repository, "worktree", "prune", timeout_ms=_GIT_MS)
    await git.run(repository, "branch", "--quiet", "-D", branch)


def _delete(place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    if not any(place.parent.iterdir()):
        place.parent.rmdir()
