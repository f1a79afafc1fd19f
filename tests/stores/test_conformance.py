"""Every store of ours does what every store must do."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from openskelo.stores import conformance, datadir, log, memory
from openskelo.stores.conformance import rig


def _named(check: rig.Check) -> str:
    return getattr(check, "__name__", "check")


@pytest.mark.parametrize("check", conformance.CHECKS, ids=_named)
def test_sqlite_conforms(check: rig.Check, tmp_path: Path) -> None:
    async def open_log() -> log.Log:
        return datadir.open_log(tmp_path / "data")

    asyncio.run(_run(check, open_log))


@pytest.mark.parametrize("check", conformance.CHECKS, ids=_named)
def test_memory_conforms(check: rig.Check) -> None:
    data = memory.MemoryData()

    async def open_log() -> log.Log:
        return memory.MemoryLog(data)

    asyncio.run(_run(check, open_log))


async def _run(check: rig.Check, open_log: rig.Open) -> None:
    await check(open_log)


def test_every_check_has_its_own_name() -> None:
    names = [_named(check) for check in conformance.CHECKS]
    assert len(names) >= 25
    assert sorted(set(names)) == sorted(names)
