"""What a workflow would take: minimum, expected and worst case by mode, beside what its past runs took."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import field

from openskelo import errors
from openskelo.cli import ink, output, past
from openskelo.executors import task
from openskelo.frozen import frozen
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.workflows import asking, estimate


@frozen
class Basis:
    """What totals are counted from: past runs, what models may take at most, and how long lists are."""

    items: int
    past: past.Past | None = None
    bounds: Mapping[str, estimate.Quantity] = field(default_factory=dict[str, estimate.Quantity])
    notes: tuple[str, ...] = ()


def basis(workflow: definition.Workflow, where: task.Project, before: past.Past | None, *, items: int) -> Basis:
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


def _report(workflow: definition.Workflow, on: Basis) -> estimate.Report:
    return estimate.estimate(workflow, None if on.past is None else on.past.attempts, items=on.items, bounds=on.bounds)


def lines(workflow: definition.Workflow, on: Basis) -> list[str]:
    """The totals as a small table, notes and the past under it."""
    report = _report(workflow, on)
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
        steps = f"{before.steps:.0f} step{'' if round(before.steps) == 1 else 's'}"
        used = f"{steps}, {before.tokens:.0f} tokens, {before.cost_usd:.4g} USD"
        drawn.append(f"  {runs}, on the average: {used}, {output.duration(before.seconds)}")
    return drawn


def document(workflow: definition.Workflow, on: Basis) -> dict[str, Json]:
    """The totals as members of the document of `explain`."""
    report = _report(workflow, on)
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
        _three(found, _time),
    ]


def _time(case: estimate.Quantity) -> str:
    """Every step takes some time: none at all means that nobody knows how much."""
    return "?" if case.steps and not case.duration_sec else output.duration(case.duration_sec)


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
