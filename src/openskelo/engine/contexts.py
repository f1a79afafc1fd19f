"""The contexts of a plan: read once, before anything starts, and kept, so that a replay sees the same bytes."""

from __future__ import annotations

from typing import cast

from openskelo import errors
from openskelo.executors import keeping, task
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import Run
from openskelo.stores import log
from openskelo.values import canonical


async def read(
    store: log.Log, project: task.Project, workflow: definition.Workflow, given: JsonObject
) -> Stored | None:
    """What the names stand for that the plan uses: what the caller gives, else what the project's resolvers find.

    None where nothing is used. InvalidInput for a name that the plan does not use, or that nobody can resolve.
    """
    used = () if workflow.plan is None else workflow.plan.contexts
    unknown = sorted(set(given) - set(used))
    if unknown:
        raise errors.InvalidInput(
            f"the workflow uses no context {', '.join(unknown)}",
            code="CONTEXT_UNKNOWN",
            hint=f"it uses {', '.join(used)}" if used else "it uses none",
        )
    if not used:
        return None
    found: dict[str, Json] = {}
    for name in used:
        found[name] = canonical.admit(given[name]) if name in given else await _resolve(store, project, name)
    return await keeping.store(store, found)


async def again(store: log.Log, project: task.Project, workflow: definition.Workflow, parent: Run) -> Stored | None:
    """The contexts of a fork: those of its parent, as they were; only new names are read now."""
    before = None if parent.course is None else await keeping.load(store, parent.course.contexts)
    kept = cast("JsonObject", before or {})
    used = () if workflow.plan is None else workflow.plan.contexts
    return await read(store, project, workflow, {name: value for name, value in kept.items() if name in used})


async def _resolve(store: log.Log, project: task.Project, name: str) -> Json:
    from openskelo.executors import contexts  # noqa: PLC0415 -- only plans that use contexts need it

    return await contexts.resolve(project, store, name)
