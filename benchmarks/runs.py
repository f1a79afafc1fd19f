"""Many runs at once: 1,000 of five steps each, all durable, all in one process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
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
        note=f"{count / found.subject:.0f} runs/s, raw {count / found.baseline:.0f}; {size} bytes each",
    )


def _run(plan: measure.Plan, flow: openskelo.Workflow, count: int) -> tuple[float, int]:
    """Seconds for all the runs, and the bytes of one run's log."""

    async def run(folder: Path) -> tuple[float, int]:
        async with await flows.engine(folder) as engine:
            started = time.perf_counter()
            taken = await asyncio.gather(*(flows.run(engine, flow) for _ in range(count)))
            return time.perf_counter() - started, await flows.bytes_of(engine, taken[0].run_id)

    with plan.fresh() as folder:
        return asyncio.run(run(folder))
