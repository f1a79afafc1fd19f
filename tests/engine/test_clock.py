"""A clock that is set back: what waits for a moment does not wait for it twice, and time in the log never goes back."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime
from pathlib import Path
from typing import cast

import pytest

import openskelo
from openskelo.kernel.json import Json, JsonObject
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


def asking(**approval: Json) -> openskelo.Workflow:
    """One approval, then `work`."""
    review: dict[str, Json] = {
        "id": "review",
        "mode": "approval",
        "outputs": {"approved": "boolean"},
        "approval": {"prompt": "Go on?", **approval},
    }
    return stage.workflow(review, stage.block("work", after=["review"]))


async def nothing(_ctx: openskelo.Context) -> JsonObject:
    return {}


def test_a_run_from_the_future_lets_no_approval_of_another_run_expire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "time_ns", clock)

    async def story() -> None:
        clock.behind = -24 * HOUR
        async with stage.engine(tmp_path, work=nothing) as engine:
            future = await engine.start(asking())
            await engine.wait(future)
        clock.behind = 0
        async with stage.engine(tmp_path, work=nothing) as engine:
            run_id = await engine.start(asking(timeout_sec=3600, on_timeout="approve"))
            await engine.wait(run_id)
            await engine.resume(future)
            (asked,) = stage.approvals(await engine.wait(future))
            await engine.answer(asked["id"], status="approved", by="ann")
            assert (await engine.wait(future))["ending"] == "ok"
            await asyncio.sleep(0.2)  # the driver has looked for expired approvals meanwhile
            document = await engine.show(run_id)
            assert (document["status"], len(stage.approvals(document))) == ("paused", 1)
            moments = [cast("str", event["ts"]) async for event in engine.follow(future)]
            assert moments == sorted(moments)

    stage.play(story)


def test_a_jump_of_the_clock_that_is_corrected_heals_in_the_same_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "time_ns", clock)

    async def story() -> None:
        async with stage.engine(tmp_path, work=nothing) as engine:
            clock.behind = -24 * HOUR
            await engine.wait(await engine.start(FLOW))
            clock.behind = 0
            run_id = await engine.start(asking(timeout_sec=3600, on_timeout="approve"))
            document = await engine.wait(run_id)
            row = await engine.store.find_run(run_id)
            assert row is not None
            assert abs(row.created_at - time.time_ns() // 1_000_000) < 60_000
            await asyncio.sleep(0.2)
            assert len(stage.approvals(await engine.show(run_id))) == 1
            assert document["status"] == "paused"

    stage.play(story)


def test_the_deadline_of_an_approval_is_by_the_clock_also_in_a_run_from_the_future(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "time_ns", clock)

    async def work(_ctx: openskelo.Context) -> JsonObject:
        await asyncio.sleep(0.05)
        clock.behind = 0  # the clock is corrected while the run goes on
        return {}

    def later(timeout_sec: int) -> openskelo.Workflow:
        review: dict[str, Json] = {
            "id": "review",
            "mode": "approval",
            "after": ["work"],
            "outputs": {"approved": "boolean"},
            "approval": {"prompt": "Go on?", "timeout_sec": timeout_sec, "on_timeout": "approve"},
        }
        return stage.workflow(stage.block("work"), review)

    async def story() -> None:
        async with stage.engine(tmp_path, work=work) as engine:
            clock.behind = -24 * HOUR
            run_id = await engine.start(later(3600))
            (asked,) = stage.approvals(await engine.wait(run_id))
            expires = datetime.fromisoformat(cast("str", asked["expiresAt"])).timestamp()
            assert abs(expires - 3600 - time.time_ns() / 1e9) < 60
            await engine.answer(asked["id"], status="approved", by="ann")
            assert (await engine.wait(run_id))["ending"] == "ok"
            clock.behind = -24 * HOUR
            run_id = await engine.start(later(1))
            async for event in engine.follow(run_id):
                if event["type"] == "approval.resolved":
                    assert cast("JsonObject", event["data"])["by"] == "timer"
            assert (await engine.wait(run_id))["ending"] == "ok"

    stage.play(story)
