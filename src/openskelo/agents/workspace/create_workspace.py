"""Make the workspace of an agent: find the repository, check out its files, copy what git ignores, run the set-up.

`workspace.json` is written before the rest, so that whatever was made can be listed and removed. It says ready once the
set-up is done. A workspace that is ready is opened as it is. One that is not, because the set-up failed or this process
was killed, is made anew. One whose files are gone is made anew, too, and gets the files of its last snapshot.
"""

from __future__ import annotations

import os
import shutil
import socket
import stat
from collections.abc import AsyncIterator, Collection, Iterator
from pathlib import Path

from openskelo import agent_settings, errors
from openskelo.agents.workspace import env_files, workspace
from openskelo.handlers import blocking_call
from openskelo.programs import git
from openskelo.project import Project
from openskelo.structs import field, frozen, mutable

_GIT_MS = 300_000
#: How git marks the entry of a submodule.
_SUBMODULE = "160000 "
#: How many files a line of the log names.
_MAX_NAMES = 10


@mutable
class WorkspaceNotes:
    """The report of opening a workspace: the output of its set-up, and the secrets in files copied into it."""

    lines: list[str] = field(default_factory=list[str])
    secret_values: set[str] = field(default_factory=set[str])
    #: Its files were gone and have been made anew.
    was_gone: bool = False


async def open_workspace(
    project: Project, wanted: agent_settings.WorkspaceSettings, run_id: str, node: str, notes: WorkspaceNotes
) -> workspace.Workspace:
    """Return the workspace of a node, made and set up if it does not exist yet. The caller has the node's lock.

    Raise AttemptFailed: WORKSPACE_REPOSITORY, WORKSPACE_SETUP, GIT_MISSING, GIT_FAILED.
    """
    place = workspace.place_of(project.data_dir, run_id, node)
    existing = workspace.find(project.data_dir, run_id, node)
    new_workspace = existing or workspace.Workspace(place, await _find_origin(project, wanted, run_id, node))
    notes.secret_values |= await find_secret_values(new_workspace)
    if existing is None:
        await _create(wanted, new_workspace, notes)
    elif existing.is_gone:
        await _recreate(wanted, existing, notes)
    return new_workspace


async def find_secret_values(made: workspace.Workspace) -> set[str]:
    """Return the values in env files that were copied into a workspace, as they are now there and in the repository."""
    if not made.origin.copy:
        return set()
    return await blocking_call.run(lambda: env_files.read_values(path for pair in _copied(made) for path in pair))


async def _create(wanted: agent_settings.WorkspaceSettings, made: workspace.Workspace, notes: WorkspaceNotes) -> None:
    await blocking_call.run(lambda: _clear(made.place))
    if made.origin.kind == "worktree":
        await _check_branch(made.origin)
    made.write_origin(ready=False)
    await _create_tree(made)
    notes.lines += [line async for line in _what_is_not_there(made)]
    await blocking_call.run(lambda: _copy_ignored(made))
    if not made.folder.is_dir():
        raise _no_repository(wanted.repository, f"has no folder {wanted.folder!r}")
    await made.run_commands(wanted.setup, notes.lines)
    made.write_origin(ready=True)


async def _recreate(wanted: agent_settings.WorkspaceSettings, made: workspace.Workspace, notes: WorkspaceNotes) -> None:
    """Make the folder anew, with the files of the last snapshot (AttemptFailed WORKSPACE_GONE without one)."""
    tree = await made.recorded_tree()
    notes.was_gone = True
    notes.lines.append("the files of the workspace were gone: they are those of its last snapshot again")
    made.mark_gone(tree)  # a kill on the way loses nothing
    await blocking_call.run(lambda: shutil.rmtree(made.tree, ignore_errors=True))
    if made.origin.kind == "none":
        made.tree.mkdir()
    else:
        await _add_worktree(made)
        await made.check_out()
        await _point_to_branch(made)
    await blocking_call.run(lambda: _copy_ignored(made))
    made.folder.mkdir(parents=True, exist_ok=True)
    await made.run_commands(wanted.setup, notes.lines)
    await made.restore(tree)
    made.mark_gone(None)


def _clear(place: Path) -> None:
    """Remove what an interrupted start has left, except the file that says where it is, and make the home folder."""
    for entry in place.iterdir() if place.is_dir() else ():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        elif entry.name != workspace.ORIGIN_FILE:
            entry.unlink()
    (place / "home").mkdir(parents=True, mode=0o700)


async def _find_origin(
    project: Project, wanted: agent_settings.WorkspaceSettings, run_id: str, node: str
) -> workspace.Origin:
    folder = (project.root / wanted.repository).resolve()
    if not folder.is_relative_to(project.root) and folder not in project.read_roots:
        raise _no_repository(wanted.repository, "is outside of the project", hint="name it under `read_roots`")
    if not folder.is_dir():
        raise _no_repository(wanted.repository, "is no folder")
    repository = await _find_repository(folder)
    is_worktree = wanted.kind == "worktree" or (wanted.kind is None and (repository is not None or _is_in_git(folder)))
    if is_worktree:
        repository = _check_repository(repository, wanted.repository)
    else:
        repository = _Repository(top=folder, prefix="", head="")
    return workspace.Origin(
        run_id=run_id,
        node=node,
        kind="worktree" if is_worktree else "none",
        repository=str(repository.top),
        folder=str(Path(repository.prefix) / wanted.folder) if is_worktree else "",
        base=repository.head,
        branch=f"skelo/{run_id}/{workspace.file_name(node)}" if is_worktree else "",
        teardown=wanted.teardown,
        command_timeout_ms=wanted.command_timeout_ms,
        ports=_choose_ports(project.data_dir, wanted.ports),
        copy=wanted.copy if is_worktree else (),
    )


@frozen
class _Repository:
    """The git repository around a folder: its top, the way down to the folder, and the commit it is at."""

    top: Path
    prefix: str
    head: str
    is_bare: bool = False


async def _find_repository(folder: Path) -> _Repository | None:
    """Return the repository that `folder` belongs to, None if there is none."""
    above = {"GIT_CEILING_DIRECTORIES": ""}  # the project may be a part of the repository
    is_bare = ("-c", "safe.bareRepository=all", "rev-parse", "--is-bare-repository")  # else git does not say why not
    answer = await git.run(folder, *is_bare, environment=above)
    if answer.status != 0:
        return None
    if answer.stdout.strip() == b"true":
        return _Repository(top=folder, prefix="", head="", is_bare=True)
    top_level = await git.run(folder, "rev-parse", "--show-toplevel", "--show-prefix", environment=above)
    top, _, prefix = top_level.stdout.decode("utf-8", "surrogateescape").rstrip("\n").partition("\n")
    head = await git.run(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", environment=above)
    return _Repository(top=Path(top), prefix=prefix.rstrip("/"), head=head.stdout.decode().strip())


def _is_in_git(folder: Path) -> bool:
    """True if git is meant to look after the folder, even if it cannot: a damaged repository is no empty folder."""
    return any(os.path.lexists(parent / ".git") for parent in (folder, *folder.parents))


def _check_repository(repository: _Repository | None, name: str) -> _Repository:
    """Return the repository; raise AttemptFailed WORKSPACE_REPOSITORY if no files can be checked out of it."""
    if repository is None:
        hint = "run `git init` and commit, or use `workspace: none`, an empty folder"
        raise _no_repository(name, "is not in a git repository", hint=hint)
    if repository.is_bare:
        raise _no_repository(name, "is a bare repository", hint="name a repository that has files")
    if not repository.head:
        raise _no_repository(name, "has no commit yet", hint="commit what the agent is to start from")
    return repository


def _choose_ports(data_dir: Path, count: int) -> tuple[int, ...]:
    """Return ports that are free now and that no other workspace of the data dir has."""
    if not count:
        return ()
    taken_ports = {port for other in workspace.list_workspaces(data_dir) for port in other.origin.ports}
    ports: list[int] = []
    sockets: list[socket.socket] = []
    try:
        while len(ports) < count:
            sockets.append(socket.create_server(("127.0.0.1", 0)))
            port = sockets[-1].getsockname()[1]
            if port not in taken_ports:
                ports.append(port)
    finally:
        for listening in sockets:
            listening.close()
    return tuple(ports)


async def _create_tree(made: workspace.Workspace) -> None:
    """Make the folder. The files come from our own git dir, so that no filter of the repository's config runs."""
    origin = made.origin
    if origin.kind == "none":
        made.tree.mkdir()
        await made.create_shadow()
        return
    await git.read(Path(origin.repository), "update-ref", f"refs/heads/{origin.branch}", origin.base)
    await _add_worktree(made)
    await made.create_shadow()
    await made.check_out()
    await _point_to_branch(made)


async def _what_is_not_there(made: workspace.Workspace) -> AsyncIterator[str]:
    """Yield a line about the user's uncommitted changes, and one about submodules, which are empty folders."""
    if made.origin.kind == "none":
        return
    changed = await made.changes_of_user(Path(made.origin.repository), made.origin.base)
    if changed:
        yield f"your uncommitted changes are not in the workspace: {_shortened(changed)}"
    entries = await made.shadow_git("ls-files", "--stage", "-z")
    submodules = [entry.partition("\t")[2] for entry in entries.split("\0") if entry.startswith(_SUBMODULE)]
    if submodules:
        yield f"submodules are empty in the workspace, and changes in them are not kept: {_shortened(submodules)}"


def _shortened(names: Collection[str]) -> str:
    shown = ", ".join(git.printable(name) for name in sorted(names)[:_MAX_NAMES])
    more = len(names) - _MAX_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


async def _add_worktree(made: workspace.Workspace) -> None:
    """Make the worktree without files. Forced: an interrupted start may have left an entry for the same folder."""
    options = ("--force", "--quiet", "--no-checkout", "--detach")
    add = ("worktree", "add", *options, str(made.tree), made.origin.base)
    await git.read(Path(made.origin.repository), *add, timeout_ms=_GIT_MS)


async def _check_branch(origin: workspace.Origin) -> None:
    """Raise AttemptFailed WORKSPACE_REPOSITORY if a branch of this name has commits that would be lost.

    An interrupted start may have left the branch at an earlier commit of the base.
    """
    repository, branch = Path(origin.repository), f"refs/heads/{origin.branch}"
    existing = await git.run(repository, "rev-parse", "--verify", "--quiet", branch)
    if existing.status == 0:
        commit = existing.stdout.decode().strip()
        merge_check = await git.run(repository, "merge-base", "--is-ancestor", commit, origin.base)
        if merge_check.status != 0:
            why = f"has a branch {origin.branch!r} with commits of its own already"
            raise _no_repository(origin.repository, why, hint="rename or delete that branch")


async def _point_to_branch(made: workspace.Workspace) -> None:
    """Write the branch and the index that the agent's own git commands use."""
    branch = f"refs/heads/{made.origin.branch}"
    await git.read(made.tree, "update-ref", branch, made.origin.base)
    await git.read(made.tree, "symbolic-ref", "HEAD", branch)
    await git.read(made.tree, "read-tree", "HEAD", timeout_ms=_GIT_MS)


def _copy_ignored(made: workspace.Workspace) -> None:
    """Copy files that the author names and that are not in the tree already: an agent may need `.env.test`, say."""
    for source, target in _copied(made):
        if target.exists() or not source.resolve().is_relative_to(made.origin.repository):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def _copied(made: workspace.Workspace) -> Iterator[tuple[Path, Path]]:
    """Yield each file that is copied, and where its copy is."""
    repository = Path(made.origin.repository)
    data_dir = made.place.parents[2].resolve()
    left_out = {repository / ".git", data_dir}
    for pattern in made.origin.copy:
        for matching_path in sorted(repository.glob(pattern)):
            for source in _regular_files(matching_path, left_out):
                yield source, made.tree / source.relative_to(repository)


def _regular_files(matched: Path, left_out: set[Path]) -> Iterator[Path]:
    """Yield a file, or all files below a folder; no links, no devices, nothing of the folders that are left out."""
    if not left_out.isdisjoint((matched, *matched.parents)):
        return
    mode = matched.lstat().st_mode
    if stat.S_ISREG(mode):
        yield matched
    elif stat.S_ISDIR(mode):
        for entry in sorted(os.scandir(matched), key=lambda entry: entry.name):
            yield from _regular_files(Path(entry.path), left_out)


def _no_repository(name: str, why: str, hint: str | None = None) -> errors.AttemptFailed:
    return errors.AttemptFailed(
        f"the repository {name!r} {why}", code="WORKSPACE_REPOSITORY", hint=hint, retryable=False
    )
