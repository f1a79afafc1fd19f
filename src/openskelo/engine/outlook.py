"""What a run of a workflow would take, from its definition, the prices of its models and past runs."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from openskelo import errors
from openskelo.engine import past
from openskelo.executors import task
from openskelo.frozen import field, frozen
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.workflows import asking, estimate, outline


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


def report(workflow: definition.Workflow, on: Basis) -> estimate.Report:
    """Minimum, expected and worst case."""
    return estimate.estimate(workflow, None if on.past is None else on.past.attempts, items=on.items, bounds=on.bounds)


def document(workflow: definition.Workflow, on: Basis) -> dict[str, Json]:
    """The document of `explain`: the workflow taken apart, its totals, and what past runs took."""
    if workflow.plan is None:
        parts = outline.document(workflow)
    else:
        from openskelo.workflows.plan import outline as plans  # noqa: PLC0415  only plans need it

        parts = plans.document(workflow, workflow.plan)
    history = None if on.past is None else on.past.document()
    return {**parts, "totals": totals(report(workflow, on), on.notes), "history": history}


def totals(found: estimate.Report, notes: tuple[str, ...] = ()) -> dict[str, Json]:
    """A report as JSON."""
    return {
        "byMode": {mode: _range(value) for mode, value in found.by_mode.items()},
        "all": _range(found.total),
        "assumedItems": found.items,
        "notes": [*found.notes, *notes],
    }


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
