"""Bring a run back from its log: apply every event, in order, to the workflow that the run pinned.

The state of a run is the fold of its log, so loading is the same for a driver that resumes a run, a reader that shows
one, and a fork. `load` gives the run at the end of its log. `walk_events` gives the run after each event, for readers
that need to know what the run was like at some point (replay, compare, forks of plans).

A log that cannot be folded is reported, never skipped: an event whose data was pruned raises NotFound (RUN_PRUNED), any
other line that cannot be read, or does not follow from those before it, raises Corrupt.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TypeAlias, cast

import orjson

from openskelo import errors
from openskelo.executors import stored_values
from openskelo.kernel import commands, definition, events, ids, workflow_codec
from openskelo.kernel import run as runs
from openskelo.kernel.apply import apply
from openskelo.kernel.flows import plan as plan_scheduler
from openskelo.kernel.json import JsonObject, Stored
from openskelo.record import envelope, line_check
from openskelo.stores import api
from openskelo.structs import frozen
from openskelo.values import canonical

#: Returns the workflow for a definition's name and bytes, and the dependencies of its nodes.
Restore: TypeAlias = Callable[[str, bytes], tuple[definition.Workflow, definition.Dependencies]]

#: A definition of this many bytes takes so long to restore that it is done in a thread.
_LARGE_BYTES = 128 * 1024


@frozen
class Loaded:
    """A run at the end of its log, and the end of its chain."""

    run: runs.Run
    chain: envelope.Chain


async def load(store: api.RunLog, run_id: str, restoring: Restore | None = None, *, patient: bool = False) -> Loaded:
    """Return the run at the end of its log. Raise NotFound, or Corrupt if a line cannot be read.

    `restoring` replaces `restore`, for a caller that keeps workflows. With `patient` other tasks run between chunks and
    while a large workflow is restored; it takes longer.
    """
    run: runs.Run | None = None
    last = b""
    seq = 0
    async for lines in store.read_events(run_id):
        if run is None:
            run = await _create_run(store, run_id, _open(run_id, 1, lines[0]), restoring, patient=patient)
        for line in lines:
            seq += 1
            _apply(run, seq, _open(run_id, seq, line))
        last = lines[-1]
        if patient:
            await asyncio.sleep(0)
    run = errors.require_run(run, run_id)
    head = cast("str", orjson.loads(last)["hash"])
    return Loaded(run=run, chain=envelope.Chain(run_id=run_id, seq=seq, head=head))


async def walk_events(store: api.RunLog, run_id: str) -> AsyncIterator[tuple[runs.Run, events.Event]]:
    """Yield each event with the run just after it: always the same run, which changes (NotFound, Corrupt)."""
    run: runs.Run | None = None
    seq = 0
    async for lines in store.read_events(run_id):
        for line in lines:
            seq += 1
            event = _open(run_id, seq, line)
            if run is None:
                run = await _create_run(store, run_id, event)
            _apply(run, seq, event)
            yield run, event
    errors.require_run(run, run_id)


def _open(run_id: str, seq: int, line: bytes) -> events.Event:
    try:
        return envelope.open_line(line)[1]
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise unreadable(run_id, seq, line, error) from error


def _apply(run: runs.Run, seq: int, event: events.Event) -> None:
    try:
        apply(run, event)
    except (LookupError, ValueError, TypeError, AttributeError, AssertionError) as error:
        # The line is an event, but not one that this run can have had: damage that happens to be readable.
        raise errors.Corrupt(
            f"event {seq} of run {run.id} does not follow from those before: {error!r}",
            hint=f"`skelo verify {ids.short(run.id)}` says more",
        ) from error


async def _create_run(
    store: api.BlobReader,
    run_id: str,
    event: events.Event,
    restoring: Restore | None = None,
    *,
    patient: bool = False,
) -> runs.Run:
    if not isinstance(event, events.RunCreated):
        raise errors.Corrupt(f"the log of run {run_id} does not begin with run.created")
    data = await store.read_blob(event.definition)
    if restoring is not None:
        return runs.new(run_id, *restoring(event.definition, data))
    return runs.new(run_id, await restore_patiently(data) if patient else restore(data))


def unreadable(run_id: str, seq: int, line: bytes, error: Exception) -> errors.OpenSkeloError:
    """Return the error for a line that is no event: its data was pruned (NotFound), or it is damaged (Corrupt)."""
    if line_check.is_pruned(line):
        return errors.NotFound(
            f"the content of run {run_id} was pruned",
            code="RUN_PRUNED",
            hint="`skelo verify`, `receipts` and `events` read what is left",
        )
    return errors.Corrupt(
        f"event {seq} of run {run_id} cannot be read: {error}", hint=f"`skelo verify {ids.short(run_id)}` says more"
    )


def restore(data: bytes) -> definition.Workflow:
    """Return the workflow of a definition's bytes; raise Corrupt for bytes that are no definition."""
    try:
        return workflow_codec.decode(cast("JsonObject", canonical.loads_canonical(data)))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise errors.Corrupt(f"a definition cannot be read: {error}") from error


async def restore_patiently(data: bytes) -> definition.Workflow:
    """Return what `restore` returns; a large workflow is restored in a thread, so that other tasks run."""
    if len(data) < _LARGE_BYTES:
        return restore(data)
    return await asyncio.to_thread(restore, data)


def check_workflow(workflow: object) -> None:
    """Raise InvalidInput for an argument that is no Workflow: not every caller has a type checker."""
    if not isinstance(workflow, definition.Workflow):
        raise errors.InvalidInput(
            f"a {type(workflow).__name__} is not a workflow",
            code="USAGE",
            hint="openskelo.load(FILE) makes one, as does openskelo.from_document(DICT)",
        )


async def plan_variables_before(store: api.RunLog, run_id: str, node: str) -> JsonObject:
    """Return a plan's variables as they were when `node` was last entered, or as they are now if it never was."""
    variables, _ = await plan_state_before(store, run_id, node)
    return {name: plan_scheduler.value(await stored_values.load(store, value)) for name, value in variables.items()}


async def plan_state_before(
    store: api.RunLog, run_id: str, node: str
) -> tuple[dict[str, Stored], dict[str, commands.Kept]]:
    """Return a plan's variables and finished steps as they were when `node` was last entered, or as they are now."""
    visit = 0
    variables: dict[str, Stored] = {}
    kept_outputs: dict[str, commands.Kept] = {}
    run: runs.Run | None = None
    async for run, _ in walk_events(store, run_id):
        state = run.nodes.get(node)
        if state is not None and state.visit > visit:
            visit = state.visit
            variables, kept_outputs = _plan_state(run)
    if visit == 0 and run is not None:
        return _plan_state(run)
    return variables, kept_outputs


def _plan_state(run: runs.Run) -> tuple[dict[str, Stored], dict[str, commands.Kept]]:
    kept_outputs = {
        key: commands.Kept(outcome="succeeded", outputs=state.outputs)
        for key, state in run.nodes.items()
        if state.outcome == "succeeded" and state.outputs is not None
    }
    return dict(cast("runs.PlanState", run.plan_state).variables), kept_outputs
