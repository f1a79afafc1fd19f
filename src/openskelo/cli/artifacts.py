"""Finding what a run has kept: an artifact by its reference, or by its node and name."""

from __future__ import annotations

from collections.abc import AsyncIterator

import orjson

from openskelo import errors
from openskelo.cli import members
from openskelo.kernel.json import Json, JsonObject
from openskelo.stores import log as stores_log

SCHEME = "artifact://"


def names(key: str) -> bool:
    """Whether `key` is written like an artifact: `artifact://ID`, or `NODE:NAME`."""
    return ":" in key


async def text(log: stores_log.Log, run_id: str, key: str) -> str:
    """The artifact's text, of the newest attempt that has one (NotFound ARTIFACT_NOT_FOUND)."""
    found: str | None = None
    there: dict[str, None] = {}
    async for data in _created(log, run_id):
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


async def logs(log: stores_log.Log, run_id: str) -> list[JsonObject]:
    """What each attempt has logged, in the order of the record: `{node, visit, attempt, item?, name, text}`."""
    found: list[JsonObject] = []
    async for data in _created(log, run_id):
        artifact = members.object_at(data, "artifact")
        if artifact.get("kind") == "log":
            about: dict[str, Json] = {key: data[key] for key in ("node", "visit", "attempt", "item") if key in data}
            text = (await log.blob(members.text_at(artifact, "hash"))).decode(errors="replace")
            found.append({**about, "name": artifact.get("name"), "text": text})
    return found


async def _created(log: stores_log.Log, run_id: str) -> AsyncIterator[JsonObject]:
    """The data of every event that tells of an artifact."""
    async for lines in log.read(run_id):
        for line in lines:
            if b'"artifact.created"' in line and (event := orjson.loads(line))["type"] == "artifact.created":
                yield members.object_at(event, "data")
