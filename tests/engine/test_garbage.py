"""What attempts leave in memory once they are over."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

import openskelo
from openskelo.engine.attempts import attempt_report, attempt_task
from openskelo.executors.attempt import running_attempt
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import JsonObject
from tests.engine import stage

_OF_AN_ATTEMPT = (running_attempt.RunningAttempt, attempt_report.AttemptRecorder, attempt_task.AttemptTask)
ITEMS = 20


def _count() -> int:
    return sum(isinstance(found, _OF_AN_ATTEMPT) for found in gc.get_objects())


@pytest.mark.parametrize("succeeds", [True, False])
def test_attempts_that_are_over_are_freed_without_the_garbage_collector(tmp_path: Path, succeeds: bool) -> None:
    counts: list[int] = []

    async def work(_ctx: openskelo.Context) -> JsonObject:
        counts.append(_count() - before)
        if not succeeds:
            raise openskelo.AttemptFailed("it does not work", retryable=False)
        return {}

    async def story() -> RunDocument:
        async with stage.engine(tmp_path, work=work) as engine:
            return await engine.wait(await engine.start(flow, {"items": list(range(ITEMS))}))

    foreach: JsonObject = {"items": "run.inputs.items", "concurrency": 1, "on_fail": "keep"}
    flow = stage.workflow(stage.block("work", foreach=foreach), inputs={"items": "array"})
    gc.collect()
    before = _count()  # what other tests in this process have left
    gc.disable()  # it would free them, too
    try:
        document = stage.play(story)
    finally:
        gc.enable()
    assert document["ending"] == "ok", document
    assert len(counts) == ITEMS
    assert max(counts) < 2 * len(_OF_AN_ATTEMPT) + 1  # the attempt under way, and perhaps the one before it
