"""The collector looks less often while runs are driven, and as before afterwards."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

import openskelo
from openskelo.engine import garbage
from openskelo.stores import memory


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


async def _engine(folder: Path) -> openskelo.Engine:
    return await openskelo.Engine.open(openskelo.Project(root=folder, data_dir=folder), store=memory.MemoryLog())


def test_it_looks_less_often_while_an_engine_is_open(tmp_path: Path) -> None:
    async def thresholds() -> list[tuple[int, int, int]]:
        async with await _engine(tmp_path):
            inside = gc.get_threshold()
        return [inside, gc.get_threshold()]

    assert asyncio.run(thresholds()) == [(50_000, 10, 10), (700, 10, 10)]


def test_reading_while_an_engine_is_open_leaves_it_patient() -> None:
    with garbage.patience():
        with garbage.patience():
            pass
        assert gc.get_threshold() == (50_000, 10, 10)
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("chosen", [(0, 10, 10), (80_000, 5, 5)])
def test_what_a_program_has_chosen_stays(chosen: tuple[int, int, int]) -> None:
    gc.set_threshold(*chosen)
    with garbage.patience():
        assert gc.get_threshold() == chosen
    assert gc.get_threshold() == chosen


def test_what_a_program_chooses_in_the_meantime_stays() -> None:
    with garbage.patience():
        gc.set_threshold(1_000, 20, 20)
    assert gc.get_threshold() == (1_000, 20, 20)
