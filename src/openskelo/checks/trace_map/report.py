"""The findings of the check, and their JSON document."""

from __future__ import annotations

from collections.abc import Iterator

from openskelo.kernel.json import Json
from openskelo.structs import as_dict, frozen


@frozen
class Broken:
    """Something that the map says and that does not hold."""

    #: The JSON pointer of the field; empty if it is about the whole map.
    field: str
    #: The source or the schema; empty if it is about the entry alone.
    file: str
    #: 0 where no line is meant.
    line: int
    why: str


@frozen
class Report:
    """The result of a check."""

    fields: int
    #: How many of the fields have an entry that holds and names a source.
    traced: int
    #: How many are assumed, with a rationale.
    assumed: int
    untraced: tuple[str, ...] = ()
    broken: tuple[Broken, ...] = ()
    has_too_many_assumptions: bool = False

    @property
    def ok(self) -> bool:
        """True if every field is traced or assumed, everything holds, and not too much is assumed."""
        return bool(self.fields) and not self.untraced and not self.broken and not self.has_too_many_assumptions

    @property
    def assumption_ratio(self) -> float:
        """Return which part of the fields is assumed."""
        return self.assumed / self.fields if self.fields else 0.0

    def reasons(self) -> Iterator[str]:
        """Yield a line for each thing that is wrong."""
        for broken in self.broken:
            place = ":".join(part for part in (broken.file, str(broken.line or "")) if part)
            yield ": ".join(part for part in (place, broken.field, broken.why) if part)
        for field in self.untraced:
            yield f"{field or 'the schema'}: it is not traced"
        if self.has_too_many_assumptions:
            yield f"{self.assumed} of {self.fields} fields are assumed, more than 30%"

    def document(self) -> dict[str, Json]:
        """Return the report as JSON, as `skelo check trace-map --json` prints it."""
        return {
            "ok": self.ok,
            "fields": self.fields,
            "traced": self.traced,
            "assumed": self.assumed,
            "assumptionRatio": self.assumption_ratio,
            "untraced": list(self.untraced),
            "broken": [as_dict(broken) for broken in self.broken],
        }
