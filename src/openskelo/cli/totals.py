"""What a workflow would take: minimum, expected and worst case by mode, beside what its past runs took."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import field

import orjson

from openskelo import errors
from openskelo.cli import ink, members, output, place
from openskelo.executors import task
from openskelo.frozen import frozen
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.stores import log as stores_log
from openskelo.workflows import asking, estimate

#: So many finished runs are looked at, among so many newest of all.
_RUNS = 20
_ROWS = 500


@frozen
class Past:
    """What finished runs of the same name used, on the average."""

    runs: int
    succeeded: int
    steps: float
    tokens: float
    cost_usd: float
    seconds: float


async def past(where: task.Project, name: str) -> Past | None:
    """The newest finished runs of a workflow's name; None when there are none."""
    async with place.reading(where) as log:
        rows = [row for row in await log.rows(limit=_ROWS) if row.name == name and row.ending is not None][:_RUNS]
        spent = [await _spent(log, row.run_id) for row in rows]
    if not rows:
        return None
    steps, tokens, nano, wall = (sum(amounts) / len(rows) for amounts in zip(*spent, strict=True))
    return Past(
        runs=len(rows),
        succeeded=sum(row.ending == "ok" for row in rows),
        steps=steps,
        tokens=tokens,
        cost_usd=nano / 1e9,
        seconds=wall / 1e3,
    )


@frozen
class Basis:
    """What totals are counted from: past runs, what models may take at most, and how long lists are."""

    items: int
    past: Past | None = None
    bounds: Mapping[str, estimate.Quantity] = field(default_factory=dict[str, estimate.Quantity])
    notes: tuple[str, ...] = ()


def basis(workflow: definition.Workflow, where: task.Project, before: Past | None, *, items: int) -> Basis:
    """The basis for a workflow in its project: prices are looked up where something is asked of a model."""
    models = where.models
    if models is None or not any(map(asking.is_asking, workflow.nodes.values())):
        return Basis(items=items, past=before)
    from openskelo.workflows import spending  # noqa: PLC0415 - only workflows with models need it

    bounds: dict[str, estimate.Quantity] = {}
    unpriced: dict[str, None] = {}
    for key, node in workflow.nodes.items():
        if not asking.is_asking(node):
            continue
        with contextlib.suppress(errors.AttemptFailed):  # an expert that is not here: somebody may bring it
            most = spending.worst(node, workflow, models)
            bounds[key] = estimate.Quantity(tokens=most.tokens, cost_usd=most.cost_nanousd / 1e9)
            unpriced |= dict.fromkeys(most.unpriced)
    notes = (f"nobody knows the price of {', '.join(unpriced)}",) if unpriced else ()
    return Basis(items=items, past=before, bounds=bounds, notes=notes)


def lines(workflow: definition.Workflow, on: Basis) -> list[str]:
    """The totals as a small table, notes and the past under it."""
    report = estimate.estimate(workflow, items=on.items, bounds=on.bounds)
    before = on.past
    rows = [["", "blocks" if workflow.plan is None else "listed", "steps", "tokens", "USD", "time"]]
    for mode, found in report.by_mode.items():
        count = sum(node.mode == mode for node in workflow.nodes.values())
        rows.append([ink.BADGES[mode], str(count), *_cells(found)])
    rows.append(["all", str(len(workflow.nodes)), *_cells(report.total)])
    widths = [max(map(ink.width, column)) for column in zip(*rows, strict=True)]
    drawn = ["  " + "  ".join(map(ink.pad, row, widths)).rstrip() for row in rows]
    drawn.append("  minimum / expected / worst case (every retry, repair and bounce used)")
    drawn += [f"  {ink.one_line(text)}" for text in (*report.notes, *on.notes)]
    if before is not None:
        runs = f"{before.runs} past run{'' if before.runs == 1 else 's'} ({before.succeeded} ok)"
        used = f"{before.steps:.4g} steps, {before.tokens:.6g} tokens, {before.cost_usd:.4g} USD"
        drawn.append(f"  {runs}, on the average: {used}, {output.duration(before.seconds)}")
    return drawn


def document(workflow: definition.Workflow, on: Basis) -> dict[str, Json]:
    """The totals as members of the document of `explain`."""
    report = estimate.estimate(workflow, items=on.items, bounds=on.bounds)
    before = on.past
    found: dict[str, Json] = {
        "totals": {
            "byMode": {mode: _range(value) for mode, value in report.by_mode.items()},
            "all": _range(report.total),
            "assumedItems": report.items,
            "notes": [*report.notes, *on.notes],
        },
        "history": None,
    }
    if before is not None:
        found["history"] = {
            "runs": before.runs,
            "succeeded": before.succeeded,
            "average": {
                "steps": before.steps,
                "tokens": before.tokens,
                "costUsd": before.cost_usd,
                "durationSec": before.seconds,
            },
        }
    return found


def _cells(found: estimate.Range) -> list[str]:
    return [
        _three(found, lambda case: str(case.steps)),
        _three(found, lambda case: str(case.tokens)),
        _three(found, lambda case: f"{case.cost_usd:.4g}"),
        _three(found, lambda case: output.duration(case.duration_sec)),
    ]


def _three(found: estimate.Range, text: Callable[[estimate.Quantity], str]) -> str:
    """The three cases, or one when they are the same."""
    cases = [text(found.minimum), text(found.expected), text(found.worst)]
    return cases[0] if len(set(cases)) == 1 else " / ".join(cases)


def _range(found: estimate.Range) -> dict[str, Json]:
    cases = {"minimum": found.minimum, "expected": found.expected, "worst": found.worst}
    return {name: _quantity(case) for name, case in cases.items()}


def _quantity(case: estimate.Quantity) -> dict[str, Json]:
    return {
        "steps": case.steps,
        "tokens": case.tokens,
        "costUsd": case.cost_usd,
        "durationSec": case.duration_sec,
    }


async def _spent(log: stores_log.Log, run_id: str) -> tuple[float, ...]:
    """Steps, tokens, nano-dollars and milliseconds of a finished run: its last event holds them."""
    last = b"{}"
    async for chunk in log.read(run_id):
        last = chunk[-1]
    spent = members.object_at(members.object_at(orjson.loads(last), "data"), "spent")
    found = (spent.get(key) for key in ("steps", "tokens", "costNanousd", "wallMs"))
    return tuple(value if isinstance(value, int | float) else 0 for value in found)
