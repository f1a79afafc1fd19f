"""The start of a run: its id is new, its workflow has what it needs, and its first events are durable.

A new run is driven by the process that starts it. An engine that shares runs with workers (`skelo serve --processes N`)
keeps only a few busy runs for itself. Beyond that it appends the first events of a new run, lists the run as `queued`
and does not claim it: the supervisor that finds it first, in any process, drives it.
"""

from __future__ import annotations

import uuid
from typing import cast

from openskelo import errors
from openskelo.engine import pinning
from openskelo.engine.drive import driven_run, driver
from openskelo.engine.takeover import ownership
from openskelo.executors import stored_values
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.history import listing
from openskelo.kernel import commands, definition, ids
from openskelo.kernel import run as runs
from openskelo.kernel.apply import apply
from openskelo.kernel.decide import decide
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import Run
from openskelo.project import Project
from openskelo.record import envelope, line_check
from openskelo.stores import api
from openskelo.values import canonical

#: An engine that shares runs leaves new ones to other processes while it drives this many busy ones.
KEPT_RUNS = 8


class RunStarter:
    """Starts runs for one driver. With `share_with` (the engine's ownership) some are left to other processes."""

    def __init__(
        self,
        store: api.Store,
        run_driver: driver.Driver,
        performer: attempt_performer.Performer,
        pins: pinning.Pins,
        share_with: ownership.Ownership | None = None,
    ) -> None:
        self._store = store
        self._driver = run_driver
        self._performer = performer
        self._pins = pins
        self._share_with = share_with

    async def check_new(self, run_id: str) -> None:
        """Raise InvalidInput (RUN_ID) for an id that is no UUID, Refused (RUN_EXISTS) for one that is taken."""
        if not line_check.is_uuid(run_id):
            raise errors.InvalidInput(f"not a run id: {run_id[:100]!r}", code="RUN_ID", hint="run ids are UUIDs")
        if await self._store.find_run(run_id) is not None:
            raise _exists(run_id)

    def pin(self, workflow: definition.Workflow) -> pinning.Pin:
        """Return the workflow as its runs keep it; raise InvalidInput when a model or a handler is missing."""
        pin = self._pins.of(workflow)
        pinning.check_needs(pin.needs, self._performer)
        return pin

    async def create(self, pin: pinning.Pin, command: commands.CreateRun, run_id: str | None) -> str:
        """Make a new run durable and return its id; raise Refused (RUN_EXISTS) when another caller was first."""
        run_id = run_id or str(uuid.uuid4())
        self._driver.check_loop()
        if not pin.blobs:
            await self._store.put_blob(pin.data, pin.name)
        try:
            if self._share_with is not None and self._share_with.busy_count() >= KEPT_RUNS:
                await self._store.append([_first_append(pin, command, run_id)])
            else:
                await self._drive(pin, command, run_id)
        except errors.Conflict:
            self._driver.runs.forget(run_id)
            raise _exists(run_id) from None
        except errors.Refused:
            raise
        except errors.OpenSkeloError as error:  # of the store, or a defect: its commit may have succeeded all the same
            if not await self._has_started(run_id, error):
                raise
        return run_id

    async def _has_started(self, run_id: str, error: errors.OpenSkeloError) -> bool:
        """True if the run is durable although something failed; raise the error with a hint if that is unknown."""
        try:
            return await self._store.find_run(run_id) is not None
        except Exception:
            command = f"skelo show {ids.short(run_id)}"
            hint = f"run {run_id} may have been started: `{command}` says so once the store can be read"
            raise errors.StoreError(error.message, code=error.code, hint=hint) from error

    async def _drive(self, pin: pinning.Pin, command: commands.CreateRun, run_id: str) -> None:
        run = self._driver.runs.get(run_id)  # if two callers start one id at the same time, the second is refused
        if run is None:
            chain = envelope.Chain(run_id)
            state = runs.new(run_id, pin.workflow, pin.dependencies)
            run = driven_run.DrivenRun(state, chain, None, self._performer)
            self._driver.add(run)
        await self._driver.submit(run, command, pin.blobs)


def _first_append(pin: pinning.Pin, command: commands.CreateRun, run_id: str) -> api.Append:
    """Return what makes a run durable that another process is to drive: no work of it has started."""
    run = runs.new(run_id, pin.workflow, pin.dependencies)
    facts = decide(run, command)
    for fact in facts:
        apply(run, fact)
    return api.Append(
        run_id=run_id,
        expected_seq=0,
        lines=envelope.seal(envelope.Chain(run_id), facts),
        row=listing.row(run, None),  # its status is `queued`
        blobs=pin.blobs,
        claim=False,
    )


def _exists(run_id: str) -> errors.Refused:
    return errors.Refused(f"run {run_id} exists already", code="RUN_EXISTS")


# -- contexts of a plan -----------------------------------------------------------------------------------------------


async def read_contexts(
    store: api.Store, project: Project, workflow: definition.Workflow, values: JsonObject
) -> Stored | None:
    """Return the contexts that a plan uses: the caller's `values`, else what the project's resolvers give.

    They are read once, before anything starts, and stored, so that a replay sees the same bytes. Returns None for a
    workflow that uses no context. Raises InvalidInput (CONTEXT_UNKNOWN) for a value that the plan does not use; a name
    that no resolver knows is an InvalidInput, too.
    """
    context_names = () if workflow.plan is None else workflow.plan.contexts
    unknown = sorted(set(values) - set(context_names))
    if unknown:
        raise errors.InvalidInput(
            f"the workflow uses no context {', '.join(unknown)}",
            code="CONTEXT_UNKNOWN",
            hint=f"it uses {', '.join(context_names)}" if context_names else "it uses none",
        )
    if not context_names:
        return None
    from openskelo.executors.ops import contexts  # noqa: PLC0415  only plans that use contexts need it

    resolved_contexts: dict[str, Json] = {}
    for name in context_names:
        if name in values:
            resolved_contexts[name] = canonical.admit(values[name])
        else:
            resolved_contexts[name] = await contexts.resolve(project, store, name)
    return await stored_values.store(store, resolved_contexts)


async def fork_contexts(
    store: api.Store, project: Project, workflow: definition.Workflow, parent: Run
) -> Stored | None:
    """Return the contexts of a fork: those of its parent as they were; only new names are read now."""
    stored_contexts = None if parent.plan_state is None else parent.plan_state.contexts
    before = cast("JsonObject", await stored_values.load(store, stored_contexts) or {})
    context_names = () if workflow.plan is None else workflow.plan.contexts
    return await read_contexts(
        store, project, workflow, {name: before[name] for name in context_names if name in before}
    )
