"""Finding what a run has kept: an artifact by its reference, or by its node and name."""

from __future__ import annotations

import orjson

from openskelo import errors
from openskelo.cli import members
from openskelo.stores import log as stores_log

SCHEME = "artifact://"


def names(key: str) -> bool:
    """Whether `key` is written like an artifact: `artifact://ID`, or `NODE:NAME`."""
    return ":" in key


async def text(log: stores_log.Log, run_id: str, key: str) -> str:
    """The artifact's text, of the newest attempt that has one (NotFound ARTIFACT_NOT_FOUND)."""
    found: str | None = None
    there: dict[str, None] = {}
    async for lines in log.read(run_id):
        for line in lines:
            if b'"artifact.created"' not in line:
                continue
            data = members.object_at(orjson.loads(line), "data")
            artifact = members.object_at(data, "artifact")
            name = f"{members.text_at(data, 'node')}:{members.text_at(artifact, 'name')}"
            there[name] = None
            if key in (name, f"{SCHEME}{members.text_at(artifact, 'id')}"):
                found = members.text_at(artifact, "hash")
    if found is None:
        listed = ", ".join(list(there)[:20]) or "none"
        raise errors.NotFound(
            f"this run has no artifact {key}", code="ARTIFACT_NOT_FOUND", hint=f"its artifacts: {listed}"
        )
    return (await log.blob(found)).decode(errors="replace")
