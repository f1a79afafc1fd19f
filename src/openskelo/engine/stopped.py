"""Runs that a process which stands by had to stop, noted in the data dir for whoever stands by, or will."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from openskelo.engine import clock
from openskelo.kernel import commands
from openskelo.stores import log

#: Why such a run is paused.
REASON = commands.SUSPENDED
#: One note a run, so that two who stop at the same time do not overwrite each other's.
_PREFIX = "keeper:suspended"


async def note(store: log.Log, run_ids: Iterable[str]) -> None:
    """Remember, durably, that nobody asked for these runs to stop."""
    await store.note_all({_key(run_id): {"runs": [run_id]} for run_id in run_ids}, at=clock.wall_ms())


async def noted(store: log.Log) -> Sequence[str]:
    """The runs that are to go on."""
    found = await store.notes(_PREFIX)
    return tuple(dict.fromkeys(run_id for one in found.values() for run_id in cast("list[str]", one["runs"])))


async def forget(store: log.Log, run_id: str) -> None:
    """Somebody went on with a run, or it is gone: from now on it stops when a person says so."""
    if await store.noted(_key(run_id)) is not None:
        await store.drop_notes(_key(run_id), before=2**53)  # whatever the clock says
    shared = await store.noted(_PREFIX)  # one note for all of them, as earlier versions wrote it
    runs = [] if shared is None else cast("list[str]", shared["runs"])
    if run_id in runs:
        await store.note(_PREFIX, {"runs": [other for other in runs if other != run_id]}, at=clock.wall_ms())


def _key(run_id: str) -> str:
    return f"{_PREFIX}/{run_id}"
