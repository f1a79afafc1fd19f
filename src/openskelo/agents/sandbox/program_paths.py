"""The files that a program needs to start: its own folder, its interpreter, and what both of them link to.

A sandbox shows a program little more than the system's own folders. So what an agent's program needs has to be found
beforehand: a `command` may be a script in a folder of npm, run by a Node that was unpacked somewhere else.

    .bin/agent ──link──> lib/agent.js ──#!/usr/bin/env node──> ~/node/bin/node, ~/node/lib
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

#: Folders of the operating system. A sandbox shows them as they are, without anything of a user.
SYSTEM = tuple(Path(name) for name in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"))
_MAX_LINKS = 40
_MAX_INTERPRETERS = 4
#: Beside `bin`, where an interpreter has its own files.
_BESIDE_BIN = ("lib", "lib64", "libexec", "pyvenv.cfg")
_SHEBANG_BYTES = 256


def find(program: str, folder: Path, search: str) -> Path | None:
    """Return the path of a program as `folder` and the search path give it; links in it stay. None if not found."""
    if os.sep in program:
        path = Path(os.path.normpath(folder / program))
        return path if path.is_file() and os.access(path, os.X_OK) else None
    program_path = shutil.which(program, path=search)
    return None if program_path is None else Path(os.path.abspath(program_path))  # noqa: PTH100 -- `resolve` would follow links


def needed_by(program: Path, search: str, private: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders and files outside of the system's folders that the program needs.

    None of them holds one of `private`: in such a folder only the file itself is taken.
    """
    needed_paths: dict[Path, None] = {}
    waiting = [program]
    for _ in range(_MAX_INTERPRETERS):
        if not waiting:
            break
        current = waiting.pop()
        for path in _follow_links(current):
            if not is_below(path, SYSTEM):
                needed_paths.update(dict.fromkeys(_around(path, private)))
        waiting += _interpreter(current, search)
    return tuple(needed_paths)


def is_below(path: Path, folders: Sequence[Path]) -> bool:
    """True if the path is one of the folders, or in one of them."""
    return any(path.is_relative_to(folder) for folder in folders)


def _follow_links(path: Path) -> Iterator[Path]:
    """Yield the path, each path that it links to, and the real path."""
    yield path
    for _ in range(_MAX_LINKS):
        if not path.is_symlink():
            break
        path = Path(os.path.normpath(path.parent / path.readlink()))
        yield path
    yield path.resolve()


def _around(path: Path, private: Sequence[Path]) -> Iterator[Path]:
    """Yield what belongs to a program: its npm folder, its prefix, or else the folder it is in."""
    if "node_modules" in path.parts:
        yield Path(*path.parts[: path.parts.index("node_modules") + 1])
        return
    folder = path.parent
    if folder.name in ("bin", "sbin"):
        beside = (folder.parent / name for name in _BESIDE_BIN)
        yield from (name for name in (folder, *beside) if name.exists() and not _holds(name, private))
    yield path if _holds(folder, private) else folder


def _holds(folder: Path, private: Sequence[Path]) -> bool:
    """True if one of the private folders is in this one."""
    return any(other.is_relative_to(folder) for other in private)


def _interpreter(program: Path, search: str) -> list[Path]:
    """Return the program that a script names in its first line."""
    try:
        with program.open("rb") as file:
            line = file.read(_SHEBANG_BYTES).partition(b"\n")[0]
    except OSError:
        return []
    if not line.startswith(b"#!"):
        return []
    words = line[2:].decode("utf-8", "replace").split()
    names = words[:1]
    if words and Path(words[0]).name == "env":
        names = [word for word in words[1:] if not word.startswith("-") and "=" not in word][:1]
    candidates = [find(name, Path("/"), search) for name in names]
    return [path for path in candidates if path is not None]


def named_in(words: Sequence[str], private: Sequence[Path]) -> tuple[Path, ...]:
    """Return the files and folders that arguments of a program name with whole paths: a script, a file of settings."""
    paths = [Path(os.path.normpath(word)) for word in words if word.startswith(os.sep) and "\0" not in word]
    return tuple(path for path in paths if path.exists() and not _holds(path, private))
