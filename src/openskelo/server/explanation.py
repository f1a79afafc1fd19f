"""What `explain` says of a workflow over HTTP: its outline, and what a run of it would take."""

from __future__ import annotations

import asyncio

from openskelo.engine import local, outlook, past
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.workflows import outline


async def of(engine: local.Engine, workflow: definition.Workflow, *, items: int) -> dict[str, Json]:
    """The document of a workflow that may be run, counted as `skelo explain` does; a foreach has so many items."""
    before = await past.read(engine.store, workflow.name)
    return await _counted(engine, workflow, before, items)


async def of_pinned(engine: local.Engine, workflow: definition.Workflow, *, items: int) -> dict[str, Json]:
    """The same of a workflow that a run has pinned, without past runs: what it takes must not count as expected."""
    return await _counted(engine, workflow, None, items)


async def _counted(
    engine: local.Engine, workflow: definition.Workflow, before: past.Past | None, items: int
) -> dict[str, Json]:
    def made() -> dict[str, Json]:
        on = outlook.basis(workflow, engine.project, before, items=items)
        return {**outline.document(workflow), "totals": outlook.totals(outlook.report(workflow, on), on.notes)}

    return await asyncio.to_thread(made)  # prices are looked up in a long list, which is read at the first time
