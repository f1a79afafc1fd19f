"""Where a project handler's code is: found anew for every call, and never outside the project."""

from __future__ import annotations

import ast
import os
import stat
from pathlib import Path

from openskelo import errors
from openskelo.executors import module, task
from openskelo.frozen import frozen


@frozen
class Source:
    """A handler's file (its real path) and, for Python, the function in it and whether that is declared async."""

    path: str
    function: str | None
    is_async: bool = False


class Sources:
    """Locates handlers of one project."""

    def __init__(self, project: task.Project) -> None:
        self._project = project
        self._root = str(project.root)
        self._data = f"{project.data_dir}/"
        self._async: dict[tuple[str, str], tuple[module.Signature, bool]] = {}

    def locate(self, handler: str) -> Source:
        """The code behind `handlers/slug.py[:name]` or an executable's path; AttemptFailed HANDLER_LOAD without one."""
        file, colon, name = handler.partition(":")
        path, found = self._confined(file)
        if file.endswith(".py"):
            function = name if colon else "handler"
            return Source(path=path, function=function, is_async=self._is_async(path, function, module.seen(found)))
        if colon or not os.access(path, os.X_OK):
            raise _unloadable(f"{file} is neither a Python file nor executable", "chmod +x it, or name a .py file")
        return Source(path=path, function=None)

    def _confined(self, file: str) -> tuple[str, os.stat_result]:
        """The real path of a project-relative file, and what is there. A symlink takes the slow way."""
        parts = file.split("/")
        if not file or "\0" in file or file.startswith("/") or ".." in parts:
            raise _unloadable(f"{file!r} is not a path inside the project", "handlers are project-relative paths")
        real, found = self._root, None
        try:
            for part in parts:
                real = f"{real}/{part}"
                found = os.lstat(real)
                if stat.S_ISLNK(found.st_mode):
                    return self._resolved(file)
        except OSError as error:
            raise _unloadable(f"{file}: {error.strerror}", None) from error
        if found is None or not stat.S_ISREG(found.st_mode):
            raise _unloadable(f"{file} is not a file", None)
        if real.startswith(self._data):
            raise _unloadable(f"{file} is inside the data dir", None)
        return real, found

    def _resolved(self, file: str) -> tuple[str, os.stat_result]:
        real = Path(os.path.realpath(self._project.root / file))
        if not real.is_relative_to(self._project.root) or real.is_relative_to(self._project.data_dir):
            raise _unloadable(f"{file} leads outside the project", "a handler may not be a link out of the project")
        if not real.is_file():
            raise _unloadable(f"{file} is not a file", None)
        return str(real), real.stat()

    def _is_async(self, path: str, function: str, now: module.Signature) -> bool:
        """Whether the file itself says `async def function`; everything else is left to the worker to find out."""
        known = self._async.get((path, function))
        if known is None or known[0] != now:
            known = (now, _declares_async(path, function))
            self._async[(path, function)] = known
        return known[1]


def _declares_async(path: str, function: str) -> bool:
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False  # the worker tries to load it, and says what is wrong
    found = [
        node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function
    ]
    return bool(found) and isinstance(found[-1], ast.AsyncFunctionDef)


def _unloadable(message: str, hint: str | None) -> errors.AttemptFailed:
    return errors.AttemptFailed(message, code="HANDLER_LOAD", hint=hint, retryable=False)
