"""The keeper goes on keeping, whatever it stumbles over."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from pathlib import Path

import pytest

from openskelo.engine import keeper, local
from tests.engine import stage

ASKING = stage.workflow({"id": "ask", "mode": "approval", "approval": {"prompt": "Go on?", "timeout_sec": 600}})


async def _until_put_aside(engine: local.Engine, run_id: str) -> None:
    async with asyncio.timeout(10):
        while engine.is_driving(run_id):  # noqa: ASYNC110 -- only the clock brings it about
            await asyncio.sleep(0.02)


@pytest.mark.slow
def test_what_one_question_is_broken_by_does_not_end_the_keeping(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            broken = await engine.start(ASKING)
            await engine.wait(broken)
            with sqlite3.connect(engine.project.data_dir / "log.db") as found:
                changed = found.execute("UPDATE approvals SET document = json_set(document, '$.expiresAt', 'soon')")
                assert changed.rowcount == 1
            found.close()
            keeping = keeper.Keeper(engine)
            await keeping.start()
            try:
                await _until_put_aside(engine, broken)
                other = await engine.start(ASKING)
                await engine.wait(other)
                await _until_put_aside(engine, other)
            finally:
                await keeping.stop()

    with caplog.at_level(logging.ERROR, "openskelo.keeper"):
        stage.play(story)
    (told,) = caplog.records  # once, not every second
    assert (told.getMessage(), told.exc_info is not None) == ("keeping runs going failed at learn_times", True)
