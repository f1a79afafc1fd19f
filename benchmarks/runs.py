"""Many runs: 1,000 of five steps each at once, and 50,000 one after the other; their event files are written, too."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import openskelo
from benchmarks import flows, measure, raw, report

RUNS = 1000
SUSTAINED_RUNS = 50_000
STEPS = 5


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """Yield the ratio to raw group commit: as many tasks that each make six records durable, one after the other."""
    count = plan.count(RUNS)
    flow = flows.chain(STEPS)
    _, size = _run(plan, flow, count)

    def baseline() -> float:
        with plan.fresh() as folder:
            return raw.group_commit(folder, writers=count, records=STEPS + 1, size=size // (STEPS + 1))

    result = measure.bracketed(plan, baseline=baseline, subject=lambda: _run(plan, flow, count)[0])
    yield report.Figure(
        name="runs",
        what=f"{count} durable runs of {STEPS} steps at once, one process",
        value=result.ratio,
        unit="x group commit",
        bar=20,
        rounds=result.ratios,
        made=result.made,
        note=f"{count / result.subject:.0f} runs/s, raw {count / result.baseline:.0f}; {size} bytes each",
    )


def sustained_figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """Yield what a run costs among 50,000 against what it costs in a burst, which is measured before and after."""
    flow = flows.chain(STEPS)
    at_once, count = plan.count(RUNS), plan.count(SUSTAINED_RUNS)
    before = _run(plan, flow, at_once)[0] / at_once
    sustained = _run(plan, flow, count, at_once=at_once)[0] / count
    burst = (before + _run(plan, flow, at_once)[0] / at_once) / 2
    yield report.Figure(
        name="sustained",
        what=f"{count} durable runs of {STEPS} steps, {at_once} at a time",
        value=sustained / burst,
        unit="x a run of a burst",
        bar=1.43,  # 1 / 0.7
        note=f"{1 / sustained:.0f} runs/s sustained, {1 / burst:.0f} in a burst of {at_once}",
    )


def _run(plan: measure.Plan, flow: openskelo.Workflow, count: int, at_once: int | None = None) -> tuple[float, int]:
    """Return the seconds for all the runs until their event files are written, and the bytes of one run's log."""

    async def run(folder: Path) -> tuple[float, int]:
        async with await flows.engine(folder) as engine:
            await flows.finish(engine, flow)  # everything is loaded
            left = iter(range(count))

            async def finish_runs() -> str:
                run_id = ""
                for _ in left:
                    run_id = await flows.finish(engine, flow)
                return run_id

            started = time.perf_counter()
            run_ids = await asyncio.gather(*(finish_runs() for _ in range(at_once or count)))
            await engine.store.flush()
            return time.perf_counter() - started, await flows.bytes_of(engine, run_ids[0])

    with plan.fresh() as folder:
        return asyncio.run(run(folder))
