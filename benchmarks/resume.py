"""Resuming a long run: from opening the store to the moment at which the work that was cut is done again."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import openskelo
from benchmarks import flows, measure, raw, report
from openskelo.kernel.json import JsonObject

STEPS = 10_000


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """Times reading the run's lines from a file, parsing each line and folding it into a dict."""
    steps = plan.count(STEPS)
    with plan.fresh() as built:
        run_id = asyncio.run(_build(built, steps))
        (log,) = (built / "data/events").glob("*.jsonl")

        def subject() -> float:
            with plan.fresh() as folder:
                shutil.copytree(built / "data", folder / "data")
                return asyncio.run(_resume(folder, run_id))

        found = measure.bracketed(plan, baseline=lambda: raw.folded(log), subject=subject)
    yield report.Figure(
        name="resume",
        what=f"resume of a run with {steps} finished steps",
        value=found.ratio,
        unit="x raw fold",
        bar=6,
        rounds=found.ratios,
        made=found.made,
        note=f"{found.subject * 1e3:.0f} ms, raw {found.baseline * 1e3:.1f} ms",
    )


def _flow(steps: int) -> openskelo.Workflow:
    return flows.workflow([*flows.chained(steps), flows.block("last", f"s{steps - 1}", handler="local:last")])


async def _build(folder: Path, steps: int) -> str:
    """A run that was cut in its last step: what a crash leaves behind. Gives its id."""
    reached = asyncio.Event()

    async def last(ctx: openskelo.Context) -> JsonObject:
        reached.set()
        await asyncio.Event().wait()
        return ctx.inputs

    async with await flows.engine(folder, handlers={**flows.HANDLERS, "last": last}) as engine:
        run_id = await engine.start(_flow(steps), {"n": 1}, by="bench")
        await reached.wait()
    return run_id


async def _resume(folder: Path, run_id: str) -> float:
    reached: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    async def last(ctx: openskelo.Context) -> JsonObject:
        reached.set_result(time.perf_counter())
        return ctx.inputs

    started = time.perf_counter()
    async with await flows.engine(folder, handlers={**flows.HANDLERS, "last": last}) as engine:
        await engine.resume(run_id)
        taken = await reached - started
        document = await engine.wait(run_id)
    if document["ending"] != "ok":
        raise RuntimeError(f"the resumed run ended {document['ending']}")
    return taken
