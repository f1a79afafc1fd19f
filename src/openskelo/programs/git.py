"""Run git: an argument vector, none of the user's own settings, no hooks, and never above the named folder."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from openskelo import errors
from openskelo.handlers import file_access
from openskelo.programs import program as processes_program
from openskelo.programs import time_limit

#: A revision or a range of them: never an option, never a path.
REVISIONS = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_./~^@{}-]{0,199}\Z")
TIMEOUT_MS = 30_000
#: Stronger than the repository's own config: no program that it names is started for a look at the files, and a folder
#: without `.git`, which data could have written file by file, is no repository.
_SETTINGS = (
    *("-c", "core.quotePath=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "safe.bareRepository=explicit"),
)
_TAIL = 600


def folder_of(named: str, where: file_access.Access) -> Path:
    """Return the folder of a repository, named from the project's root; raise DET_PATH_INVALID outside the roots.

    The settings of a repository name programs, so one in a write root is refused (CODE_IN_WRITE_ROOT).
    """
    if file_access.absolute_path(named, where) == where.root:
        return where.root
    folder = file_access.resolve_inside(named, file_access.readable_roots(where), where)[0]
    if file_access.is_inside(folder, file_access.writable_roots(where.root, where.write_roots)):
        raise file_access.code_in_write_root(named)
    return folder


async def run(
    folder: Path,
    *args: str,
    stdin: bytes = b"",
    timeout_ms: int = TIMEOUT_MS,
    max_bytes: int = 8 * 1024 * 1024,
    environment: Mapping[str, str] | None = None,
) -> processes_program.Finished:
    """Return how `git ARGS` ended in `folder`; raise AttemptFailed GIT_MISSING, TIMEOUT, OUTPUT_TOO_LARGE."""
    program = processes_program.Program(
        argv=("git", "--no-pager", *_SETTINGS, *args),
        folder=folder,
        stdin=stdin,
        environment={
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",  # reading must not write into .git
            "GIT_CEILING_DIRECTORIES": str(folder.parent),  # a repository around this one is not meant
            "LC_ALL": "C",
            **(environment or {}),
        },
        max_bytes=max_bytes,
    )
    try:
        return await time_limit.within(timeout_ms, processes_program.run(program))
    except FileNotFoundError as error:
        if error.filename != "git":  # the folder does not exist
            raise _no_repository(folder) from error
        raise errors.AttemptFailed(
            "git is not installed, or not on the PATH", code="GIT_MISSING", hint="install git", retryable=False
        ) from error
    except OSError as error:
        raise errors.AttemptFailed(f"git cannot be started: {error.strerror}", code="GIT_MISSING") from error


async def read(
    folder: Path,
    *args: str,
    timeout_ms: int = TIMEOUT_MS,
    max_bytes: int = 8 * 1024 * 1024,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Return what `git ARGS` prints; raise AttemptFailed GIT_FAILED with its own words if it fails."""
    result = await run(folder, *args, timeout_ms=timeout_ms, max_bytes=max_bytes, environment=environment)
    if result.status != 0:
        raise failed(args[0], result)
    return result.stdout.decode("utf-8", "replace")


async def read_fields(folder: Path, *args: str, environment: Mapping[str, str] | None = None) -> list[str]:
    """Return the fields that `git ARGS -z` prints; names of files that are not UTF-8 can still be opened."""
    result = await run(folder, *args, environment=environment, max_bytes=64 * 1024 * 1024)
    if result.status != 0:
        raise failed(args[0], result)
    return split_fields(result.stdout)


def split_fields(output: bytes) -> list[str]:
    """Return the fields of an output that ends each of them with a NUL."""
    return output.decode("utf-8", "surrogateescape").split("\0")[:-1]


def printable(name: str) -> str:
    """Return the name of a file as text for people and JSON."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


async def check_repository(folder: Path) -> None:
    """Raise AttemptFailed GIT_FAILED unless `folder` is the top of a git repository."""
    result = await run(folder, "rev-parse", "--is-inside-work-tree")
    if result.status != 0 or result.stdout.strip() != b"true":
        raise _no_repository(folder, said(result))


def check_revisions(text: str) -> str:
    """Return `text`; raise AttemptFailed GIT_REVISION if it may be anything but a revision or a range."""
    if not REVISIONS.match(text):
        raise errors.AttemptFailed(
            f"{text[:80]!r} does not name revisions",
            code="GIT_REVISION",
            hint="like HEAD~1..HEAD or main...feature",
            retryable=False,
        )
    return text


def said(finished: processes_program.Finished) -> str:
    """Return the end of git's error output."""
    return finished.stderr.decode("utf-8", "replace").strip()[-_TAIL:]


def failed(what: str, finished: processes_program.Finished) -> errors.AttemptFailed:
    """Return the failure of a git command."""
    return errors.AttemptFailed(f"git {what} failed: {said(finished)}", code="GIT_FAILED", retryable=False)


def _no_repository(folder: Path, why: str = "") -> errors.AttemptFailed:
    return errors.AttemptFailed(
        f"{folder.name!r} is not the top folder of a git repository{': ' + why if why else ''}",
        code="GIT_FAILED",
        hint="name the repository with `repo`, from the project's root",
        retryable=False,
    )
