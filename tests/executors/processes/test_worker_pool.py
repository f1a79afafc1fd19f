"""Worker processes: as many as there are calls at once, up to the size of the pool; first come, first served."""

from __future__ import annotations

import asyncio
from pathlib import Path

import orjson
import pytest

from openskelo.executors.attempt import performer as attempt_performer
from openskelo.executors.attempt import running_attempt
from openskelo.executors.handlers import project_handler
from openskelo.executors.processes import worker_pool
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.structs import replace
from tests.executors import workshop

#: Says which process it is in, once so many are at it at once.
TOGETHER = """
import os, time

def handler(ctx):
    open(f"{os.getpid()}.on", "w").close()
    while len([name for name in os.listdir() if name.endswith(".on")]) < ctx.inputs["many"]:
        time.sleep(0.005)
    return {"pid": os.getpid()}
"""
SLOW = """
import time

def handler(ctx):
    time.sleep(0.2)
    return {"pid": 0}
"""
NODE = definition.Node(
    key="it",
    mode="deterministic",
    handler="it.py",
    inputs=(workshop.port("many", "integer"),),
    outputs=(workshop.port("pid", "integer"),),
    timeout_ms=20_000,
)


def job_of(run_id: str = workshop.RUN_ID) -> running_attempt.RunningAttempt:
    return running_attempt.RunningAttempt(request=workshop.task_of(NODE, {}, run_id=run_id), inputs={})


def body(root: Path, **inputs: Json) -> bytes:
    given = {"inputs": inputs, "config": {}, "block_id": "it", "run_id": "r", "_visit": 1, "_now": 0}
    return orjson.dumps({"path": str(root / "it.py"), "name": "handler", "context": given})


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_calls_that_wait_for_each_other_are_all_under_way(tmp_path: Path) -> None:
    """More than the machine has cores."""
    (tmp_path / "it.py").write_text(TOGETHER)

    async def scenario() -> list[attempt_performer.AttemptResult]:
        performer = attempt_performer.Performer(project=workshop.project(tmp_path), blobs=workshop.MemoryBlobs())
        try:
            one = workshop.task_of(NODE, {"many": 9})
            return await asyncio.gather(
                *(performer.perform(running_attempt.RunningAttempt(one, one.inputs)) for _ in range(9))
            )
        finally:
            await performer.close()

    found = [one.outcome for one in asyncio.run(scenario())]
    assert [one.failure for one in found] == [None] * 9
    assert len({str(one.outputs) for one in found}) == 9


def test_a_worker_starts_when_none_is_idle_and_is_used_again(tmp_path: Path) -> None:
    (tmp_path / "it.py").write_text(TOGETHER)

    async def scenario() -> tuple[int, int]:
        workers = worker_pool.WorkerPool(tmp_path, size=4)
        try:
            first = orjson.loads(await workers.call(body(tmp_path, many=0), 20_000, job_of()))["outputs"]["pid"]
            calls = (workers.call(body(tmp_path, many=3), 20_000, job_of()) for _ in range(3))
            pids = [orjson.loads(reply)["outputs"]["pid"] for reply in await asyncio.gather(*calls)]
            assert first in pids
            again = orjson.loads(await workers.call(body(tmp_path, many=0), 20_000, job_of()))["outputs"]["pid"]
            assert again in pids
            return len(set(pids)), sum(map(is_alive, pids))
        finally:
            await workers.close()

    assert asyncio.run(scenario()) == (3, 3)


def test_there_are_never_more_workers_than_the_size_of_the_pool(tmp_path: Path) -> None:
    (tmp_path / "it.py").write_text(TOGETHER)

    async def scenario() -> int:
        workers = worker_pool.WorkerPool(tmp_path, size=2)
        try:
            calls = (workers.call(body(tmp_path, many=2), 20_000, job_of()) for _ in range(9))
            return len({orjson.loads(reply)["outputs"]["pid"] for reply in await asyncio.gather(*calls)})
        finally:
            await workers.close()

    assert asyncio.run(scenario()) == 2


def test_calls_are_served_in_their_order_and_one_that_gives_up_costs_nobody_a_turn(tmp_path: Path) -> None:
    (tmp_path / "it.py").write_text(SLOW)

    async def scenario() -> list[str]:
        workers = worker_pool.WorkerPool(tmp_path, size=1)
        served: list[str] = []

        async def call(name: str) -> None:
            await workers.call(body(tmp_path), 20_000, job_of(name[0]))
            served.append(name)

        try:
            calls = {name: asyncio.create_task(call(name)) for name in ("a1", "a2", "a3", "a4", "b1", "c1")}
            await asyncio.sleep(0)
            calls["c1"].cancel()
            await asyncio.gather(*calls.values(), return_exceptions=True)
        finally:
            await workers.close()
        return served

    assert asyncio.run(scenario()) == ["a1", "a2", "a3", "a4", "b1"]


def test_to_wait_for_a_worker_is_no_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither for gates nor in receipts: of twelve calls of 0.2 s, two at a time, the last waits for a second."""
    monkeypatch.setattr(project_handler, "MOST_WORKERS", 2)
    (tmp_path / "it.py").write_text(SLOW)
    quick = definition.Gate(name="quick", type="latency", params={"max_ms": 700})
    node = replace(NODE, post_gates=(quick,), inputs=())

    async def scenario() -> list[attempt_performer.AttemptResult]:
        performer = attempt_performer.Performer(project=workshop.project(tmp_path), blobs=workshop.MemoryBlobs())
        try:
            one = workshop.task_of(node, {})
            return await asyncio.gather(
                *(performer.perform(running_attempt.RunningAttempt(one, one.inputs)) for _ in range(12))
            )
        finally:
            await performer.close()

    found = [one.outcome for one in asyncio.run(scenario())]
    assert [one.failure for one in found] == [None] * 12
    assert all(200 <= one.metrics.wall_ms < 900 for one in found)
