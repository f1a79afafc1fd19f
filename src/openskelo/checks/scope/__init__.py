"""Checks that a repository has changed only where it may: `check` compares its files with a commit.

    changes     what differs from the commit: files, links, modes, submodules
    report      what was found

A change is outside of the scope by its path (`values.path_scope`, which the gate `scope` uses, too) or by what it is: a
link that leads elsewhere, another mode, something in a submodule, a file with a second name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from openskelo.checks import json_files
from openskelo.checks.scope import changes as scope_changes
from openskelo.checks.scope.changes import Change
from openskelo.checks.scope.report import OutsideChange, Report
from openskelo.programs import git
from openskelo.structs import frozen
from openskelo.values import path_scope


@frozen
class _Allowlist:
    """The format of an allowlist."""

    allowed_paths: tuple[str, ...]
    forbidden_paths: tuple[str, ...] = ()
    max_changed_files: int | None = None


def read_allowlist(path: Path, protected_paths: Sequence[str] = path_scope.PROTECTED_PATHS) -> path_scope.PathScope:
    """Return the scope that a file says; raise InvalidInput ALLOWLIST_INVALID, NotFound PATH_NOT_FOUND."""
    allowlist = json_files.read(path, _Allowlist, "ALLOWLIST_INVALID")
    return path_scope.PathScope(
        allowed_paths=allowlist.allowed_paths,
        forbidden_paths=allowlist.forbidden_paths,
        protected_paths=protected_paths,
        max_changed_files=allowlist.max_changed_files,
    )


async def check(
    folder: Path, scope: path_scope.PathScope, *, base: str = "HEAD", allowlist: Path | None = None
) -> Report:
    """Return what has changed in the repository since `base`, and what of it may not.

    `allowlist` is the file that says the scope: a change of it is never in the scope. Raise NotFound PATH_NOT_FOUND or
    REVISION_NOT_FOUND, InvalidInput about a pattern, or AttemptFailed: GIT_FAILED, GIT_MISSING, GIT_REVISION.
    """
    path_scope.find_outside(scope, ())  # wrong patterns are found before anything is compared
    commit, changes = await scope_changes.find_changes(folder, base)
    return Report(
        base=commit,
        changes=tuple(changes),
        outside=tuple(_find_outside(scope, changes, _path_inside(folder, allowlist))),
        max_changed_files=scope.max_changed_files,
    )


def _find_outside(
    scope: path_scope.PathScope, changes: Sequence[Change], own_path: str | None
) -> Iterator[OutsideChange]:
    paths = [change.path for change in changes] + [change.target for change in changes if change.target is not None]
    reasons = {outside.path: outside.why for outside in path_scope.find_outside(scope, paths)}
    for change in changes:
        why = _reason(change, reasons, own_path)
        if why is not None:
            yield OutsideChange(file=git.printable(change.path), change=change.kind, why=why)


def _reason(change: Change, reasons: dict[str, str], own_path: str | None) -> str | None:
    if change.path == own_path:
        return "it is the allowlist itself"
    if change.path in reasons:
        return reasons[change.path]
    if change.fault is None and change.target in reasons:
        return f"it is a link to {git.printable(change.target)!r}: {reasons[change.target]}"
    return change.fault


def _path_inside(folder: Path, file: Path | None) -> str | None:
    """Return the path of a file from the folder; None if it is elsewhere."""
    if file is None:
        return None
    real, root = Path(os.path.realpath(file)), folder.resolve()
    return real.relative_to(root).as_posix() if real.is_relative_to(root) else None
