"""Loads the Python file of a project handler, and again when it, or what it imported from the project, changed."""

from __future__ import annotations

import hashlib
import os
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

from openskelo import errors
from openskelo.executors import calling

Signature: TypeAlias = tuple[int, int, int]

_PREFIX = "skelo_handler_"


class _Loaded(NamedTuple):
    module: types.ModuleType
    files: Mapping[str, Signature]
    siblings: tuple[str, ...]


def signature(path: str) -> Signature:
    """What changes when a file is written or replaced."""
    return seen(os.stat(path))  # noqa: PTH116 -- a Path costs more than the call, and this runs for every attempt


def seen(found: os.stat_result) -> Signature:
    """The same of a file that somebody has looked at already."""
    return (found.st_mtime_ns, found.st_size, found.st_ino)


class Modules:
    """The handler files loaded in this process, by path. `names` are put into each one before it runs, and into
    what it has imported from the project."""

    def __init__(self, root: Path, names: Mapping[str, object] | None = None) -> None:
        self._root = root
        self._names = names or {}
        self._loaded: dict[str, _Loaded] = {}
        self._imported: set[str] = set()  # by handlers, and not by whoever else lives in this process

    def function(self, path: str, name: str, lines: list[str]) -> calling.Handler:
        """The callable `name` of the file as it is now; AttemptFailed HANDLER_LOAD, with the traceback in `lines`."""
        try:
            found = getattr(self._module(path), name, None)
        except KeyboardInterrupt:
            raise
        except errors.AttemptFailed as error:
            raise calling.fit(error) from error.__cause__
        except BaseException as error:  # of a file that somebody else wrote
            failed = calling.raised(_outside(error), lines)
            raise errors.AttemptFailed(f"{Path(path).name}: {failed.message}", code="HANDLER_LOAD") from error
        if not callable(found):
            raise errors.AttemptFailed(
                f"{Path(path).name} has no function {name!r}",
                code="HANDLER_LOAD",
                hint="name another as `file.py:function`",
                retryable=False,
            )
        return found

    def _module(self, path: str) -> types.ModuleType:
        held = self._loaded.get(path)
        if held is not None:
            if all(_same(file, known) for file, known in held.files.items()):
                return held.module
            for sibling in held.siblings:
                sys.modules.pop(sibling, None)
        loaded = self._load(path)
        self._loaded[path] = loaded
        return loaded.module

    def _load(self, path: str) -> _Loaded:
        """Compiled from the source each time: a cached bytecode file only knows the second it was made in."""
        own = signature(path)
        code = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
        module = types.ModuleType(_PREFIX + hashlib.sha256(path.encode()).hexdigest()[:16])
        module.__file__ = path
        module.__dict__.update(self._names)
        sys.modules[module.__name__] = module  # dataclasses and pickling look a module up by its name
        before = set(sys.modules)
        sys.path[:0] = added = [str(Path(path).parent), str(self._root)]
        try:
            exec(code, module.__dict__)  # noqa: S102 -- a handler is trusted code of this project
        finally:
            for entry in added:
                sys.path.remove(entry)
        self._imported |= set(sys.modules) - before
        files, siblings = {path: own}, list[str]()
        for name in self._imported & set(sys.modules):
            file = getattr(sys.modules[name], "__file__", None)
            if isinstance(file, str) and self._is_ours(Path(file)):
                siblings.append(name)
                for own_name, value in self._names.items():
                    vars(sys.modules[name]).setdefault(own_name, value)
                files[file] = signature(file)
        return _Loaded(module, files, tuple(siblings))

    def _is_ours(self, file: Path) -> bool:
        """Whether an imported module is the project's own: inside its root, not in an environment that lies there."""
        return (
            file.is_relative_to(self._root)
            and not file.is_relative_to(sys.prefix)
            and "site-packages" not in file.parts
        )


def _same(path: str, known: Signature) -> bool:
    try:
        return signature(path) == known
    except FileNotFoundError:
        return False


def _outside(error: BaseException) -> BaseException:
    """The error with the traceback that its author can use: without the calls in here that led to the file."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None and trace.tb_next.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return error.with_traceback(trace)
