"""What the work of a project handler is made of: its file, and what that imports from the project, as one digest.

Imports are read and not run, so that those which only happen at run time, by a name that is computed, are not seen.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

from openskelo.kernel.json import Json
from openskelo.values import canonical


def digest(path: str, root: Path) -> str:
    """The digest of a handler's file (its real path); for Python with every file that it imports from the project."""
    digests: dict[str, Json] = {}
    folders = (Path(path).parent, root)
    todo = [path]
    while todo:
        file = todo.pop()
        if file not in digests:
            data = Path(file).read_bytes()
            digests[file] = canonical.digest_bytes(data)
            if file.endswith(".py"):
                todo.extend(_imported(data, Path(file), folders))
    return canonical.digest({os.path.relpath(file, root): found for file, found in digests.items()})


def _imported(data: bytes, file: Path, folders: tuple[Path, ...]) -> Iterator[str]:
    """The files of the project that a module may import."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # it cannot be loaded either
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                for alias in node.names:
                    yield from _files(folders, alias.name.split("."))
            case ast.ImportFrom(level=0):
                for alias in node.names:
                    yield from _files(folders, [*(node.module or "").split("."), alias.name])
            case ast.ImportFrom():
                package = file.parents[min(node.level, len(file.parents)) - 1]
                for alias in node.names:
                    yield from _files((package,), [*(node.module or "").split("."), alias.name])
            case _:
                pass


def _files(folders: tuple[Path, ...], parts: list[str]) -> Iterator[str]:
    """The files behind a dotted name: of each package on the way, and of the module at its end."""
    for folder in folders:
        at = folder
        for part in filter(None, parts):
            at = at / part
            for found in (at.with_suffix(".py"), at / "__init__.py"):
                if found.is_file():
                    yield str(found)
