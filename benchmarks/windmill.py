"""Windmill's light benchmark: 40 tasks, one after the other, that each compute fibo(10)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import openskelo
from benchmarks import flows, measure, raw, report
from openskelo.kernel.json import JsonObject

TASKS = 40


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """Times 40 raw appends and syncs."""
    flow = flows.chain(TASKS, handler="local:fibo")

    def baseline() -> float:
        with plan.fresh() as folder:
            return raw.synced_appends(folder, TASKS)

    def subject() -> float:
        with plan.fresh() as folder:
            return asyncio.run(_run(folder, flow))

    found = measure.bracketed(plan, baseline=lambda: baseline() * TASKS, subject=subject)
    yield report.Figure(
        name="windmill",
        what=f"{TASKS} x fibo(10), one after the other",
        value=found.ratio,
        unit=f"x {TASKS} F",
        bar=3,
        rounds=found.ratios,
        made=found.made,
        note=f"{found.subject * 1e3:.1f} ms in all",
    )


async def _fibo(ctx: openskelo.Context) -> JsonObject:
    return {"n": _fibonacci(10) and ctx.inputs["n"]}


def _fibonacci(n: int) -> int:
    return n if n < 2 else _fibonacci(n - 1) + _fibonacci(n - 2)


async def _run(folder: Path, flow: openskelo.Workflow) -> float:
    async with await flows.engine(folder, handlers={"fibo": _fibo}) as engine:
        return (await flows.run(engine, flow)).seconds
