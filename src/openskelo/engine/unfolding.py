"""Walk through a run's log with the run's state at hand: each event, and the run just after it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from openskelo import errors
from openskelo.contract import envelope
from openskelo.engine import loading
from openskelo.kernel import events
from openskelo.kernel import run as runs
from openskelo.kernel.apply import apply
from openskelo.stores import log


async def unfold(store: log.Log, run_id: str) -> AsyncIterator[tuple[runs.Run, events.Event]]:
    """Every event of the run with the one run that all of them are applied to (NotFound, Corrupt)."""
    run: runs.Run | None = None
    seq = 0
    async for lines in store.read(run_id):
        for line in lines:
            seq += 1
            event = _event(run_id, seq, line)
            if run is None:
                run = await _begin(store, run_id, event)
            _apply(run, seq, event)
            yield run, event
    if run is None:
        raise errors.NotFound(f"there is no run {run_id}", code="RUN_NOT_FOUND", hint="`skelo runs` lists them")


def _event(run_id: str, seq: int, line: bytes) -> events.Event:
    try:
        return envelope.open_line(line)[1]
    except (ValueError, KeyError, TypeError) as error:
        raise loading.unreadable(run_id, seq, line, error) from error


def _apply(run: runs.Run, seq: int, event: events.Event) -> None:
    try:
        apply(run, event)
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise errors.Corrupt(
            f"event {seq} of run {run.id} cannot be read: {error}", hint=f"`skelo verify {run.id}` says more"
        ) from error


async def _begin(store: log.Log, run_id: str, event: events.Event) -> runs.Run:
    if not isinstance(event, events.RunCreated):
        raise errors.Corrupt(f"the log of run {run_id} does not begin with run.created")
    return runs.new(run_id, loading.restore(await store.blob(event.definition)))
