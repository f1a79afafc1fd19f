"""The files of a folder that are checked: Python files, except those of virtual environments, caches and `.git`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from openskelo.structs import frozen

_LEFT_OUT = frozenset(
    {".git", ".hg", ".svn", "__pycache__", ".venv", "venv", ".tox", ".nox", ".eggs", "node_modules", "site-packages"}
    | {".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".ipynb_checkpoints"}
)


@frozen
class PythonFile:
    """A file to check."""

    path: Path
    name: str
    #: The reason why it cannot be read.
    problem: str = ""


def exists(path: Path) -> bool:
    """True if there is something at this path, also a link that leads nowhere."""
    return os.path.lexists(path)


def find(path: Path) -> Iterator[PythonFile]:
    """Yield the file at this path, or the Python files of the folder, sorted by name."""
    if not path.is_dir():
        yield PythonFile(path=path, name=str(path))
        return
    yield from _in_folder(path, path, {_identity(path)})


def _in_folder(folder: Path, root: Path, above: set[tuple[int, int]]) -> Iterator[PythonFile]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield PythonFile(path=folder, name=_name(folder, root), problem=f"it cannot be read: {error.strerror}")
        return
    for entry in entries:
        path = Path(entry.path)
        if _is_folder(entry):
            if entry.name in _LEFT_OUT or (path / "pyvenv.cfg").exists():
                continue
            identity = _identity(path)
            if identity not in above:  # a link that leads back
                yield from _in_folder(path, root, above | {identity})
        elif entry.name.endswith((".py", ".pyw")):
            yield PythonFile(path=path, name=_name(path, root))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link in a circle
        return False


def _identity(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix().encode("utf-8", "replace").decode()
