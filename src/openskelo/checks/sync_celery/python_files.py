"""The files of a folder that are checked: Python files, except those of virtual environments, caches and `.git`.

Each folder is read once: first the real folders, then the targets of links, so that links which cross do not multiply
the files behind them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from openskelo.structs import frozen

_LEFT_OUT = frozenset(
    {".git", ".hg", ".svn", "__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs", "node_modules", "site-packages"}
    | {".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".ipynb_checkpoints"}
)
_PYTHON = (".py", ".pyw")


@frozen
class PythonFile:
    """A file to check, or a folder that cannot be read."""

    path: Path
    name: str
    #: The reason why it cannot be read.
    problem: str = ""


def exists(path: Path) -> bool:
    """True if there is something at this path, also a link that leads nowhere."""
    return os.path.lexists(path)


def find(path: Path) -> Iterator[PythonFile]:
    """Yield the file at this path, or the Python files of the folder, sorted by name."""
    if not os.path.isdir(path):  # noqa: PTH112 -- Path.is_dir raises where it may not look
        yield PythonFile(path=path, name=str(path))
        return
    found, seen, linked = list[PythonFile](), set[tuple[int, int]](), [path]
    while linked:
        links = list[Path]()
        for folder in linked:
            found += _in_folder(folder, path, seen, links)
        linked = sorted(links)
    yield from sorted(found, key=lambda file: file.name)


def _in_folder(start: Path, root: Path, seen: set[tuple[int, int]], links: list[Path]) -> Iterator[PythonFile]:
    """Yield the files of a folder; links to folders are added to `links` and not followed."""
    waiting = [start]
    while waiting:
        folder = waiting.pop()
        try:
            status = folder.stat()
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as scanned:
                entries = list(scanned)
        except OSError as error:
            yield _unreadable(folder, root, error)
            continue
        for entry in entries:
            path = Path(entry.path)
            try:
                is_folder = entry.is_dir()
            except OSError as error:
                is_folder = False
                if error.errno != errno.ELOOP and not entry.name.endswith(_PYTHON):
                    yield _unreadable(path, root, error)
            if is_folder and not _is_left_out(path):
                (links if entry.is_symlink() else waiting).append(path)
            elif not is_folder and entry.name.endswith(_PYTHON):
                yield PythonFile(path=path, name=_name(path, root))


def _is_left_out(folder: Path) -> bool:
    return folder.name in _LEFT_OUT or os.path.exists(folder / "pyvenv.cfg")  # noqa: PTH110 -- never raises


def _unreadable(path: Path, root: Path, error: OSError) -> PythonFile:
    return PythonFile(path=path, name=_name(path, root), problem=f"it cannot be read: {error.strerror}")


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix().encode("utf-8", "replace").decode()
