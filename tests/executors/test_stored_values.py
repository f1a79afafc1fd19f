"""Small values are held by events themselves, large ones by the name of their blob."""

from __future__ import annotations

import asyncio

from openskelo.executors import stored_values
from openskelo.stores import memory
from openskelo.values import canonical

_AT_MOST = "x" * (stored_values.INLINE_BYTES - 2)  # with its quotes: as long as may be


def test_a_value_of_the_limit_is_held_by_the_event() -> None:
    async def scenario() -> None:
        blobs = memory.MemoryStore()
        stored = await stored_values.store(blobs, _AT_MOST)
        assert stored == {"value": _AT_MOST}
        assert await stored_values.load(blobs, stored) == _AT_MOST

    asyncio.run(scenario())


def test_a_larger_value_is_a_blob_whoever_has_its_bytes_already() -> None:
    async def scenario() -> None:
        blobs = memory.MemoryStore()
        value = _AT_MOST + "x"
        data = canonical.dumps(value)
        held = {"blob": canonical.digest_bytes(data), "bytes": stored_values.INLINE_BYTES + 1}
        assert await stored_values.store(blobs, value) == held
        assert await stored_values.store(blobs, value, data) == held
        assert await stored_values.load(blobs, held) == value

    asyncio.run(scenario())


def test_nothing_stored_is_none() -> None:
    assert asyncio.run(stored_values.load(memory.MemoryStore(), None)) is None
