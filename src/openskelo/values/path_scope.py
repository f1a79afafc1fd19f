"""The scope of a change: patterns of paths that are allowed, and of paths that are forbidden.

A pattern is a path with wildcards (`regex.compile_path`): `*` does not cross `/`, `**` does. The gate `scope` and
commands ask the same function.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from openskelo.structs import frozen
from openskelo.values import regex


@frozen
class PathScope:
    """The paths that may change."""

    #: Without any, everything may.
    allowed_paths: Sequence[str] = ()
    #: They win over the allowed ones.
    forbidden_paths: Sequence[str] = ()


def find_outside(scope: PathScope, paths: Iterable[str]) -> list[str]:
    """Return the paths that are not in the scope; raise InvalidInput REGEX_INVALID about a pattern.

    A path that is absolute, or that has a part `..`, is in no scope: its pattern would say nothing about its place.
    """
    allowed_patterns = [regex.compile_path(pattern) for pattern in scope.allowed_paths]
    forbidden_patterns = [regex.compile_path(pattern) for pattern in scope.forbidden_paths]

    def is_inside(path: str) -> bool:
        pure = PurePosixPath(path)
        if pure.is_absolute() or ".." in pure.parts:
            return False
        is_allowed = not allowed_patterns or any(pattern.fullmatch(path) for pattern in allowed_patterns)
        return is_allowed and not any(pattern.fullmatch(path) for pattern in forbidden_patterns)

    return [path for path in paths if not is_inside(path)]
