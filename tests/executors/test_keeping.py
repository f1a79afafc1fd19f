"""Small values are held by events themselves, large ones by the name of their blob."""

from __future__ import annotations

import asyncio

from openskelo.executors import keeping
from openskelo.stores import memory
from openskelo.values import canonical

_AT_MOST = "x" * (keeping.INLINE_BYTES - 2)  # with its quotes: as long as may be


def test_a_value_of_the_limit_is_held_by_the_event() -> None:
    async def scenario() -> None:
        blobs = memory.MemoryLog()
        stored = await keeping.store(blobs, _AT_MOST)
        assert stored == {"value": _AT_MOST}
        assert await keeping.load(blobs, stored) == _AT_MOST

    asyncio.run(scenario())


def test_a_larger_value_is_a_blob_whoever_has_its_bytes_already() -> None:
    async def scenario() -> None:
        blobs = memory.MemoryLog()
        value = _AT_MOST + "x"
        data = canonical.dumps(value)
        held = {"blob": canonical.digest_bytes(data), "bytes": keeping.INLINE_BYTES + 1}
        assert await keeping.store(blobs, value) == held
        assert await keeping.store(blobs, value, data) == held
        assert await keeping.load(blobs, held) == value

    asyncio.run(scenario())


def test_nothing_stored_is_none() -> None:
    assert asyncio.run(keeping.load(memory.MemoryLog(), None)) is None
