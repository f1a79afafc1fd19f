"""Runs git for reading: an argument list, nothing of the user's own settings, and never above the named folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

from openskelo import errors
from openskelo.executors import limit, process
from openskelo.handlers import place

#: A revision or a range of them: never an option, never a path.
REVISIONS = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_./~^@{}-]{0,199}\Z")
TIMEOUT_MS = 30_000
_TAIL = 600


def folder_of(named: str, where: place.Place) -> Path:
    """The folder of a repository, from the project's root and inside of what it may read (DET_PATH_INVALID)."""
    if place.absolute(named, where) == where.root:
        return where.root
    return place.confined(named, place.readable_roots(where), where)[0]


async def run(
    folder: Path, *args: str, stdin: bytes = b"", timeout_ms: int = TIMEOUT_MS, max_bytes: int = 8 * 1024 * 1024
) -> process.Finished:
    """How `git ARGS` ended in `folder`; AttemptFailed GIT_MISSING, TIMEOUT, OUTPUT_TOO_LARGE."""
    program = process.Program(
        argv=("git", "--no-pager", "-c", "core.quotePath=false", *args),
        folder=folder,
        stdin=stdin,
        environment={
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",  # reading must not write into .git
            "GIT_CEILING_DIRECTORIES": str(folder.parent),  # a repository around this one is not meant
            "LC_ALL": "C",
        },
        max_bytes=max_bytes,
    )
    try:
        return await limit.within(timeout_ms, process.run(program))
    except FileNotFoundError as error:
        if error.filename != "git":  # it was the folder that is not there
            raise _no_repository(folder) from error
        raise errors.AttemptFailed(
            "git is not installed, or not on the PATH", code="GIT_MISSING", hint="install git", retryable=False
        ) from error
    except OSError as error:
        raise errors.AttemptFailed(f"git cannot be started: {error.strerror}", code="GIT_MISSING") from error


async def read(folder: Path, *args: str, timeout_ms: int = TIMEOUT_MS, max_bytes: int = 8 * 1024 * 1024) -> str:
    """What `git ARGS` says; AttemptFailed GIT_FAILED with its own words when it does not end well."""
    finished = await run(folder, *args, timeout_ms=timeout_ms, max_bytes=max_bytes)
    if finished.status != 0:
        raise failed(args[0], finished)
    return finished.stdout.decode("utf-8", "replace")


async def check_repository(folder: Path) -> None:
    """Nothing when `folder` is the top of a git repository, else AttemptFailed GIT_FAILED."""
    finished = await run(folder, "rev-parse", "--is-inside-work-tree")
    if finished.status != 0 or finished.stdout.strip() != b"true":
        raise _no_repository(folder, said(finished))


def check_revisions(text: str) -> str:
    """`text`, when it can only be a revision or a range (AttemptFailed GIT_REVISION)."""
    if not REVISIONS.match(text):
        raise errors.AttemptFailed(
            f"{text[:80]!r} does not name revisions",
            code="GIT_REVISION",
            hint="like HEAD~1..HEAD or main...feature",
            retryable=False,
        )
    return text


def said(finished: process.Finished) -> str:
    """The end of what git complained about."""
    return finished.stderr.decode("utf-8", "replace").strip()[-_TAIL:]


def failed(what: str, finished: process.Finished) -> errors.AttemptFailed:
    """The failure for a git command that did not end well."""
    return errors.AttemptFailed(f"git {what} failed: {said(finished)}", code="GIT_FAILED", retryable=False)


def _no_repository(folder: Path, why: str = "") -> errors.AttemptFailed:
    return errors.AttemptFailed(
        f"{folder.name!r} is not the top folder of a git repository{': ' + why if why else ''}",
        code="GIT_FAILED",
        hint="name the repository with `repo`, from the project's root",
        retryable=False,
    )
