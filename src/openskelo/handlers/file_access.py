"""Limit the files that a handler may reach, and keep paths from data inside the project's roots.

A path from data is resolved (`resolve_inside`) and must lie beneath a root that the project allows. Between that check
and the use of the path a folder could be replaced by a symlink. So the folder is opened from its root one part at a
time without following links (`open_folder_beneath`), and files are opened relative to that descriptor.

Data may choose names and content of files, so what it writes is never code. Two rules keep both apart: a write root
holds no code (`reason_against_write_root`), and nothing inside a write root is loaded as a handler, a module or a
workflow (`is_inside`, asked by the loaders) or started as a program (`find_planted`, `check_program`). A program that
searches the project for code is its author's; only pytest is kept out of the write roots (`hide_from_pytest`).
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from openskelo import errors

#: Names that a path from data must not contain at any depth below a root: a project's settings, its runs, and a
#: repository's history and hooks. Compared without case, because some file systems ignore it.
_GUARDED_NAMES = frozenset({"skelo.yaml", ".skelo", ".git"})
#: The write root of a project that declares none.
DEFAULT_WRITE_ROOT = "out"
#: Programs that run the program which their arguments name first.
_WRAPPERS = frozenset({"env", "nice", "timeout", "uv", "npx"})
#: Programs that run the file which their arguments name first, and those that run such a program.
_INTERPRETER = re.compile(
    rf"(python|pypy|node|deno|bun|tsx|ruby|perl|php|lua|Rscript|[bdkz]?a?sh|{'|'.join(sorted(_WRAPPERS))})[0-9.]*\Z"
)
#: Options of interpreters whose next word is code or the name of a module, no file.
_CODE_FOLLOWS = frozenset({"-c", "-e", "-m", "--eval"})
#: Files of every data dir.
_DATA_DIR_FILES = ("version", "log.db")
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Access(Protocol):
    """The folders and switches that the project allows its handlers; all paths are real and absolute.

    `openskelo.project.Project` implements it.
    """

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


def writable_roots(root: Path, declared: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders of a project that data may name for writing: the declared ones, or `out/` without any."""
    return tuple(declared) or (Path(os.path.realpath(root / DEFAULT_WRITE_ROOT)),)


def is_inside(path: Path, roots: Sequence[Path]) -> bool:
    """True if the real `path` is one of the folders or is inside one."""
    return any(path.is_relative_to(root) for root in roots)


def is_in_data_dir(path: Path, root: Path, data_dir: Path) -> bool:
    """True if the real `path` is in the data dir, or in a folder of the project that is one.

    An option or the environment names a data dir for one command. The next command does not know it, and it still
    holds what runs have written.
    """
    folders = (folder for folder in (path, *path.parents) if folder.is_relative_to(root))
    return path.is_relative_to(data_dir) or any(
        all(_is_file(folder / name) for name in _DATA_DIR_FILES) for folder in folders
    )


def _is_file(path: Path) -> bool:
    """True if a file is there; False also if a name in the path is longer than the system takes."""
    try:
        return path.is_file()
    except OSError:
        return False


def find_planted(argv: Sequence[str], folder: Path, roots: Sequence[Path]) -> str | None:
    """Return the word of `argv` that would run a file of a write root: the program, or the script of an interpreter.

    None if no word does. Words after a script are its own arguments, and may be data.
    """
    program = "" if not argv or "\0" in argv[0] else argv[0]
    program_path = program if os.sep in program else shutil.which(program)
    if program_path is not None and is_inside(Path(os.path.realpath(folder / program_path)), roots):
        return program
    if not _INTERPRETER.match(Path(program).name):
        return None
    for before, word in itertools.pairwise(argv):
        if word in _CODE_FOLLOWS or "\0" in word:
            return None
        script = Path(os.path.realpath(folder / (word.rpartition("=")[2] if word.startswith("-") else word)))
        if is_inside(script, roots):
            return word
        if _is_file(script) and not _INTERPRETER.match(script.name):
            return None
        program = Path(word).name if _INTERPRETER.match(Path(word).name) else program
        if Path(program).name in _WRAPPERS and not before.startswith("-") and _is_other_program(word):
            return None  # what follows are its arguments
    return None


def _is_other_program(word: str) -> bool:
    return not _INTERPRETER.match(Path(word).name) and shutil.which(word) is not None


def hide_from_pytest(roots: Sequence[Path]) -> dict[str, str]:
    """Return the variable of the environment that keeps pytest, which searches a project for tests, out of the roots.

    The command may run pytest in any way: by a script, a wrapper or a makefile.
    """
    return {"PYTEST_ADDOPTS": shlex.join(f"--ignore={root}" for root in roots)}


def check_program(argv: Sequence[str], folder: Path, access: Access) -> None:
    """Raise AttemptFailed CODE_IN_WRITE_ROOT if data may have written the program, its script, or into its folder."""
    roots = writable_roots(access.root, access.write_roots)
    planted_in = find_planted(argv, folder, roots)
    if planted_in is None and is_inside(Path(os.path.realpath(folder)), roots):
        planted_in = str(folder)
    if planted_in is not None:
        raise code_in_write_root(planted_in)


def code_in_write_root(name: str) -> errors.AttemptFailed:
    """Return the failure for code that data may have written; it is never retried."""
    return errors.AttemptFailed(
        f"{name[:80]!r} is in a folder that data may write to, so it is not run",
        code="CODE_IN_WRITE_ROOT",
        hint="move it, or name other `write_roots` in skelo.yaml",
        retryable=False,
    )


def reason_against_write_root(folder: Path, root: Path, data_dir: Path) -> str | None:
    """Return why data may not be written to `folder`; None when it may.

    A file that data has written there could be loaded as code, or as the project's settings or record.
    """
    if root.is_relative_to(folder):
        return "it holds the project itself"
    if data_dir.is_relative_to(folder) or folder.is_relative_to(data_dir):
        return "the project's runs are there"
    if _is_guarded(folder, root):
        return "it is part of the project's own data"
    packages = [Path(entry) for entry in sys.path if entry]
    package_folders = [Path(os.__file__).parent, *(path for path in packages if path.name.endswith("-packages"))]
    if is_inside(folder, package_folders) or any(path.is_relative_to(folder) for path in packages):
        return "Python loads code from there"
    return None


def readable_roots(access: Access) -> tuple[Path, ...]:
    """Return the folders that data may name for reading: the project, its read roots, and its write roots."""
    return (access.root, *access.read_roots, *access.write_roots)


def invalid_path(message: str, *, hint: str | None = None) -> errors.AttemptFailed:
    """Return the failure for a path that cannot be used; it is never retried."""
    return errors.AttemptFailed(message, code="DET_PATH_INVALID", hint=hint, retryable=False)


def absolute_path(text: str, access: Access) -> Path:
    """Return `text` as an absolute path, relative ones from the project's root; links are not resolved."""
    if not text or "\0" in text:
        raise invalid_path("the path is empty or holds a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise invalid_path("the path is not valid Unicode") from None
    return access.root / text


def resolve_writable(text: str, access: Access) -> tuple[Path, Path]:
    """Return the real path that data names for writing, and the write root that holds it.

    Raise AttemptFailed DET_PATH_INVALID.
    """
    real, root = resolve_inside(text, writable_roots(access.root, access.write_roots), access)
    if (reason := reason_against_write_root(root, access.root, access.data_dir)) is not None:
        raise invalid_path(f"data may not be written to {str(root)!r}: {reason}", hint=f"use {DEFAULT_WRITE_ROOT}/")
    return real, root


def resolve_inside(text: str, roots: Sequence[Path], access: Access) -> tuple[Path, Path]:
    """Return the real path that `text` names, and the root that holds it (AttemptFailed DET_PATH_INVALID)."""
    try:
        real = Path(os.path.realpath(absolute_path(text, access)))
    except (OSError, ValueError) as error:
        raise invalid_path(f"the path cannot be resolved: {error.__class__.__name__}") from error
    within = [root for root in roots if real != root and real.is_relative_to(root)]
    is_guarded = any(_is_guarded(real, root) for root in (access.root, *within))
    if is_guarded or is_in_data_dir(real, access.root, access.data_dir):
        raise invalid_path("the path leads into the project's own data", hint="choose a path outside of it")
    if within:
        return real, within[0]
    raise invalid_path(
        "the path leads outside the folders that this project allows",
        hint=f"a path from data stays inside the roots that skelo.yaml names, or {DEFAULT_WRITE_ROOT}/ for writing",
    )


def _is_guarded(path: Path, root: Path) -> bool:
    return path.is_relative_to(root) and any(part.casefold() in _GUARDED_NAMES for part in path.relative_to(root).parts)


@contextmanager
def open_folder_beneath(root: Path, folder: Path, *, create: bool) -> Generator[int]:
    """Open a descriptor of `folder`, reached from `root` without following a symlink (DET_PATH_INVALID).

    `create` makes missing folders, the root included.
    """
    if create and not root.exists():
        _create_folders(root, 0o777)
    try:
        current = os.open(root, _OPEN_FOLDER)
    except (NotADirectoryError, FileNotFoundError) as error:
        raise invalid_path(f"the folder {str(root)!r} does not exist or is not a folder") from error
    try:
        for part in folder.relative_to(root).parts:
            if create:
                _create_folder(part, current)
            try:
                below = os.open(part, _OPEN_FOLDER | os.O_NOFOLLOW, dir_fd=current)
            except (NotADirectoryError, FileNotFoundError) as error:
                raise invalid_path(f"the folder {part!r} does not exist or is not a folder") from error
            os.close(current)
            current = below
        yield current
    finally:
        os.close(current)


@contextmanager
def open_folder(folder: Path, *, create: bool, mode: int = 0o777) -> Generator[int]:
    """Open a descriptor of a folder that the author named; `create` makes it when it is missing."""
    try:
        if create:
            _create_folders(folder, mode)
        descriptor = os.open(folder, _OPEN_FOLDER)
    except (NotADirectoryError, FileExistsError, FileNotFoundError) as error:
        raise invalid_path(f"the folder {str(folder)!r} does not exist or is not a folder") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def stat_regular(name: str, folder: int) -> os.stat_result | None:
    """Return the status of the regular file `name` in the open folder; None when there is no such file.

    AttemptFailed DET_PATH_INVALID when `name` is something else.
    """
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise invalid_path(f"{name!r} exists and is not a regular file")
    return status


def _create_folders(folder: Path, mode: int) -> None:
    """Create the folder and its missing parents, each one synced into its parent."""
    missing = [level for level in (folder, *folder.parents) if not level.exists()]
    for level in reversed(missing):
        level.mkdir(mode=mode, exist_ok=True)
        parent = os.open(level.parent, _OPEN_FOLDER)
        try:
            os.fsync(parent)
        finally:
            os.close(parent)
    if not missing and not folder.is_dir():
        raise NotADirectoryError(str(folder))


def _create_folder(part: str, parent: int) -> None:
    try:
        os.mkdir(part, dir_fd=parent)
    except FileExistsError:
        return
    os.fsync(parent)
