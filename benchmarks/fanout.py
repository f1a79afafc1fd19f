"""A durable fan-out: 1,000 pieces of work at once, as the items of a foreach and as nodes side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import openskelo
from benchmarks import flows, measure, raw, report
from openskelo.kernel.json import Json, JsonObject

WIDTH = 1000


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """Times raw group commit: as many tasks, each of which makes as many bytes durable as a piece of work takes here.

    The first foreach has its list among the inputs of each item's work, as most files are written; the second has not.
    """
    width = plan.count(WIDTH)
    items: list[Json] = list(range(width))
    yield _figure(plan, f"durable foreach over {width} at once", _foreach(width, "inputs.n"), items, bar=8)
    flow = _foreach(width, "inputs.n", kind="object")
    yield _figure(plan, f"  {width} objects of 200 bytes", flow, _objects(width), bar=8)
    yield _growth(plan)
    yield _figure(plan, "  the same, items from run.inputs", _foreach(width, "run.inputs.n"), items)
    yield _figure(plan, f"durable fan-out to {width} nodes", _siblings(width), 1)


def _growth(plan: measure.Plan) -> report.Figure:
    """What an object of 200 bytes costs among 10,000 against what it costs among 1,000, with the list as a port."""
    width = plan.count(WIDTH)
    few, many = width, plan.count(10 * WIDTH)
    flow = _foreach(width, "inputs.n", kind="object")
    found = measure.bracketed(
        plan,
        baseline=lambda: _run(plan, flow, _objects(few))[0] / few,
        subject=lambda: _run(plan, flow, _objects(many))[0] / many,
    )
    return report.Figure(
        name="fanout",
        what=f"  an object of {many}, the list as a port",
        value=found.ratio,
        unit=f"x of {few}",
        bar=1.3,
        rounds=found.ratios,
        made=found.made,
        note=f"{found.subject * 1e6:.0f} us an item, {found.baseline * 1e6:.0f} us among {few}",
    )


def _objects(count: int) -> list[Json]:
    """So many objects of 200 bytes."""
    return [{"id": number, "text": "x" * 170} for number in range(count)]


def _foreach(width: int, source: str, kind: str = "integer") -> openskelo.Workflow:
    inputs: dict[str, Json] = {"item": {"type": kind}}
    if source == "inputs.n":
        inputs["n"] = {"type": "array", "from": "inputs.n"}
    each: JsonObject = {
        "id": "each",
        "mode": "deterministic",
        "foreach": {"items": source, "as": "item", "concurrency": width},
        "inputs": inputs,
        "outputs": {"item": kind},
        "deterministic": {"handler": "local:give_item"},
    }
    return flows.workflow([each], kind="array", defaults={"concurrency": width})


def _siblings(width: int) -> openskelo.Workflow:
    blocks = [flows.block(f"s{number}", "inputs") for number in range(width)]
    return flows.workflow(blocks, defaults={"concurrency": width})


async def _give_item(ctx: openskelo.Context) -> JsonObject:
    return {"item": ctx.inputs["item"]}


def _figure(
    plan: measure.Plan, what: str, flow: openskelo.Workflow, n: Json, bar: float | None = None
) -> report.Figure:
    width = plan.count(WIDTH)
    _, size = _run(plan, flow, n)

    def baseline() -> float:
        with plan.fresh() as folder:
            return raw.group_commit(folder, writers=width, records=1, size=size // width)

    found = measure.bracketed(plan, baseline=baseline, subject=lambda: _run(plan, flow, n)[0])
    return report.Figure(
        name="fanout",
        what=what,
        value=found.ratio,
        unit="x group commit",
        bar=bar,
        rounds=found.ratios,
        made=found.made,
        note=f"{found.subject * 1e3:.0f} ms, raw {found.baseline * 1e3:.1f} ms; {size // width} bytes each",
    )


def _run(plan: measure.Plan, flow: openskelo.Workflow, n: Json) -> tuple[float, int]:
    """Seconds for the run, and the bytes of its log."""

    async def run(folder: Path) -> tuple[float, int]:
        handlers: flows.Handlers = {**flows.HANDLERS, "give_item": _give_item}
        async with await flows.engine(folder, handlers=handlers) as engine:
            taken = await flows.run(engine, flow, n)
            return taken.seconds, await flows.bytes_of(engine, taken.run_id)

    with plan.fresh() as folder:
        return asyncio.run(run(folder))
