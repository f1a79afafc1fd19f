"""The findings of the check, and their JSON document."""

from __future__ import annotations

from collections.abc import Iterator

from openskelo.checks.scope.changes import Change
from openskelo.kernel.json import Json
from openskelo.programs import git
from openskelo.structs import as_dict, frozen


@frozen
class OutsideChange:
    """A change that may not be."""

    file: str
    change: str
    why: str


@frozen
class Report:
    """The result of a check."""

    #: The commit; empty in a repository without commits.
    base: str
    changes: tuple[Change, ...] = ()
    outside: tuple[OutsideChange, ...] = ()
    max_changed_files: int | None = None

    @property
    def is_too_large(self) -> bool:
        """True if more files have changed than may. A renamed file counts twice."""
        return self.max_changed_files is not None and len(self.changes) > self.max_changed_files

    @property
    def ok(self) -> bool:
        """True if every change is in the scope, and they are not too many."""
        return not self.outside and not self.is_too_large

    def reasons(self) -> Iterator[str]:
        """Yield a line for each thing that is wrong."""
        for found in self.outside:
            yield f"{found.file}: {found.change}, {found.why}"
        if self.is_too_large:
            yield f"{len(self.changes)} files are changed, more than {self.max_changed_files}"

    def document(self) -> dict[str, Json]:
        """Return the report as JSON, as `skelo check scope --json` prints it."""
        return {
            "ok": self.ok,
            "base": self.base or None,
            "changed": [{"file": git.printable(change.path), "change": change.kind} for change in self.changes],
            "outside": [as_dict(outside) for outside in self.outside],
            "maxChangedFiles": self.max_changed_files,
        }
