"""Every store of ours does what every store must do."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from openskelo.stores import api, conformance, memory
from openskelo.stores.conformance import fixtures
from openskelo.stores.sqlite import data_dir


def _named(check: fixtures.Check) -> str:
    return getattr(check, "__name__", "check")


@pytest.mark.parametrize("check", conformance.CHECKS, ids=_named)
def test_sqlite_conforms(check: fixtures.Check, tmp_path: Path) -> None:
    async def open_store() -> api.Store:
        return data_dir.open_store(tmp_path / "data")

    asyncio.run(_run(check, open_store))


@pytest.mark.parametrize("check", conformance.CHECKS, ids=_named)
def test_memory_conforms(check: fixtures.Check) -> None:
    data = memory.MemoryData()

    async def open_store() -> api.Store:
        return memory.MemoryStore(data)

    asyncio.run(_run(check, open_store))


async def _run(check: fixtures.Check, open_store: fixtures.Open) -> None:
    await check(open_store)


def test_every_check_has_its_own_name() -> None:
    names = [_named(check) for check in conformance.CHECKS]
    assert len(names) >= 25
    assert sorted(set(names)) == sorted(names)
