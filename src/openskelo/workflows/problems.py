"""A Problem: one thing wrong with a file, where it is, and what to do about it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from openskelo.frozen import frozen
from openskelo.kernel.json import Json
from openskelo.values import pointer
from openskelo.workflows import spots, suggest

Severity = Literal["error", "warning"]
Hint: TypeAlias = "str | suggest.Near | None"

#: A file this wrong is not read by anyone to the end; the last Problem then says how it was cut.
MOST = 200
#: Suggestions are looked for only so long: each compares many names.
_MOST_HINTS = 100


@frozen
class Problem:
    """`line` and `column` count from 1; `path` is a JSON Pointer into the document; `code` is stable."""

    file: str
    line: int
    column: int
    code: str
    message: str
    path: str = ""
    hint: str | None = None
    severity: Severity = "error"

    def document(self) -> dict[str, Json]:
        """As JSON, for programs; warnings and errors are told apart by where they are listed."""
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
    """`run.inputs.NAME` in an expression under `path`, at a line and column in it if known; without a name, all."""

    path: spots.Path
    name: str | None
    position: tuple[int, int] | None


class Report:
    """Collects the Problems of one file while it is read; reading goes on after a Problem, so that all are found.

    `run_reads` is what its expressions read of the run's inputs, which are only known at the end.
    """

    __slots__ = ("_problems", "_root", "file", "run_reads")

    def __init__(self, *, file: str, root: spots.Spot | None) -> None:
        self.file = file
        self._root = root
        self._problems: list[Problem] = []
        self.run_reads: list[RunRead] = []

    def error(self, path: spots.Path, code: str, message: str, *, hint: Hint = None) -> None:
        """Something at the value under `path` makes the file unusable."""
        self._add(path, spots.locate(self._root, path), code, message, hint)

    def error_at_key(self, path: spots.Path, code: str, message: str, *, hint: Hint = None) -> None:
        """As `error`, pointing at the last key of `path` and not at its value."""
        self._add(path, spots.locate_key(self._root, path), code, message, hint)

    def error_within(
        self, path: spots.Path, code: str, message: str, position: tuple[int, int] | None, *, hint: Hint
    ) -> None:
        """As `error`, pointing at a line and column (from 1) inside the text under `path`."""
        self._add(path, spots.locate_within(self._root, path, position), code, message, hint)

    def warn(self, path: spots.Path, code: str, message: str, *, hint: Hint = None) -> None:
        """Something the author will want to know; the file still works."""
        place = spots.locate(self._root, path)
        self._problems.append(self._problem(path, place, code, message, hint, "warning"))

    def include(self, problems: tuple[Problem, ...]) -> None:
        """Take over the Problems of another file that this one uses."""
        self._problems.extend(problems)

    @property
    def failed(self) -> bool:
        """Whether any Problem so far is an error."""
        return any(problem.severity == "error" for problem in self._problems)

    def problems(self) -> tuple[Problem, ...]:
        """Every Problem found, in the order of the file, each once."""
        found = sorted(dict.fromkeys(self._problems), key=lambda p: (p.file != self.file, p.file, p.line, p.column))
        if len(found) <= MOST:
            return tuple(found)
        rest = f"{len(found) - MOST} more Problems are not shown"
        found.sort(key=lambda p: p.severity != "error")
        return (*found[:MOST], self._problem((), (1, 1), "TOO_MANY_PROBLEMS", rest, "repair these first", "error"))

    def _add(self, path: spots.Path, place: tuple[int, int], code: str, message: str, hint: Hint) -> None:
        self._problems.append(self._problem(path, place, code, message, hint, "error"))

    def _problem(
        self, path: spots.Path, place: tuple[int, int], code: str, message: str, hint: Hint, severity: Severity
    ) -> Problem:
        if isinstance(hint, suggest.Near):
            hint = hint.text() if len(self._problems) < _MOST_HINTS else hint.otherwise
        line, column = place
        return Problem(
            file=self.file,
            line=line,
            column=column,
            code=code,
            message=message,
            path=pointer.of(path),
            hint=hint,
            severity=severity,
        )
