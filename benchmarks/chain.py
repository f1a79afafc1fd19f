"""A durable chain: 1,000 distinct nodes one after the other, each step synced before the next one starts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import openskelo
from benchmarks import flows, measure, raw, report

STEPS = 1000


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """F a step: an async handler in the engine's process, a sync one in its worker process, the steps of a plan."""
    steps = plan.count(STEPS)
    with plan.fresh() as root:
        (root / "give_back.py").write_text(flows.SYNC_HANDLER)
        found = _measured(plan, steps, root, "local:give_back")
        yield report.Figure(
            name="chain",
            what=f"durable chain of {steps}, async handler",
            value=found.ratio,
            unit="F a step",
            bar=2.3,
            rounds=found.ratios,
            made=found.made,
            note=_aside(found),
        )
        found = _measured(plan, steps, root, "give_back.py")
        yield report.Figure(
            name="chain",
            what=f"durable chain of {steps}, sync handler in its worker process",
            value=found.ratio,
            unit="F a step",
            bar=3.2,
            rounds=found.ratios,
            made=found.made,
            note=_aside(found),
        )
        found = _compared(plan, steps, root, (flows.plan(1), flows.plan(steps)))
        yield report.Figure(
            name="chain",
            what=f"durable plan of {steps} steps",
            value=found.ratio,
            unit="F a step",
            bar=2.4,
            rounds=found.ratios,
            made=found.made,
            note=_aside(found),
        )


def _measured(plan: measure.Plan, steps: int, root: Path, handler: str) -> measure.Bracketed:
    first = flows.chain(1, root=root, handler=handler)
    return _compared(plan, steps, root, (first, flows.chain(steps, root=root, handler=handler)))


def _compared(
    plan: measure.Plan, steps: int, root: Path, pair: tuple[openskelo.Workflow, openskelo.Workflow]
) -> measure.Bracketed:
    first, flow = pair

    def baseline() -> float:
        with plan.fresh() as folder:
            return raw.synced_appends(folder, steps)

    def subject() -> float:
        with plan.fresh() as folder:
            return asyncio.run(_run(folder, root, first, flow)) / steps

    return measure.bracketed(plan, baseline=baseline, subject=subject)


async def _run(folder: Path, root: Path, first: openskelo.Workflow, flow: openskelo.Workflow) -> float:
    """Seconds for the chain, on an engine that has run before: its worker process, if it needs one, is there."""
    async with await flows.engine(folder, root=root) as engine:
        await flows.run(engine, first)
        return (await flows.run(engine, flow)).seconds


def _aside(found: measure.Bracketed) -> str:
    return f"{found.subject * 1e6:.0f} us a step, F = {found.baseline * 1e6:.0f} us"
