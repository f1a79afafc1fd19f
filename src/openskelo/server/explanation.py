"""What `explain` says of a workflow over HTTP: its outline, and what a run of it would take."""

from __future__ import annotations

from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.workflows import estimate, outline


def of(workflow: definition.Workflow, *, items: int) -> dict[str, Json]:
    """The document; a foreach is counted with so many items."""
    report = estimate.estimate(workflow, items=items)
    totals: dict[str, Json] = {
        "byMode": {mode: _range(found) for mode, found in report.by_mode.items()},
        "all": _range(report.total),
        "assumedItems": report.items,
        "notes": list(report.notes),
    }
    return {**outline.document(workflow), "totals": totals}


def _range(found: estimate.Range) -> dict[str, Json]:
    cases = {"minimum": found.minimum, "expected": found.expected, "worst": found.worst}
    return {
        name: {
            "steps": case.steps,
            "tokens": case.tokens,
            "costUsd": case.cost_usd,
            "durationSec": case.duration_sec,
        }
        for name, case in cases.items()
    }
