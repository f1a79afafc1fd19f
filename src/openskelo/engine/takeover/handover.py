"""State that one supervisor leaves for the next: its lock, and the runs that it suspended when it stopped.

Every process with a supervisor holds a shared lock on one file of the data dir for as long as it lives. A process that
could take the lock alone knows that no supervisor runs, and drives a run itself instead of leaving it.

A supervisor that ends notes the runs that it suspends. The next one resumes exactly those: a run that a person has
paused stays paused.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

from openskelo import clock, errors
from openskelo.kernel import commands
from openskelo.stores import api

#: The reason for which a stopped run is paused.
REASON = commands.SUSPENDED
_LOCK_FILE = "standby.lock"
#: One note for each run, so that two supervisors that stop at the same time do not overwrite each other's.
_NOTE_PREFIX = "supervisor:suspended"
_ANY_TIME = 2**53


class SupervisorLock:
    """Shows other processes that this one has a supervisor, until `release` or its death."""

    def __init__(self, data_dir: Path) -> None:
        path = data_dir / _LOCK_FILE
        try:
            self._descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)
        except OSError as error:
            raise errors.StoreError(f"cannot lock {path}: {error.strerror}", code="STORE_IO") from error

    def release(self) -> None:
        """Release the lock; harmless when it was released before."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def has_supervisor(data_dir: Path) -> bool:
    """True if a process has a supervisor on the data dir. Two processes that ask at once may see each other."""
    try:
        descriptor = os.open(data_dir / _LOCK_FILE, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


async def note_stopped(store: api.Store, run_ids: Iterable[str]) -> None:
    """Note durably that a supervisor, and no person, stops these runs."""
    await store.save_notes({_key(run_id): {"runs": [run_id]} for run_id in run_ids}, at=clock.wall_ms())


async def stopped(store: api.Store) -> Sequence[str]:
    """Return the ids of the runs that a supervisor stopped and none has resumed."""
    notes = await store.list_notes(_NOTE_PREFIX)
    return tuple(dict.fromkeys(run_id for note in notes.values() for run_id in cast("list[str]", note["runs"])))


async def forget_stopped(store: api.Store, run_id: str) -> None:
    """Remove the note of a run that was resumed, or is gone."""
    if await store.read_note(_key(run_id)) is not None:
        await store.delete_notes(_key(run_id), before=_ANY_TIME)


def _key(run_id: str) -> str:
    return f"{_NOTE_PREFIX}/{run_id}"
