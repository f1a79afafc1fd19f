"""Moments that runs no longer wait for are not kept until they come."""

from __future__ import annotations

from pathlib import Path

import pytest

import openskelo
from openskelo.kernel.json import Json
from tests.engine import stage

LIMITED = stage.workflow(stage.block("work"), budgets={"max_wall_ms": 86_400_000})
ASKING = stage.workflow({"id": "ask", "mode": "approval", "approval": {"prompt": "Go on?", "timeout_sec": 2}})


@pytest.mark.slow
def test_the_time_limits_of_runs_that_have_ended_do_not_pile_up(tmp_path: Path) -> None:
    async def work(_: openskelo.Context) -> dict[str, Json]:
        return {}

    async def story() -> tuple[list[Json], int, Json]:
        async with stage.engine(tmp_path, work=work) as engine:
            asking = await engine.start(ASKING)
            endings = [(await engine.wait(await engine.start(LIMITED)))["ending"] for _ in range(200)]
            kept = engine._driver._timers._heap  # pyright: ignore[reportPrivateUsage] -- memory has no public face
            async for _ in engine.follow(asking):
                pass  # what is still waited for is not forgotten
            return endings, len(kept), (await engine.wait(asking))["ending"]

    endings, kept, asked = stage.play(story)
    assert (endings, asked) == (["ok"] * 200, "denied")
    assert kept < 100
