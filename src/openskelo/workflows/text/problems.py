"""A Problem: one thing wrong with a file, where it is, and what to do about it."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Collection
from typing import Literal, TypeAlias

from openskelo.kernel.json import Json
from openskelo.structs import frozen
from openskelo.values import json_pointer, suggestions
from openskelo.workflows.text.positions import Path, Position, locate, locate_key, locate_within

Severity = Literal["error", "warning"]
Hint: TypeAlias = "str | DidYouMean | None"

#: More Problems of one file help no reader; the last one then says how many are left out.
MAX_PROBLEMS = 200
#: How many Problems get a "did you mean": each search compares many names.
_MAX_HINTS = 20


@frozen
class Problem:
    """A mistake in a file, at its place."""

    file: str
    #: Counts from 1.
    line: int
    #: Counts from 1.
    column: int
    #: Stable.
    code: str
    message: str
    #: A JSON Pointer into the document.
    path: str = ""
    hint: str | None = None
    severity: Severity = "error"

    def document(self) -> dict[str, Json]:
        """Return the Problem as JSON; whether it is an error or a warning shows in the list that it is part of."""
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "code": self.code,
            "message": self.message,
            "path": self.path,
            "hint": self.hint,
        }

    def __str__(self) -> str:
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.file}:{self.line}:{self.column}: {self.code} {self.message}{hint}"


@frozen
class RunRead:
    """A use of `run.inputs.NAME` in an expression."""

    #: The place of the expression.
    path: Path
    #: None for all of `run.inputs`.
    name: str | None
    #: The line and column inside the expression, if known.
    position: tuple[int, int] | None


class Report:
    """Collects the Problems of one file while it is read. Reading goes on after a Problem, so the user sees them all.

    `run_reads` collects the uses of the run's inputs in expressions, which can only be checked at the end.
    """

    __slots__ = ("_positions", "_problems", "file", "run_reads")

    def __init__(self, *, file: str, positions: Position | None) -> None:
        self.file = file
        self._positions = positions
        self._problems: list[Problem] = []
        self.run_reads: list[RunRead] = []

    def error(self, path: Path, code: str, message: str, *, hint: Hint = None) -> None:
        """Add an error at the value at `path`: the file cannot be used."""
        self._add(path, locate(self._positions, path), code, message, hint)

    def error_at_key(self, path: Path, code: str, message: str, *, hint: Hint = None) -> None:
        """Add an error at the last key of `path`, not at its value."""
        self._add(path, locate_key(self._positions, path), code, message, hint)

    def error_within(
        self, path: Path, code: str, message: str, position: tuple[int, int] | None, *, hint: Hint
    ) -> None:
        """Add an error at a line and column (from 1) inside the string at `path`."""
        self._add(path, locate_within(self._positions, path, position), code, message, hint)

    def warn(self, path: Path, code: str, message: str, *, hint: Hint = None) -> None:
        """Add a warning at the value at `path`; the file still works."""
        place = locate(self._positions, path)
        self._problems.append(self._problem(path, place, code, message, hint, "warning"))

    def include(self, problems: tuple[Problem, ...]) -> None:
        """Add the Problems of another file that this one uses."""
        self._problems.extend(problems)

    @property
    def failed(self) -> bool:
        """True if any Problem so far is an error."""
        return any(problem.severity == "error" for problem in self._problems)

    def problems(self) -> tuple[Problem, ...]:
        """Return every Problem once, in the order of the file."""
        unique = sorted(dict.fromkeys(self._problems), key=lambda p: (p.file != self.file, p.file, p.line, p.column))
        if len(unique) <= MAX_PROBLEMS:
            return tuple(unique)
        rest = f"{len(unique) - MAX_PROBLEMS} more Problems are not shown"
        unique.sort(key=lambda p: p.severity != "error")
        return (
            *unique[:MAX_PROBLEMS],
            self._problem((), (1, 1), "TOO_MANY_PROBLEMS", rest, "fix these first", "error"),
        )

    def _add(self, path: Path, place: tuple[int, int], code: str, message: str, hint: Hint) -> None:
        self._problems.append(self._problem(path, place, code, message, hint, "error"))

    def _problem(
        self, path: Path, place: tuple[int, int], code: str, message: str, hint: Hint, severity: Severity
    ) -> Problem:
        if isinstance(hint, DidYouMean):
            hint = hint.text() if len(self._problems) < _MAX_HINTS else hint.otherwise
        line, column = place
        return Problem(
            file=self.file,
            line=line,
            column=column,
            code=code,
            message=message,
            path=json_pointer.of(path),
            hint=hint,
            severity=severity,
        )


# A search for a similar name compares many names, and a file may have thousands of mistakes. So a Problem gets a
# `DidYouMean`, and its report searches only for as many Problems as it shows.

#: How many names of a folder are compared.
_MAX_NAMES = 500


@frozen
class DidYouMean:
    """A hint whose search is still to be done."""

    name: str
    names: Collection[str]
    otherwise: str | None = None

    def text(self) -> str | None:
        """Return the hint."""
        return suggestions.did_you_mean(self.name, self.names, otherwise=self.otherwise)


def did_you_mean(name: str, names: Collection[str], *, otherwise: str | None = None) -> DidYouMean:
    """Return a hint for a Problem: the most similar of `names`, or `otherwise`."""
    return DidYouMean(name=name, names=names, otherwise=otherwise)


def similar_path(
    path: pathlib.Path, written: str, *, accept: Callable[[pathlib.Path], bool] = pathlib.Path.is_file
) -> str | None:
    """Return a hint with a path beside `path` that has a similar name, spelled as in `written`; None without one.

    A name without its ending counts as similar. `accept` says which entries of the folder may be suggested.
    """
    try:
        names = sorted(entry.name for entry in path.parent.iterdir() if accept(entry))[:_MAX_NAMES]
    except (OSError, ValueError):
        return None
    with_ending = (name for name in names if path.name and name.startswith(f"{path.name}."))
    similar = next(with_ending, None) or suggestions.name_like(path.name, names)
    if similar is None or suggestions.name_like(_without_endings(path.name), [_without_endings(similar)]) is None:
        return None  # names with only the ending in common are not similar
    folder, slash, _ = written.rstrip("/").rpartition("/")
    return f"did you mean {folder + slash + similar!r}?"


def _without_endings(name: str) -> str:
    return name.partition(".")[0]
