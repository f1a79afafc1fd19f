"""What `explain` says of a workflow over HTTP: its outline, and what a run of it would take."""

from __future__ import annotations

from openskelo.engine import outlook
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.workflows import estimate, outline


def of(workflow: definition.Workflow, *, items: int) -> dict[str, Json]:
    """The document; a foreach is counted with so many items."""
    return {**outline.document(workflow), "totals": outlook.totals(estimate.estimate(workflow, items=items))}
