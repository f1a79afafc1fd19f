"""The parts of its workspace, of the repository around it, and of the project that an agent may reach.

A worktree belongs to the user's repository: git in it reads the repository's git dir. So that dir is visible and
read-only, with a config of ours in the place of its own, which may hold the password of a remote.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from openskelo import files
from openskelo.agents.sandbox.sandbox_access import Access
from openskelo.agents.workspace import workspace
from openskelo.programs import git
from openskelo.project import Project
from openskelo.structs import replace

#: What git needs to know of a repository to read it. Nothing of it names a program, an address or a key.
_KEPT_CONFIG = ("core.repositoryformatversion", "core.bare", "core.filemode", "core.symlinks", "core.ignorecase")
_KEPT_SECTION = "extensions."


async def find(project: Project, place: workspace.Workspace, home: Path, masked: tuple[str, ...]) -> Access:
    """Return what an agent with this workspace may reach; `masked` are settings of the repository to be hidden."""
    scratch = place.place / "sandbox"
    scratch.mkdir(exist_ok=True)
    outside = [project.root, Path.home(), Path(tempfile.gettempdir())]
    access = Access(
        tree=place.tree,
        folder=place.folder,
        home=home,
        temporary=scratch,
        scratch=scratch,
        readable=tuple(root for root in project.read_roots if root != Path("/")),
        masked=tuple(_settings_files(place, masked)),
        private=(project.data_dir, *(path for path in outside if not path.is_relative_to(place.tree))),
        ports=place.origin.ports,
    )
    if place.origin.kind == "none":
        return access
    return await _with_git_dir(access, Path(place.origin.repository))


def obeyed_settings(place: workspace.Workspace, masked: tuple[str, ...]) -> tuple[str, ...]:
    """Return the repository's own settings that are there for an agent from which nothing hides them, as paths."""
    found = (path for path in _settings_files(place, masked) if path.is_symlink() or path.exists())
    return tuple(str(path.relative_to(place.tree)) for path in found)


def git_dir_of(repository: Path) -> Path | None:
    """Return the git dir that holds the refs, objects and config of a repository, None if it has none."""
    entry = repository / ".git"
    if entry.is_dir():
        return entry.resolve()
    try:
        own_git_dir = (repository / _text(entry).removeprefix("gitdir:").strip()).resolve()
        return (own_git_dir / _text(own_git_dir / "commondir").strip()).resolve()
    except OSError:
        return None


async def _with_git_dir(access: Access, repository: Path) -> Access:
    """Add the repository's git dir, read-only, and the entry of the tree that leads to it."""
    git_dir = git_dir_of(repository)
    if git_dir is None:
        return access
    config = access.scratch / "config"
    config.write_text(await _read_config(git_dir))
    link = access.tree / ".git"
    protected_paths = access.protected if link.is_symlink() else (*access.protected, link)
    return replace(
        access,
        readable=(*access.readable, *_objects(git_dir)),
        protected=(*protected_paths, git_dir),
        replaced={git_dir / "config": config},
    )


async def _read_config(git_dir: Path) -> str:
    """Return those settings of the repository that git needs to read it."""
    config_lines = await git.run(git_dir, "config", "--file", "config", "--list", "--null")
    lines: list[str] = []
    for entry in config_lines.stdout.decode("utf-8", "replace").split("\0"):
        name, _, value = entry.partition("\n")
        if name in _KEPT_CONFIG or name.startswith(_KEPT_SECTION):
            section, _, key = name.rpartition(".")
            lines.append(f"[{section}]\n\t{key} = {value}\n")
    return "".join(lines)


def _objects(git_dir: Path | None) -> Iterator[Path]:
    """Yield the folders of objects that a repository uses: its own, and the ones that it shares with others."""
    if git_dir is None:
        return
    objects = git_dir / "objects"
    yield objects
    try:
        lines = _text(objects / "info" / "alternates").splitlines()
    except OSError:
        return
    yield from (path for line in lines if (path := objects / line.strip()).is_dir() and line.strip())


def _settings_files(place: workspace.Workspace, names: tuple[str, ...]) -> Iterator[Path]:
    """Yield the places at which an agent looks for settings: its folder, and all folders above it in the tree."""
    folder = place.folder
    while True:
        yield from (folder / name for name in names)
        if folder in (place.tree, folder.parent):
            return
        folder = folder.parent


def _text(path: Path) -> str:
    return files.read_plain(path).decode("utf-8", "surrogateescape")
