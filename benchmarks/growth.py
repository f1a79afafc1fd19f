"""Growth: a step late in a long run must cost what it costs in a short one, in time and in bytes."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import openskelo
from benchmarks import flows, measure, report
from openskelo.stores import memory

SHORT = 100
LONG = 10_000
PAYLOAD = "x" * 198  # 200 bytes of JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class _Size:
    """What a run left on the disk, in bytes a step."""

    database: float
    mirror: float


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """The cost of a step in a run of 10,000 against that in runs of 100: time (durable, in memory) and bytes."""
    long = flows.chain(plan.count(LONG), kind="string")
    short = flows.chain(plan.count(SHORT), kind="string")
    for what, durable in (("time a step, durable", True), ("time a step, in memory", False)):
        yield _time(plan, f"{what}, at {len(long.nodes)} steps", short, long, durable=durable)
    few, many = _size(plan, short), _size(plan, long)
    what = f"bytes a step at {len(long.nodes)} steps"
    yield _against(f"{what}, log.db", many.database, few.database)
    yield _against(f"{what}, event files", many.mirror, few.mirror)
    yield report.Figure(
        name="growth",
        what="event files with payloads of 200 bytes",
        value=many.mirror / 1000,
        unit="KB a step",
        bar=2.2,
    )


def _against(what: str, many: float, few: float) -> report.Figure:
    return report.Figure(
        name="growth",
        what=what,
        value=many / few,
        unit="x of 100",
        bar=1.2,
        note=f"{many:.0f} bytes a step, {few:.0f} at 100",
    )


def _time(
    plan: measure.Plan, what: str, short: openskelo.Workflow, long: openskelo.Workflow, *, durable: bool
) -> report.Figure:
    """Ten short runs before and after each long one: a single one is over too soon to be a measure."""
    found = measure.bracketed(
        plan,
        baseline=lambda: statistics.mean(_seconds(plan, short, durable=durable) for _ in range(10)),
        subject=lambda: _seconds(plan, long, durable=durable),
    )
    return report.Figure(
        name="growth",
        what=what,
        value=found.ratio,
        unit="x of 100",
        bar=1.2,
        rounds=found.ratios,
        made=found.made,
        note=f"{found.subject * 1e6:.0f} us a step, {found.baseline * 1e6:.0f} us at 100",
    )


def _seconds(plan: measure.Plan, flow: openskelo.Workflow, *, durable: bool) -> float:
    async def run(folder: Path) -> float:
        store = None if durable else memory.MemoryStore()
        async with await flows.engine(folder, store=store) as engine:
            return (await flows.run(engine, flow, PAYLOAD)).seconds / len(flow.nodes)

    with plan.fresh() as folder:
        return asyncio.run(run(folder))


def _size(plan: measure.Plan, flow: openskelo.Workflow) -> _Size:
    """By how much the closed data dir has grown through the run."""

    async def run(folder: Path) -> None:
        async with await flows.engine(folder):
            pass
        empty.append((folder / "data/log.db").stat().st_size)
        async with await flows.engine(folder) as engine:
            await flows.run(engine, flow, PAYLOAD)

    empty: list[int] = []
    with plan.fresh() as folder:
        asyncio.run(run(folder))
        data = folder / "data"
        grown = (data / "log.db").stat().st_size - empty[0]
        mirror = sum(path.stat().st_size for path in (data / "events").glob("*.jsonl"))
    return _Size(database=grown / len(flow.nodes), mirror=mirror / len(flow.nodes))
