"""A clock that is set back: what waits for a moment does not wait for it twice, and time in the log never goes back."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import cast

import pytest

import openskelo
from openskelo.kernel.json import JsonObject
from tests.engine import stage

HOUR = 3_600_000_000_000
FLOW = stage.workflow(stage.block("work", retry={"max_attempts": 3}))


class Clock:
    """The system's clock, which may be set back."""

    def __init__(self) -> None:
        self._real = time.time_ns
        self.behind = 0

    def __call__(self) -> int:
        return self._real() - self.behind


def test_a_retry_comes_in_time_although_the_clock_was_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "time_ns", clock)

    async def work(ctx: openskelo.Context) -> JsonObject:
        clock.behind = (0, HOUR, 2 * HOUR, 0)[ctx.attempt]
        if ctx.attempt < 3:
            raise openskelo.AttemptFailed("not yet", retry_after_ms=200)
        return {}

    async def story() -> None:
        async with stage.engine(tmp_path, work=work) as engine:
            run_id = await engine.start(FLOW)
            document = await engine.wait(run_id)
            assert (document["ending"], stage.node(document, "work")["attempts"]) == ("ok", 3)
            moments = [cast("str", event["ts"]) async for event in engine.follow(run_id)]
            assert moments == sorted(moments)

    stage.play(story)


def test_a_run_from_the_future_goes_on_at_the_usual_speed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "time_ns", clock)
    calls: list[int] = []

    async def work(ctx: openskelo.Context) -> JsonObject:
        calls.append(ctx.attempt)
        if len(calls) < 2:
            raise openskelo.AttemptFailed("not yet", retry_after_ms=400)
        return {}

    async def story() -> None:
        async with stage.engine(tmp_path, work=work) as engine:
            run_id = await engine.start(FLOW)
            while not calls:  # noqa: ASYNC110  whoever is called says no more
                await asyncio.sleep(0.01)
        clock.behind = HOUR
        async with stage.engine(tmp_path, work=work) as engine:
            await engine.resume(run_id)
            assert (await engine.wait(run_id))["ending"] == "ok"

    stage.play(story)
    assert len(calls) == 2
