"""The engine's own cost: a chain on the in-memory store, so that nothing but our code (and the interpreter) is left."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Iterator

from benchmarks import flows, measure, raw, report
from openskelo.stores import memory

STEPS = 1000


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """Microseconds a step with validation, hashing and events; the processor's share; the ratio to bare hashing."""
    steps = plan.count(STEPS)
    flow = flows.chain(steps)
    taken: list[flows.Taken] = []

    async def run() -> flows.Taken:
        with plan.fresh() as folder:
            async with await flows.engine(folder, store=memory.MemoryStore()) as engine:
                return await flows.run(engine, flow)

    def subject() -> float:
        taken.append(asyncio.run(run()))
        return taken[-1].seconds / steps

    found = measure.bracketed(plan, baseline=lambda: raw.hashed({"n": 1}, steps), subject=subject)
    clock = tuple(seconds * 1e6 for seconds in found.subjects)
    cpu = tuple(one.cpu / steps * 1e6 for one in taken)
    yield report.Figure(
        name="engine",
        what=f"chain of {steps} in memory",
        value=statistics.median(clock),
        unit="us a step",
        bar=80,
        rounds=clock,
        made=found.made,
    )
    yield report.Figure(
        name="engine", what="  its processor time", value=statistics.median(cpu), unit="us a step", rounds=cpu
    )
    yield report.Figure(
        name="engine",
        what="  against orjson and SHA-256 of input and output",
        value=found.ratio,
        unit="x",
        rounds=found.ratios,
        made=found.made,
        note=f"{found.baseline * 1e6:.1f} us a step",
    )
