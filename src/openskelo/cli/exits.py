"""Exit codes: how a script learns what became of the run."""

from __future__ import annotations

from openskelo import errors
from openskelo.kernel.json import JsonObject

COMPLETED = 0
FAILED = 1
INVALID = 2
UNFINISHED = 3
BUDGET = 4
CANCELLED = 130

_ENDINGS = {"ok": COMPLETED, "budget_exceeded": BUDGET, "cancelled": CANCELLED}


def of_run(document: JsonObject) -> int:
    """The code of a run's document; a run without an ending is unfinished, whoever it waits for."""
    ending = document.get("ending")
    if ending is None:
        return UNFINISHED
    return _ENDINGS.get(str(ending), FAILED)


def of_error(error: errors.OpenSkeloError) -> int:
    """2 when the caller can mend it and nothing was started or changed, 3 when it is still to come, else 1."""
    if isinstance(error, errors.Posted):
        return UNFINISHED
    mendable = (errors.InvalidInput, errors.NotFound, errors.Refused, errors.Busy, errors.StoreVersion)
    return INVALID if isinstance(error, mendable) else FAILED
