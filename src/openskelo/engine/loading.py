"""Bringing a run back from its log: fold every line onto the workflow that the run pinned."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

import orjson

from openskelo import errors
from openskelo.contract import envelope, pruned
from openskelo.engine import garbage
from openskelo.frozen import frozen
from openskelo.kernel import codec, definition, events
from openskelo.kernel import run as runs
from openskelo.kernel.apply import apply
from openskelo.kernel.flows import dag
from openskelo.stores import log

#: Gives the workflow of a definition's name and bytes, and its shape.
Restore: TypeAlias = Callable[[str, bytes], tuple[definition.Workflow, dag.Graph]]

#: From so many bytes on a workflow takes longer to restore than others may wait.
_LARGE = 128 * 1024


@frozen
class Loaded:
    """A run as its log says it is, and where its chain ends."""

    run: runs.Run
    chain: envelope.Chain


async def load(store: log.Log, run_id: str, restoring: Restore | None = None, *, patient: bool = False) -> Loaded:
    """Fold the run's log (NotFound; Corrupt when a line cannot be read).

    `restoring` gives the workflow of a definition's name and bytes, and its shape, if not `restore`. Who only looks is
    `patient`: others have their turn meanwhile, also where the log is long.
    """
    run: runs.Run | None = None
    last = b""
    seq = 0
    with garbage.seldom():
        async for lines in store.read(run_id):
            if run is None:
                run = await _begin(store, run_id, lines[0], restoring, patient=patient)
            _fold(run, lines, seq)
            seq += len(lines)
            last = lines[-1]
            if patient:
                await asyncio.sleep(0)
    if run is None:
        raise errors.NotFound(f"there is no run {run_id}", code="RUN_NOT_FOUND", hint="`skelo runs` lists them")
    head = cast("str", orjson.loads(last)["hash"])
    return Loaded(run=run, chain=envelope.Chain(run_id=run_id, seq=seq, head=head))


def _fold(run: runs.Run, lines: Sequence[bytes], after: int) -> None:
    seq = after
    event: events.Event | None = None
    try:
        for line in lines:
            seq += 1
            event = None
            event = envelope.open_line(line)[1]
            apply(run, event)
    except (LookupError, ValueError, TypeError, AttributeError, AssertionError) as error:
        if event is None:
            raise unreadable(run.id, seq, lines[seq - after - 1], error) from error
        # One that the run as it is cannot have had is damage that happens to be readable.
        raise errors.Corrupt(
            f"event {seq} of run {run.id} does not follow from those before: {error!r}",
            hint=f"`skelo verify {run.id}` says more",
        ) from error


def _event(run_id: str, seq: int, line: bytes) -> events.Event:
    try:
        return envelope.open_line(line)[1]
    except (ValueError, KeyError, TypeError) as error:
        raise unreadable(run_id, seq, line, error) from error


def unreadable(run_id: str, seq: int, line: bytes, error: Exception) -> errors.OpenSkeloError:
    """Why a line of our own log gives no event: its data was pruned (NotFound), or it is damaged (Corrupt)."""
    if pruned.is_pruned(line):
        return errors.NotFound(
            f"what went through run {run_id} was pruned",
            code="RUN_PRUNED",
            hint="`skelo verify`, `receipts` and `events` know what is left",
        )
    return errors.Corrupt(
        f"event {seq} of run {run_id} cannot be read: {error}", hint=f"`skelo verify {run_id}` says more"
    )


async def _begin(store: log.Log, run_id: str, first: bytes, restoring: Restore | None, *, patient: bool) -> runs.Run:
    event = _event(run_id, 1, first)
    if not isinstance(event, events.RunCreated):
        raise errors.Corrupt(f"the log of run {run_id} does not begin with run.created")
    data = await store.blob(event.definition)
    if restoring is None:
        return runs.new(run_id, await restored(data) if patient else restore(data))
    return runs.new(run_id, *restoring(event.definition, data))


async def restored(data: bytes) -> definition.Workflow:
    """The same as `restore`; a large one is restored in a thread, so that others have their turn."""
    return restore(data) if len(data) < _LARGE else await asyncio.to_thread(restore, data)


def restore(data: bytes) -> definition.Workflow:
    """The workflow that a run pinned: a store gives its bytes as they were written (Corrupt for any others)."""
    try:
        return codec.restore(orjson.loads(data))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise errors.Corrupt(f"a definition cannot be read: {error}") from error
