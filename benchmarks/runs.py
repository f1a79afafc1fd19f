"""Many runs at once: 1,000 of five steps each, all durable, by one process and by one for each core."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from collections.abc import Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path

import openskelo
from benchmarks import flows, measure, raw, report

RUNS = 1000
STEPS = 5


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """Times raw group commit: as many tasks that each make six records durable, one after the other."""
    count = plan.count(RUNS)
    flow = flows.chain(STEPS)
    _, size = _run(plan, flow, count)

    def baseline() -> float:
        with plan.fresh() as folder:
            return raw.group_commit(folder, writers=count, records=STEPS + 1, size=size // (STEPS + 1))

    found = measure.bracketed(plan, baseline=baseline, subject=lambda: _run(plan, flow, count)[0])
    yield report.Figure(
        name="runs",
        what=f"{count} durable runs of {STEPS} steps at once",
        value=found.ratio,
        unit="x group commit",
        bar=10,
        rounds=found.ratios,
        note=f"{_rates(found, count)}; {size} bytes each",
    )
    cores = os.cpu_count() or 1
    found = measure.bracketed(plan, baseline=baseline, subject=lambda: _run_shared(plan, count, cores))
    yield report.Figure(
        name="runs",
        what=f"  the same, by {cores} processes on one data dir",
        value=found.ratio,
        unit="x group commit",
        rounds=found.ratios,
        note=_rates(found, count),
    )


def _rates(found: measure.Bracketed, count: int) -> str:
    return f"{count / found.subject:.0f} runs/s, raw {count / found.baseline:.0f}"


def _run(plan: measure.Plan, flow: openskelo.Workflow, count: int) -> tuple[float, int]:
    """Seconds for all the runs, and the bytes of one run's log."""

    async def run(folder: Path) -> tuple[float, int]:
        async with await flows.engine(folder) as engine:
            started = time.perf_counter()
            taken = await asyncio.gather(*(flows.run(engine, flow) for _ in range(count)))
            return time.perf_counter() - started, await flows.bytes_of(engine, taken[0].run_id)

    with plan.fresh() as folder:
        return asyncio.run(run(folder))


def _run_shared(plan: measure.Plan, count: int, processes: int) -> float:
    """Seconds from when every process is ready until the last one has seen its share of the runs end."""
    spawning = multiprocessing.get_context("spawn")
    ready = spawning.Barrier(processes)
    shares = [count // processes + (number < count % processes) for number in range(processes)]
    with plan.fresh() as folder, spawning.Pool(processes, _wait_with, (ready,)) as pool:
        spans = pool.starmap(_take_share, [(folder, share) for share in shares], chunksize=1)
    return max(end for _, end in spans) - min(start for start, _ in spans)


_ready: Barrier | None = None


def _wait_with(ready: Barrier) -> None:
    """What each process of the pool is given when it starts."""
    global _ready  # noqa: PLW0603  a barrier can only be handed to a process that is being made
    _ready = ready


def _take_share(folder: Path, count: int) -> tuple[float, float]:
    """When this process began and ended; the clock is the same for all processes."""

    async def run() -> tuple[float, float]:
        flow = flows.chain(STEPS)
        async with await flows.engine(folder) as engine:
            await flows.run(engine, flow)  # everything is loaded
            assert _ready is not None
            _ready.wait()
            started = time.monotonic()
            await asyncio.gather(*(flows.run(engine, flow) for _ in range(count)))
            return started, time.monotonic()

    return asyncio.run(run())
