"""The scope of a change: patterns of paths that are allowed, forbidden and protected.

`find_outside` alone says whether a path is in a scope: the gate `scope` and `skelo check scope` call it. A path is in
the scope if it is written in its one form, an allowed pattern matches it, and no forbidden or protected one does.

A pattern is a path with wildcards (`regex.compile_path`): `*` does not cross `/`, `**` does. Allowed patterns are
compared as they are written. Forbidden and protected ones are compared without case and with look-alikes of Unicode
folded, because on some file systems `.ENV` is `.env`. So each comparison errs on the side of "outside".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from openskelo import errors
from openskelo.structs import frozen
from openskelo.values import regex

#: Files by which a change would reach beyond its own code.
PROTECTED_PATHS = (
    # What other code is derived from, and what runs on import.
    *("**/base.py", "**/__init__.py"),
    # Projects.
    *("**/pyproject.toml", "**/setup.py", "**/setup.cfg", "**/tox.ini", "**/pytest.ini", "**/noxfile.py"),
    *("**/package.json", "**/Cargo.toml", "**/go.mod", "**/Gemfile", "**/composer.json", "**/pom.xml", "**/*.gradle*"),
    *("**/Makefile", "**/skelo.yaml"),
    # Locks.
    *(
        "**/*.lock",
        "**/*-lock.json",
        "**/*-lock.y*ml",
        "**/requirements*.txt",
        "**/Pipfile",
        "**/go.sum",
        "**/bun.lockb",
    ),
    *("**/npm-shrinkwrap.json", "**/*.lockfile"),
    # CI, and hooks of git.
    *("**/.github/**", "**/.gitlab/**", "**/.gitlab-ci*", "**/.circleci/**", "**/.buildkite/**", "**/Jenkinsfile*"),
    *("**/.travis.y*ml", "**/azure-pipelines*", "**/bitbucket-pipelines.y*ml", "**/.drone.y*ml", "**/.woodpecker*"),
    *("**/.woodpecker/**", "**/.pre-commit-config.y*ml", "**/.husky/**"),
    # Containers.
    *("**/Dockerfile*", "**/*.Dockerfile", "**/Containerfile*", "**/docker-compose*", "**/compose.y*ml"),
    *("**/compose.*.y*ml", "**/.dockerignore"),
    # Environments.
    *("**/.env", "**/.env.*", "**/*.env", "**/.envrc"),
    # Databases.
    *("**/migrations/**", "**/alembic/**", "**/alembic.ini"),
    # Settings of git in the tree; everything in `.git` is outside of every scope.
    *("**/.gitmodules", "**/.gitattributes"),
)
_SHORT_GIT = re.compile(r"\.?git~[0-9]+")
#: Categories of characters that are invisible, or look like another one.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


@frozen
class PathScope:
    """The paths that may change."""

    #: None allows everything that is not forbidden or protected; an empty list allows nothing.
    allowed_paths: Sequence[str] | None = None
    #: They win over the allowed ones.
    forbidden_paths: Sequence[str] = ()
    #: They win over the allowed ones, too. They are not for the author of a change to choose.
    protected_paths: Sequence[str] = PROTECTED_PATHS
    max_changed_files: int | None = None


@frozen
class Outside:
    """A path that may not change."""

    path: str
    why: str


def find_outside(scope: PathScope, paths: Iterable[str]) -> list[Outside]:
    """Return the paths that are not in the scope.

    Raise InvalidInput REGEX_INVALID or SCOPE_PATTERN about a pattern.
    """
    allowed_paths = None if scope.allowed_paths is None else _compile(scope.allowed_paths)
    forbidden_paths = _compile(scope.forbidden_paths, folded=True)
    protected_paths = _compile(scope.protected_paths, folded=True)

    def find_reason(path: str) -> str | None:
        if (fault := find_fault(path)) is not None:
            return fault
        folded_path = fold(path)
        if (pattern := _first_match(protected_paths, folded_path)) is not None:
            return f"it is protected by {pattern!r}"
        if (pattern := _first_match(forbidden_paths, folded_path)) is not None:
            return f"it is forbidden by {pattern!r}"
        if allowed_paths is not None and _first_match(allowed_paths, path) is None:
            return "no allowed pattern matches it"
        return None

    reasons = ((path, find_reason(path)) for path in paths)
    return [Outside(path=path, why=why) for path, why in reasons if why is not None]


def find_fault(path: str) -> str | None:
    """Return why `path` is not in the one form in which a path is compared, or is in `.git`; None if it is fine.

    The form is relative, with single slashes and without `.` and `..`, in composed Unicode, and without what a file
    system may drop or read as something else: `src//x`, `src/./x` and `src/x.` may all be the file `src/x`.
    """
    if not path or path.startswith("/"):
        return "it is no relative path"
    if any(_is_unseen(character) for character in path):
        return "it has a character that cannot be seen"
    if "\\" in path or ":" in path:
        return "it has a backslash or a colon, which other systems read as something else than a name"
    if unicodedata.normalize("NFC", path) != path:
        return "it is not in the composed form of Unicode (NFC)"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return "it has an empty part, or a part `.` or `..`"
        if part.endswith((" ", ".")):
            return "a part of it ends with a space or a dot, which some file systems drop"
        if fold(part) == ".git" or _SHORT_GIT.fullmatch(fold(part)) is not None:
            return "it is in `.git`"
    return None


def fold(path: str) -> str:
    """Return a text that two paths have in common if some file system takes them for the same."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())


def _is_unseen(character: str) -> bool:
    category = unicodedata.category(character)
    return category in _UNSEEN or (category == "Zs" and character != " ")


def _compile(patterns: Iterable[str], *, folded: bool = False) -> list[tuple[str, regex.Pattern]]:
    return [(pattern, _compile_one(pattern, folded=folded)) for pattern in patterns]


def _compile_one(pattern: str, *, folded: bool) -> regex.Pattern:
    """Return the compiled pattern (InvalidInput SCOPE_PATTERN if no path can match it: it would forbid nothing)."""
    if not pattern or "\\" in pattern or any(part in ("", ".", "..") for part in pattern.split("/")):
        raise errors.InvalidInput(
            f"the pattern {pattern[:80]!r} matches no path",
            code="SCOPE_PATTERN",
            hint="a pattern is relative, without `.`, `..`, `//` or a slash at its end; `folder/**` is all of a folder",
        )
    return regex.compile_path(fold(pattern) if folded else pattern)


def _first_match(patterns: Iterable[tuple[str, regex.Pattern]], path: str) -> str | None:
    return next((text for text, pattern in patterns if pattern.fullmatch(path)), None)
