"""The collector looks less often while runs are driven, and as before afterwards; attempts leave it nothing to find."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

import openskelo
from openskelo.engine import garbage
from openskelo.kernel.json import Json
from openskelo.stores import memory
from tests.engine import stage


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
    with garbage.seldom():
        with garbage.seldom():
            pass
        assert gc.get_threshold() == (50_000, 10, 10)
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("chosen", [(0, 10, 10), (80_000, 5, 5)])
def test_a_collector_that_looks_more_seldom_or_not_at_all_is_left_alone(chosen: tuple[int, int, int]) -> None:
    gc.set_threshold(*chosen)
    with garbage.seldom():
        assert gc.get_threshold() == chosen
    assert gc.get_threshold() == chosen


def test_what_a_program_chooses_in_the_meantime_stays() -> None:
    with garbage.seldom():
        gc.set_threshold(1_000, 20, 20)
    assert gc.get_threshold() == (1_000, 20, 20)


class Load:
    """Something that a handler holds while it works."""


class Works:
    """Handlers that hold a load, and what became of it: `held` refers to it for as long as it is there."""

    def __init__(self) -> None:
        self.held: list[weakref.ref[Load]] = []
        self.begun = asyncio.Event()

    def hold(self) -> Load:
        load = Load()
        self.held.append(weakref.ref(load))
        self.begun.set()
        return load

    async def waits(self, _: openskelo.Context) -> dict[str, Json]:
        load = self.hold()
        await asyncio.sleep(60)
        return {"load": str(load)}

    async def fails(self, _: openskelo.Context) -> dict[str, Json]:
        load = self.hold()
        raise ValueError(str(load))

    def fails_in_a_thread(self, _: openskelo.Context) -> dict[str, Json]:
        load = self.hold()
        raise ValueError(str(load))


async def _to_its_end(engine: openskelo.Engine, run_id: str, _: Works) -> None:
    await engine.wait(run_id)


async def _cancel(engine: openskelo.Engine, run_id: str, works: Works) -> None:
    await works.begun.wait()
    await engine.cancel(run_id)


@pytest.mark.parametrize(
    ("handler", "timeout_ms", "end"),
    [
        ("waits", None, _cancel),
        ("waits", 60_000, _cancel),
        ("waits", 20, _to_its_end),
        ("fails", None, _to_its_end),
        ("fails", 60_000, _to_its_end),
        ("fails_in_a_thread", None, _to_its_end),
    ],
)
def test_what_a_handler_held_is_gone_with_its_attempt_however_that_ends(
    tmp_path: Path,
    handler: str,
    timeout_ms: int | None,
    end: Callable[[openskelo.Engine, str, Works], Awaitable[None]],
) -> None:
    async def story() -> list[bool]:
        works = Works()
        handlers = {name: getattr(works, name) for name in ("waits", "fails", "fails_in_a_thread")}
        limit: dict[str, Json] = {} if timeout_ms is None else {"timeout_ms": timeout_ms}
        async with stage.engine(tmp_path, **handlers) as engine:
            gc.disable()
            await end(engine, await engine.start(stage.workflow(stage.block(handler, **limit))), works)
            async with asyncio.timeout(5):
                while works.held[0]() is not None:  # noqa: ASYNC110 -- no more than the rounds in which tasks end
                    await asyncio.sleep(0.01)
            return [load() is None for load in works.held]

    try:
        assert stage.play(story) == [True]
    finally:
        gc.enable()
