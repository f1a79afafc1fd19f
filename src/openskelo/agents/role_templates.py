"""Role templates: what a node of a live graph is told about its role, by the name in `roleTemplate`.

A template is a file, `roles/NAME.md` of the project, else one of those shipped in `agents/roles`. It is read anew for
every turn, so that a person can improve it while a run goes on; the record has its hash. A role without a file is only
a label.
"""

from __future__ import annotations

import re
from pathlib import Path

from openskelo.kernel.json import JsonObject
from openskelo.structs import frozen
from openskelo.values import canonical

FOLDER = "roles"
_SHIPPED = Path(__file__).with_name(FOLDER)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")
_MAX_CHARACTERS = 32 * 1024


@frozen
class RoleTemplate:
    """The text of a role, and the hash of its file."""

    name: str
    text: str
    hash: str

    def metadata(self) -> JsonObject:
        """Return what the record keeps of it."""
        return {"role": self.name, "roleHash": self.hash}


def read(root: Path, name: str) -> RoleTemplate | None:
    """Return the template of a role in a project, None if the role has none."""
    if not _NAME.match(name):
        return None
    for folder in (root / FOLDER, _SHIPPED):
        try:
            data = (folder / f"{name}.md").read_bytes()
        except OSError:
            continue
        text = data.decode("utf-8", "replace")[:_MAX_CHARACTERS].strip()
        return RoleTemplate(name=name, text=text, hash=canonical.digest_bytes(data))
    return None


def shipped_names() -> tuple[str, ...]:
    """Return the names of the roles that every project has."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.md")))
