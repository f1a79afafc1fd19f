"""Where a handler may reach in the file system, and how a path that came from data is kept inside."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from openskelo import errors

#: Never part of a path from data, at any depth below a root: a project's switches, its runs, and a repository's history
#: and hooks. In any case of letters, as some file systems tell none apart.
_GUARDED = frozenset({"skelo.yaml", ".skelo", ".git"})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Place(Protocol):
    """What the project allows: all paths are real and absolute (`executors.task.Project` is one)."""

    @property
    def root(self) -> Path: ...
    @property
    def data_dir(self) -> Path: ...
    @property
    def write_roots(self) -> Sequence[Path]: ...
    @property
    def read_roots(self) -> Sequence[Path]: ...
    @property
    def allow_private_addresses(self) -> bool: ...


def writable_roots(place: Place) -> tuple[Path, ...]:
    """The folders that data may name for writing: the declared ones, or the project itself when none are."""
    return tuple(place.write_roots) or (place.root,)


def readable_roots(place: Place) -> tuple[Path, ...]:
    """The folders that data may name for reading: the project, what it may read, and what it may write."""
    return (place.root, *place.read_roots, *place.write_roots)


def invalid(message: str, *, hint: str | None = None) -> errors.AttemptFailed:
    """The failure for a path that cannot be used; trying again cannot help."""
    return errors.AttemptFailed(message, code="DET_PATH_INVALID", hint=hint, retryable=False)


def absolute(text: str, place: Place) -> Path:
    """`text` as an absolute path, relative ones from the project's root; nothing is resolved yet."""
    if not text or "\0" in text:
        raise invalid("the path is empty or holds a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise invalid("the path is not valid Unicode") from None
    return place.root / text


def confined(text: str, roots: Sequence[Path], place: Place) -> tuple[Path, Path]:
    """The real path that `text` names and the root that holds it; DET_PATH_INVALID when none does."""
    try:
        real = Path(os.path.realpath(absolute(text, place)))
    except (OSError, ValueError) as error:
        raise invalid(f"the path cannot be resolved: {error.__class__.__name__}") from error
    within = [root for root in roots if real != root and real.is_relative_to(root)]
    if real.is_relative_to(place.data_dir) or any(_guarded(real, root) for root in (place.root, *within)):
        raise invalid("the path leads into the project's own data", hint="choose a path outside of it")
    if within:
        return real, within[0]
    raise invalid(
        "the path leads outside the folders that this project allows",
        hint="a path that comes from data must stay inside the roots named in skelo.yaml",
    )


def _guarded(path: Path, root: Path) -> bool:
    return path.is_relative_to(root) and any(part.casefold() in _GUARDED for part in path.relative_to(root).parts)


@contextmanager
def folder_beneath(root: Path, folder: Path, *, create: bool) -> Generator[int]:
    """An open descriptor of `folder`, reached from `root` without following a single symlink.

    `folder` was real when it was checked; walking it this way keeps that true while it is used.
    """
    current = os.open(root, _FOLDER)
    try:
        for part in folder.relative_to(root).parts:
            if create:
                _make(part, current)
            try:
                below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=current)
            except (NotADirectoryError, FileNotFoundError) as error:
                raise invalid(f"the folder {part!r} does not exist or is not a folder") from error
            os.close(current)
            current = below
        yield current
    finally:
        os.close(current)


@contextmanager
def folder_at(folder: Path, *, create: bool, mode: int = 0o777) -> Generator[int]:
    """An open descriptor of a folder that the author named, made when missing and `create` says so."""
    try:
        if create:
            _make_all(folder, mode)
        descriptor = os.open(folder, _FOLDER)
    except (NotADirectoryError, FileExistsError, FileNotFoundError) as error:
        raise invalid(f"the folder {str(folder)!r} does not exist or is not a folder") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def regular(name: str, folder: int) -> os.stat_result | None:
    """What is at `name` in the open folder: None when nothing is, DET_PATH_INVALID when it is no regular file."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise invalid(f"{name!r} exists and is not a regular file")
    return found


def _make_all(folder: Path, mode: int) -> None:
    """The folder and whatever is missing above it, each one durable in its parent."""
    missing = [level for level in (folder, *folder.parents) if not level.exists()]
    for level in reversed(missing):
        level.mkdir(mode=mode, exist_ok=True)
        parent = os.open(level.parent, _FOLDER)
        try:
            os.fsync(parent)
        finally:
            os.close(parent)
    if not missing and not folder.is_dir():
        raise NotADirectoryError(str(folder))


def _make(part: str, parent: int) -> None:
    try:
        os.mkdir(part, dir_fd=parent)
    except FileExistsError:
        return
    os.fsync(parent)
