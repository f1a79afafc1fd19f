"""The SQL of the SQLite store, read from `sql/*.sql`: each statement has a name and a sentence there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

FOLDER = Path(__file__).parent / "sql"


def load() -> Mapping[str, str]:
    """Every named statement, by name."""
    found: dict[str, str] = {}
    for topic in ("log", "runs", "beside", "retention"):
        for part in (FOLDER / f"{topic}.sql").read_text("utf-8").split("-- name: ")[1:]:
            name, _, rest = part.partition("\n")
            found[name] = "\n".join(line for line in rest.splitlines() if not line.startswith("--")).strip()
    return MappingProxyType(found)


def version(number: int) -> str:
    """The script that leads from the layout before this version to this version's."""
    return (FOLDER / "versions" / f"{number:04d}.sql").read_text("utf-8")
