"""Finds, digests and loads the code of project handlers, and loads it again when it, or a file it imports, changes.

`Modules` runs a handler's file, and the files of the project that it imports. They are compiled from source and kept as
compiled code, so that running them again is cheap.
"""

from __future__ import annotations

import ast
import hashlib
import os
import stat
import sys
import types
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import machinery
from pathlib import Path
from typing import NamedTuple, TypeAlias

from openskelo import errors
from openskelo.executors.handlers import invocation
from openskelo.handlers import file_access
from openskelo.kernel.json import Json
from openskelo.project import Project
from openskelo.structs import frozen
from openskelo.values import canonical

Signature: TypeAlias = tuple[int, int, int]

_PREFIX = "skelo_handler_"


class _Loaded(NamedTuple):
    module: types.ModuleType
    files: Mapping[str, Signature]
    siblings: tuple[str, ...]


def signature(path: str) -> Signature:
    """Return a value that changes when the file is written or replaced."""
    return signature_of(os.stat(path))  # noqa: PTH116 -- a Path costs more, and this runs for every attempt


def signature_of(stat: os.stat_result) -> Signature:
    """Return the signature of a file from its status."""
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)


class _CompiledFiles:
    """The compiled code of files, by path. Cached bytecode on disk is not used: it misses a change in one second."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[Signature, types.CodeType]] = {}

    def have_changed(self) -> bool:
        """True if a file is not what it was when it was compiled."""
        return any(not _same(path, identity) for path, (identity, _) in self._files.items())

    def clear(self) -> None:
        """Drop the code of all files."""
        self._files.clear()

    def load(self, path: str) -> tuple[Signature, types.CodeType]:
        """Return the signature and the code of the file as it is now."""
        now = signature(path)
        cache_entry = self._files.get(path)
        if cache_entry is None or cache_entry[0] != now:
            cache_entry = (now, compile(Path(path).read_bytes(), path, "exec", dont_inherit=True))
            self._files[path] = cache_entry
        return cache_entry


class _ProjectLoader(machinery.SourceFileLoader):
    """Loads a file of the project from its compiled code."""

    def __init__(self, name: str, path: str, compiled: _CompiledFiles) -> None:
        super().__init__(name, path)
        self._compiled = compiled

    def get_code(self, fullname: str) -> types.CodeType:
        return self._compiled.load(self.get_filename(fullname))[1]


class _ProjectFinder:
    """Finds modules as Python does; takes the project's from compiled code, and refuses modules that data may write.

    `found` are the project's modules that it has found so far: the file of each by its name.
    """

    def __init__(self, root: str, write_roots: Sequence[Path], compiled: _CompiledFiles) -> None:
        self._root = root
        self._written = tuple(f"{folder}/" for folder in write_roots)
        self._compiled = compiled
        self.found: dict[str, str] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None, /
    ) -> machinery.ModuleSpec | None:
        spec = machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or not spec.has_location:
            return spec
        if os.path.realpath(spec.origin).startswith(self._written):
            raise ImportError(f"{spec.origin} is in a folder that data may write to, so it is not run", name=fullname)
        if is_ours(spec.origin, self._root):
            self.found[fullname] = spec.origin
            if isinstance(spec.loader, machinery.SourceFileLoader):
                spec.loader = _ProjectLoader(fullname, spec.origin, self._compiled)
        return spec

    def install(self) -> None:
        """Use this finder for every import from now on."""
        if self not in sys.meta_path:
            sys.meta_path.insert(sys.meta_path.index(machinery.PathFinder), self)

    @contextmanager
    def installed(self) -> Generator[None]:
        """Use this finder for every import inside a with statement."""
        was_there = self in sys.meta_path
        self.install()
        try:
            yield
        finally:
            if not was_there:
                sys.meta_path.remove(self)


def is_ours(file: str, root: str) -> bool:
    """True if a module belongs to the project: its file is inside the root, not in a virtual environment there.

    Paths are plain text here: this runs for every call of a handler.
    """
    path = f"{file}/"
    return path.startswith(f"{root}/") and not path.startswith(f"{sys.prefix}/") and "/site-packages/" not in path


class Modules:
    """The handler files loaded in this process, by path.

    `names` are put into each module before it runs, and into what it has imported from the project. Nothing is imported
    from `write_roots`.
    """

    def __init__(
        self, root: Path, names: Mapping[str, object] | None = None, *, write_roots: Sequence[Path] = ()
    ) -> None:
        self._root = str(root).rstrip("/")
        self._names = names or {}
        self._loaded: dict[str, _Loaded] = {}
        self._compiled = _CompiledFiles()
        self._finder = _ProjectFinder(self._root, write_roots, self._compiled)
        #: Modules that are not the project's, by name.
        self._foreign: set[str] = set()

    def install(self) -> None:
        """Apply the rules of the project to imports inside functions too: this process only runs handlers."""
        self._finder.install()

    def forget_changed(self) -> None:
        """Drop every module of the project if the file of one has changed, wherever it was imported."""
        if not self._compiled.have_changed():
            return
        self._compiled.clear()
        for name in sys.modules.keys() - self._foreign:
            if name.startswith(_PREFIX) or self._is_of_project(sys.modules[name]):
                del sys.modules[name]
            else:
                self._foreign.add(name)
        self._loaded.clear()
        self._finder.found.clear()

    def _is_of_project(self, module: types.ModuleType) -> bool:
        file = getattr(module, "__file__", None)
        places = [file] if isinstance(file, str) else list(getattr(module, "__path__", ()))
        return any(is_ours(place, self._root) for place in places)

    def function(self, path: str, name: str, lines: list[str]) -> invocation.Handler:
        """Return the function `name` of the file as it is now.

        Raise AttemptFailed HANDLER_LOAD, with the traceback in `lines`, if the file cannot be loaded or has none.
        """
        try:
            function = getattr(self._module(path), name, None)
        except KeyboardInterrupt:
            raise
        except errors.AttemptFailed as error:
            raise invocation.fit(error) from error.__cause__
        except BaseException as error:  # the file may raise anything
            failure = invocation.raised(_outside(error), lines)
            is_gone = isinstance(error, ModuleNotFoundError | FileNotFoundError)
            kind = errors.Missing if is_gone else errors.AttemptFailed
            raise kind(f"{Path(path).name}: {failure.message}", code="HANDLER_LOAD") from error
        if not callable(function):
            raise errors.AttemptFailed(
                f"{Path(path).name} has no function {name!r}",
                code="HANDLER_LOAD",
                hint="name another as `file.py:function`",
                retryable=False,
            )
        return function

    def _module(self, path: str) -> types.ModuleType:
        cached_module = self._loaded.get(path)
        if cached_module is not None:
            if all(_same(file, identity) for file, identity in cached_module.files.items()):
                return cached_module.module
            for sibling in cached_module.siblings:
                sys.modules.pop(sibling, None)
        fresh_module = self._load(path)
        self._loaded[path] = fresh_module
        return fresh_module.module

    def _load(self, path: str) -> _Loaded:
        """Run the file as a new module."""
        own_identity, code = self._compiled.load(path)
        module = types.ModuleType(_PREFIX + hashlib.sha256(path.encode()).hexdigest()[:16])
        module.__file__ = path
        module.__dict__.update(self._names)
        sys.modules[module.__name__] = module  # dataclasses and pickling look a module up by its name
        sys.path[:0] = new_paths = [path.rpartition("/")[0], self._root]
        try:
            with self._finder.installed():
                exec(code, module.__dict__)  # noqa: S102 -- a handler is trusted code of this project
        finally:
            for entry in new_paths:
                sys.path.remove(entry)
        files, siblings = {path: own_identity}, list[str]()
        for name, file in self._finder.found.items():
            previous_module = sys.modules.get(name)
            if isinstance(previous_module, types.ModuleType):
                siblings.append(name)
                for own_name, value in self._names.items():
                    vars(previous_module).setdefault(own_name, value)
                files[file] = signature(file)
        return _Loaded(module, files, tuple(siblings))


def _same(path: str, known: Signature) -> bool:
    try:
        return signature(path) == known
    except FileNotFoundError:
        return False


def _outside(error: BaseException) -> BaseException:
    """Return the error with a traceback that starts in the handler's file, without the calls of this module."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None and trace.tb_next.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return error.with_traceback(trace)


# Finds the code of a project handler, anew for every call and never outside the project, and makes its digest.


@frozen
class Source:
    """A handler's file (its real path) and, for Python, the function in it and whether that is declared async."""

    path: str
    function: str | None
    is_async: bool = False


class Sources:
    """Finds the handlers of one project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._root = str(project.root)
        self._written = file_access.writable_roots(project.root, project.write_roots)
        #: Path prefixes of files that are never run: the engine's own files, and files that data may have written.
        self._not_code = tuple(f"{folder}/" for folder in (project.data_dir, *self._written))
        self._async: dict[tuple[str, str], tuple[Signature, bool]] = {}

    def locate(self, handler: str) -> Source:
        """Return the code behind `handlers/slug.py[:name]` or an executable; AttemptFailed HANDLER_LOAD if none."""
        file, colon, name = handler.partition(":")
        path, file_info = self._confined(file)
        if file.endswith(".py"):
            function = name if colon else "handler"
            return Source(
                path=path, function=function, is_async=self._is_async(path, function, signature_of(file_info))
            )
        if colon or not os.access(path, os.X_OK):
            raise _unloadable(f"{file} is neither a Python file nor executable", "chmod +x it, or name a .py file")
        return Source(path=path, function=None)

    def _confined(self, file: str) -> tuple[str, os.stat_result]:
        """Return the real path of a project-relative file, and its status; symlinks are resolved."""
        parts = file.split("/")
        if not file or "\0" in file or file.startswith("/") or ".." in parts:
            raise _unloadable(f"{file!r} is not a path inside the project", "handlers are project-relative paths")
        real, status = self._root, None
        try:
            for part in parts:
                real = f"{real}/{part}"
                status = os.lstat(real)
                if stat.S_ISLNK(status.st_mode):
                    return self._resolved(file)
        except OSError as error:
            kind = errors.Missing if isinstance(error, FileNotFoundError | NotADirectoryError) else errors.AttemptFailed
            raise kind(f"{file}: {error.strerror}", code="HANDLER_LOAD") from error
        if status is None or not stat.S_ISREG(status.st_mode):
            raise _unloadable(f"{file} is not a file", None)
        if real.startswith(self._not_code):
            if real.startswith(f"{self._project.data_dir}/"):
                raise _unloadable(f"{file} is in the data dir", "move the file")
            raise file_access.code_in_write_root(file)
        return real, status

    def _resolved(self, file: str) -> tuple[str, os.stat_result]:
        real = Path(os.path.realpath(self._project.root / file))
        if not real.is_relative_to(self._project.root) or real.is_relative_to(self._project.data_dir):
            raise _unloadable(f"{file} leads outside the project", "a handler may not be a link out of the project")
        if file_access.is_inside(real, self._written):
            raise file_access.code_in_write_root(file)
        if not real.is_file():
            raise _unloadable(f"{file} is not a file", None)
        return str(real), real.stat()

    def _is_async(self, path: str, function: str, now: Signature) -> bool:
        """True if the file itself says `async def function`; a worker runs everything else."""
        cache_entry = self._async.get((path, function))
        if cache_entry is None or cache_entry[0] != now:
            cache_entry = (now, _declares_async(path, function))
            self._async[(path, function)] = cache_entry
        return cache_entry[1]


def _declares_async(path: str, function: str) -> bool:
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False  # the worker tries to load it, and says what is wrong
    definitions = [
        node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function
    ]
    return bool(definitions) and isinstance(definitions[-1], ast.AsyncFunctionDef)


def _unloadable(message: str, hint: str | None) -> errors.AttemptFailed:
    return errors.AttemptFailed(message, code="HANDLER_LOAD", hint=hint, retryable=False)


# The digest of a project handler's code: its file, and the files of the project that it imports.


def code_digest(path: str, root: Path) -> str:
    """Return the digest of a handler's file, for Python with every file that it imports from the project."""
    digests: dict[str, Json] = {}
    for file, data in read_code(path, root).items():
        digests[os.path.relpath(file, root)] = canonical.digest_bytes(data)
    return canonical.digest(digests)


def read_code(path: str, root: Path) -> dict[str, bytes]:
    """Return the bytes of a handler's file, for Python with every file that it imports from the project, by path."""
    read: dict[str, bytes] = {}
    folders = (Path(path).parent, root)
    todo = [path]
    while todo:
        file = todo.pop()
        if file not in read:
            data = read[file] = Path(file).read_bytes()
            if file.endswith(".py"):
                todo.extend(_imported(data, Path(file), folders))
    return read


def _imported(data: bytes, file: Path, folders: tuple[Path, ...]) -> Iterator[str]:
    """Yield the files of the project that a module may import."""
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
    """Yield the files behind a dotted name: of each package on the way, and of the module at its end."""
    for folder in folders:
        path = folder
        for part in filter(None, parts):
            path = path / part
            for file in (path.with_suffix(".py"), path / "__init__.py"):
                if file.is_file():
                    yield str(file)
