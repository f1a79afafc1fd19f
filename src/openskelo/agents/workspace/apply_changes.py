"""Bring the changes of a workspace to the user's repository, or remove the workspace.

The changes are merged three ways: the files that the agent began with, what it made of them, and the commit that the
user's branch is at now. Merge and commit are made in our own git dir, so a conflict changes nothing, and no setting,
filter, hook or attribute of the user's repository counts: an agent could have written it. Only the objects of the
commit and the branch `skelo/apply/RUN` then go to the user's repository; with `here` the user's files are changed
instead, if nothing of the user's own is in the way.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from openskelo import errors
from openskelo.agents.workspace import workspace
from openskelo.handlers import blocking_call
from openskelo.kernel.json import Json
from openskelo.programs import git
from openskelo.structs import frozen

_GIT_MS = 300_000
_NAMELESS = {"NAME": "skelo", "EMAIL": "skelo@localhost"}
_NOBODY = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in _NAMELESS.items()}
#: A part of a file on which both sides differ, as git marks it.
_HUNK = re.compile(r"^<{7} .*?^>{7} [^\n]*$", re.MULTILINE | re.DOTALL)
_MAX_SUBJECT = 72
#: How much of a conflict is shown.
_MAX_SHOWN = 8000


@frozen
class Applied:
    """The applied changes: the files, and the new commit and its branch; both are empty if the user's files changed."""

    branch: str
    commit: str
    files: tuple[str, ...]


async def apply(place: workspace.Workspace, message: str, *, here: bool = False) -> Applied:
    """Commit the changes, merged with the user's HEAD, on the branch `skelo/apply/RUN`; or change the files `here`.

    A second node of the same run is committed on top of the first. Raise Refused: NOTHING_TO_APPLY, MERGE_CONFLICT with
    what conflicts, APPLY_BRANCH, WORKSPACE_DIRTY, NO_REPOSITORY.
    """
    origin = place.origin
    repository = Path(origin.repository)
    if origin.kind == "none":
        raise errors.Refused(
            "a workspace of kind none has no branch to apply from",
            code="NO_REPOSITORY",
            hint="copy what you want from its folder: `skelo workspaces` names it",
        )
    branch = f"skelo/apply/{origin.run_id}"
    tree = await place.current_tree()
    head = (await git.read(repository, "rev-parse", "HEAD^{commit}")).strip()
    parent = head if here else await _find_parent(repository, head, branch)
    merged_tree = await _merge(place, parent, tree)
    changes = await _list_changes(place, parent, merged_tree)
    if not changes:
        raise errors.Refused("your branch has these changes already, or there are none", code="NOTHING_TO_APPLY")
    if here:
        await _change_files(place, repository, head, merged_tree, changes)
        branch = new_commit = ""
    else:
        new_commit = await _commit(place, merged_tree, parent, message, await _identity(repository))
        await _send(place, repository, new_commit, parent)
        # Refused if the branch is checked out: its files would no longer be those of its commit.
        await git.read(repository, "branch", "--force", "--no-track", branch, new_commit)
    place.mark_applied(tree)
    return Applied(branch=branch, commit=new_commit, files=tuple(git.printable(name) for name in changes))


def commit_message(place: workspace.Workspace, summary: Json) -> str:
    """Return a commit message from what the agent says it has done: prompts stay out of it."""
    node = place.origin.node
    text = summary.strip() if isinstance(summary, str) else ""
    subject, _, body = text.partition("\n")
    if len(subject) > _MAX_SUBJECT:
        subject, body = f"Apply the changes of {node}", text
    trailer = f"Skelo-Run: {place.origin.run_id}\nSkelo-Node: {node}"
    return "\n\n".join(part for part in (subject or f"Apply the changes of {node}", body.strip(), trailer) if part)


async def _find_parent(repository: Path, head: str, branch: str) -> str:
    """Return the commit that the new one follows: the user's HEAD, or what another node of the run made on top of it.

    Raise Refused APPLY_BRANCH if the branch exists and has commits that would be lost.
    """
    branch_commit = await git.run(repository, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
    if branch_commit.status != 0:
        return head
    tip = branch_commit.stdout.decode().strip()
    for older, newer, parent in ((tip, head, head), (head, tip, tip)):
        if (await git.run(repository, "merge-base", "--is-ancestor", older, newer)).status == 0:
            return parent
    raise errors.Refused(
        f"the branch {branch} has commits that your branch does not have, and does not begin at your branch",
        code="APPLY_BRANCH",
        hint=f"merge it, or drop it with `git branch -D {branch}`; then apply again",
    )


async def _merge(place: workspace.Workspace, parent: str, tree: str) -> str:
    """Return the tree of the merge; raise Refused MERGE_CONFLICT with what conflicts.

    Its base is what the agent began with, after the set-up: so what is applied is what `skelo changes` shows. Two
    commits that are never kept say so to git, which merges commits and not trees.
    """
    base = await _commit(place, await place.tree_of_base(), "", "base", _NOBODY)
    ours = await _commit(place, f"{parent}^{{tree}}", base, "ours", _NOBODY)
    their_commit = await _commit(place, tree, base, "theirs", _NOBODY)
    arguments = ("merge-tree", "--write-tree", "-z", "--name-only", "--messages", ours, their_commit)
    result = await git.run(place.place, *arguments, timeout_ms=_GIT_MS, environment=place.git_environment)
    if result.status not in (0, 1):
        raise git.failed("merge-tree", result)
    merged_tree, *fields = git.split_fields(result.stdout)
    if result.status == 0:
        return merged_tree
    names, notes = fields[: fields.index("")], fields[fields.index("") + 1 :]
    conflict_texts = list(_conflict_notes(notes))
    for name in names:
        conflict_texts += [f"{git.printable(name)}:\n{hunk}" for hunk in await _hunks(place, merged_tree, name)]
    text = "\n".join(conflict_texts).replace(ours, "your branch").replace(their_commit, "the agent")
    raise errors.Refused(
        f"the changes conflict with your branch in {_listed(names)}\n{text[:_MAX_SHOWN]}",
        code="MERGE_CONFLICT",
        hint="nothing was changed; merge the files of the workspace yourself, or run the agent again from here",
    )


def _conflict_notes(fields: list[str]) -> Iterator[str]:
    """Yield what git says about each conflict. Fields: a number, as many paths, the kind of note, its text."""
    rest = iter(fields)
    for count in rest:
        for _ in range(int(count)):
            next(rest)
        kind, text = next(rest), next(rest)
        if kind.startswith("CONFLICT"):
            yield text.strip()


async def _hunks(place: workspace.Workspace, tree: str, name: str) -> list[str]:
    """Return the parts of a merged file on which both sides differ; none if the conflict is not about its lines."""
    blob = await git.run(place.place, "cat-file", "blob", f"{tree}:{name}", environment=place.git_environment)
    if blob.status == 0:
        return _HUNK.findall(blob.stdout.decode("utf-8", "replace"))
    return []


async def _commit(place: workspace.Workspace, tree: str, parent: str, message: str, identity: dict[str, str]) -> str:
    """Return the id of a new commit in our own git dir."""
    parents = ("-p", parent) if parent else ()
    commit_id = await place.shadow_git("commit-tree", tree, *parents, "-m", message, environment=identity)
    return commit_id.strip()


async def _list_changes(place: workspace.Workspace, before: str, after: str) -> dict[str, str]:
    """Return the files that differ between two trees, each with its status: A, M, D or T."""
    options = ("-r", "-z", "--name-status", "--no-renames")
    fields = await git.read_fields(place.place, "diff-tree", *options, before, after, environment=place.git_environment)
    return dict(zip(fields[1::2], fields[0::2], strict=True))


async def _send(place: workspace.Workspace, repository: Path, commit: str, parent: str) -> None:
    """Write what is new in a commit into the user's repository, as a pack.

    It is our own git dir that packs, so that nothing which the user's repository says about programs is obeyed.
    """
    objects = await workspace.git_path(repository, "objects")
    environment = {
        **place.git_environment,
        "GIT_OBJECT_DIRECTORY": str(objects),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(place.shadow / "objects"),
    }
    pack = await git.run(
        place.place,
        *("pack-objects", "--quiet", "--revs", str(objects / "pack" / "pack")),
        stdin=f"{commit}\n^{parent}\n".encode(),
        timeout_ms=_GIT_MS,
        environment=environment,
    )
    if pack.status != 0:
        raise git.failed("pack-objects", pack)


async def _change_files(
    place: workspace.Workspace, repository: Path, head: str, merged: str, changes: Mapping[str, str]
) -> None:
    """Change the user's files as the merge says, and neither index nor branch; raise Refused WORKSPACE_DIRTY."""
    dirty = await place.changes_of_user(repository, head)
    for name, kind in changes.items():
        if kind == "A" and (obstacle := _in_the_way(repository, name, changes)) is not None:
            dirty.add(obstacle)
    if dirty:
        raise errors.Refused(
            f"you have changes of your own in {_listed(dirty)}",
            code="WORKSPACE_DIRTY",
            hint="commit, move or remove them first, or apply without --here; nothing was changed",
        )
    async with place.user_index(repository) as environment:
        await git.read(repository, "read-tree", "-m", "-u", head, merged, timeout_ms=_GIT_MS, environment=environment)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(git.printable(name) for name in sorted(set(names)))


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
        result = await git.run(repository, "config", "--get", f"user.{key.lower()}", environment=with_user)
        value = result.stdout.decode("utf-8", "replace").strip() or os.environ.get(f"GIT_AUTHOR_{key}") or default
        values[f"GIT_AUTHOR_{key}"] = values[f"GIT_COMMITTER_{key}"] = value
    return values


async def remove(place: workspace.Workspace, *, force: bool = False) -> None:
    """Remove a workspace, its worktree and its branch; raise Refused WORKSPACE_CHANGED if work would be lost."""
    origin = place.origin
    if not force and await place.has_changes():
        raise errors.Refused(
            "the workspace has changes that were not applied",
            code="WORKSPACE_CHANGED",
            hint="`skelo changes` shows them, `skelo apply` takes them; --force drops them",
        )
    try:
        if origin.ready or place.folder.is_dir():
            await place.run_commands(origin.teardown, [])
    except errors.AttemptFailed:
        if origin.ready and not force:
            raise
    if origin.kind == "worktree":
        await _remove_worktree(Path(origin.repository), place.tree)
        await _remove_branch(origin)
    await blocking_call.run(lambda: _delete(place.place))


async def _remove_worktree(repository: Path, tree: Path) -> None:
    removal = await git.run(repository, "worktree", "remove", "--force", "--force", str(tree), timeout_ms=_GIT_MS)
    if removal.status != 0:  # its folder is damaged or gone already: the entry goes with the folder
        await blocking_call.run(lambda: shutil.rmtree(tree, ignore_errors=True))
        await git.run(repository, "worktree", "prune", timeout_ms=_GIT_MS)


async def _remove_branch(origin: workspace.Origin) -> None:
    """Remove the branch of a workspace; one that is not ready loses it only if nothing was committed there."""
    repository = Path(origin.repository)
    if origin.ready:
        await git.run(repository, "branch", "--quiet", "-D", origin.branch)
    else:
        await git.run(repository, "update-ref", "-d", f"refs/heads/{origin.branch}", origin.base)


def _delete(place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    if not any(place.parent.iterdir()):
        place.parent.rmdir()
