"""Values as events hold them: inline while they are small, else as the name of a blob."""

from __future__ import annotations

from typing import cast

from openskelo.kernel.json import Json, Stored
from openskelo.stores import api
from openskelo.values import canonical

#: Values with more canonical bytes than this are kept as blobs.
INLINE_BYTES = 32 * 1024
#: Artifacts with more bytes than this are written and synced before the outcome; smaller ones are committed with it.
SMALL_ARTIFACT_BYTES = 64 * 1024


async def store(blobs: api.BlobWriter, value: Json, data: bytes | None = None, digest: str | None = None) -> Stored:
    """Return what an event holds for `value`; its blob, if it needs one, is durable then.

    `data` are the canonical bytes of the value and `digest` is their digest, if the caller has them already.
    """
    if data is None:
        data = canonical.dumps(value)
    if len(data) <= INLINE_BYTES:
        return {"value": value}
    return {"blob": await blobs.put_blob(data, digest), "bytes": len(data)}


async def load(blobs: api.BlobReader, stored: Stored | None) -> Json:
    """Return the value that an event holds, None if it holds none."""
    if stored is None:
        return None
    if "value" in stored:
        return stored["value"]
    return canonical.loads_canonical(await blobs.read_blob(cast("str", stored["blob"])))
