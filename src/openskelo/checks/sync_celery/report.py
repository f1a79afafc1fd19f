"""The findings of the check, and their JSON document."""

from __future__ import annotations

from openskelo.kernel.json import Json
from openskelo.structs import as_dict, frozen


@frozen
class Violation:
    """Code that must not run in a synchronous worker; lines and columns count from 1."""

    file: str
    line: int
    #: In characters.
    column: int
    end_line: int
    code: str
    message: str
    hint: str

    def document(self) -> dict[str, Json]:
        """Return the violation as JSON."""
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "endLine": self.end_line,
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
        }


@frozen
class Suppressed:
    """A finding that a comment `# sync-ok: REASON` in its line accepts."""

    file: str
    line: int
    code: str
    reason: str


@frozen
class Unreadable:
    """A file that could not be checked, and so is not clean."""

    file: str
    line: int
    message: str


@frozen
class Report:
    """The result of a check."""

    #: The number of files that were checked.
    files: int
    violations: tuple[Violation, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()

    @property
    def ok(self) -> bool:
        """True if every file was read and none has a violation."""
        return not self.violations and not self.unreadable

    def document(self) -> dict[str, Json]:
        """Return the report as JSON, as `skelo check sync-celery --json` prints it."""
        return {
            "ok": self.ok,
            "files": self.files,
            "violations": [violation.document() for violation in self.violations],
            "suppressed": [as_dict(suppressed) for suppressed in self.suppressed],
            "unreadable": [as_dict(unreadable) for unreadable in self.unreadable],
        }
