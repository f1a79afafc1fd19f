"""Many runs at once: 1,000 of five steps each, all durable, by one process and by an engine with one for each core."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

import openskelo
from benchmarks import flows, measure, raw, report

RUNS = 1000
STEPS = 5


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """Times raw group commit: as many tasks that each make six records durable, one after the other.

    The bar is for the machine, so for an engine that uses it (`processes`); what one process does stands beside it.
    """
    count = plan.count(RUNS)
    flow = flows.chain(STEPS)
    _, size = _run(plan, flow, count, processes=1)

    def baseline() -> float:
        with plan.fresh() as folder:
            return raw.group_commit(folder, writers=count, records=STEPS + 1, size=size // (STEPS + 1))

    cores = max(2, os.cpu_count() or 1)
    found = measure.bracketed(plan, baseline=baseline, subject=lambda: _run(plan, flow, count, processes=cores)[0])
    yield report.Figure(
        name="runs",
        what=f"{count} durable runs of {STEPS} steps at once, {cores} processes",
        value=found.ratio,
        unit="x group commit",
        bar=10,
        rounds=found.ratios,
        made=found.made,
        note=f"{_rates(found, count)}; {size} bytes each",
    )
    found = measure.bracketed(plan, baseline=baseline, subject=lambda: _run(plan, flow, count, processes=1)[0])
    yield report.Figure(
        name="runs",
        what="  the same, one process",
        value=found.ratio,
        unit="x group commit",
        rounds=found.ratios,
        made=found.made,
        note=_rates(found, count),
    )


def _rates(found: measure.Bracketed, count: int) -> str:
    return f"{count / found.subject:.0f} runs/s, raw {count / found.baseline:.0f}"


def _run(plan: measure.Plan, flow: openskelo.Workflow, count: int, *, processes: int) -> tuple[float, int]:
    """Seconds for all the runs, and the bytes of one run's log."""

    async def run(folder: Path) -> tuple[float, int]:
        async with await flows.engine(folder, processes=processes) as engine:
            await asyncio.gather(*(flows.finish(engine, flow) for _ in range(processes)))  # everything is loaded
            started = time.perf_counter()
            run_ids = await asyncio.gather(*(flows.finish(engine, flow) for _ in range(count)))
            return time.perf_counter() - started, await flows.bytes_of(engine, run_ids[0])

    with plan.fresh() as folder:
        return asyncio.run(run(folder))
