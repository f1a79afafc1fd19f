"""The exit codes of `skelo`, by which a script learns how a run ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openskelo import errors

if TYPE_CHECKING:
    from openskelo.history.run_document import RunDocument

COMPLETED = 0
FAILED = 1
INVALID = 2
UNFINISHED = 3
BUDGET = 4
TEMPORARY = 75
CANCELLED = 130

_ENDINGS = {"ok": COMPLETED, "budget_exceeded": BUDGET, "cancelled": CANCELLED}


def of_run(document: RunDocument) -> int:
    """Return the exit code of a run's document; a run without an ending is unfinished."""
    ending = document["ending"]
    if ending is None:
        return UNFINISHED
    return _ENDINGS.get(ending, FAILED)


def of_error(error: errors.OpenSkeloError) -> int:
    """Return 2 if the caller can fix the error and nothing was changed, 3 if the command is queued, else 1.

    75 (EX_TEMPFAIL) is for a disk that did not confirm a write: a supervisor may start the program again.
    """
    if isinstance(error, errors.CommandQueued):
        return UNFINISHED
    if error.code == "STORE_SYNC":
        return TEMPORARY
    fixable = (errors.InvalidInput, errors.NotFound, errors.Refused, errors.Busy, errors.StoreVersion)
    return INVALID if isinstance(error, fixable) else FAILED
