"""A value as events hold it: inline while it is small, else as the name of a blob."""

from __future__ import annotations

from typing import Protocol, cast

import orjson

from openskelo.kernel.json import Json, Stored
from openskelo.values import canonical

#: Values above this many canonical bytes are kept as blobs, and events hold their name.
INLINE_BYTES = 32 * 1024
#: Artifacts above this many bytes are written and synced before the outcome, smaller ones committed with it.
SMALL_ARTIFACT_BYTES = 64 * 1024


class Keeps(Protocol):
    """Where large values go."""

    async def put_blob(self, data: bytes) -> str: ...


class Blobs(Keeps, Protocol):
    """Where large values are (every `stores.log.Log` is one)."""

    async def blob(self, name: str) -> bytes: ...


async def store(blobs: Keeps, value: Json, data: bytes | None = None) -> Stored:
    """What an event holds for a value; a blob is durable then. `data` are its canonical bytes, of who has them."""
    if data is None:
        data = canonical.dumps(value)
    if len(data) <= INLINE_BYTES:
        return {"value": value}
    return {"blob": await blobs.put_blob(data), "bytes": len(data)}


async def load(blobs: Blobs, stored: Stored | None) -> Json:
    """The value behind what an event holds; None where nothing was stored."""
    if stored is None:
        return None
    if "value" in stored:
        return stored["value"]
    return orjson.loads(await blobs.blob(cast("str", stored["blob"])))
