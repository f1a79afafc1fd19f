"""The findings of the check, and their JSON document."""

from __future__ import annotations

from collections.abc import Iterator

from openskelo.kernel.json import Json
from openskelo.structs import as_dict, frozen


@frozen
class Missing:
    """An artifact that is required and that the manifest does not list."""

    name: str
    required_by: str


@frozen
class Broken:
    """An artifact that is not as the manifest says, or a manifest that says nothing of use."""

    name: str
    why: str


@frozen
class Report:
    """The result of a check."""

    #: How many artifacts the manifest lists.
    artifacts: int = 0
    required: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    broken: tuple[Broken, ...] = ()

    @property
    def ok(self) -> bool:
        """True if everything that is required is listed, and everything that is listed is as the manifest says."""
        return not self.missing and not self.broken

    def reasons(self) -> Iterator[str]:
        """Yield a line for each thing that is wrong."""
        for missing in self.missing:
            yield f"{missing.name}: missing, required by {missing.required_by}"
        for broken in self.broken:
            yield f"{broken.name}: {broken.why}"

    def document(self) -> dict[str, Json]:
        """Return the report as JSON, as `skelo check artifacts --json` prints it."""
        return {
            "ok": self.ok,
            "artifacts": self.artifacts,
            "required": list(self.required),
            "missing": [{"name": missing.name, "requiredBy": missing.required_by} for missing in self.missing],
            "broken": [as_dict(broken) for broken in self.broken],
        }
