"""A defect of our own is told to whoever waits, and nobody waits for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

import openskelo
from openskelo.stores import memory
from tests.engine import stage


class Broken(memory.MemoryLog):
    """A store that fails as no store may: not with a StoreError."""

    async def blob(self, name: str) -> bytes:
        raise RuntimeError(f"cannot give {name[:6]}")


def test_a_defect_around_an_attempt_is_told_to_whoever_waits(tmp_path: Path) -> None:
    work = stage.block("work", inputs={"text": "string"})

    async def story() -> None:
        async with stage.open_engine(tmp_path, Broken(), work=lambda ctx: {}) as engine:
            run_id = await engine.start(stage.workflow(work), {"text": "x" * 100_000})
            await engine.wait(run_id)

    with pytest.raises(openskelo.OpenSkeloError, match="cannot give sha256") as caught:
        stage.play(story)
    assert caught.value.code == "INTERNAL"
