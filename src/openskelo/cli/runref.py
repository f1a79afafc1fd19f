"""Which run a person means: a full id, the first characters of one, or `last`."""

from __future__ import annotations

from openskelo import errors
from openskelo.engine import clock, loading
from openskelo.engine import document as run_document
from openskelo.kernel.json import JsonObject
from openskelo.stores import log as stores_log

SHORTEST = 4


async def resolve(log: stores_log.Log, text: str) -> stores_log.RunRow:
    """The run that `text` names; NotFound when there is none, InvalidInput when it fits several."""
    wanted = text.strip().lower()
    if wanted == "last":
        newest = await log.rows(limit=1)
        if not newest:
            raise errors.NotFound("there are no runs yet", code="RUN_NOT_FOUND", hint="skelo run FILE starts one")
        return newest[0]
    row = await log.row(wanted)
    if row is not None:
        return row
    if len(wanted) < SHORTEST:
        raise errors.InvalidInput(
            f"{text!r} is too short for a run id", code="USAGE", hint=f"give at least {SHORTEST} characters, or `last`"
        )
    found = await log.rows_named(wanted)
    if not found:
        raise errors.NotFound(f"there is no run {text}", code="RUN_NOT_FOUND", hint="skelo runs lists them")
    if len(found) > 1:
        listed = ", ".join(row.run_id for row in found[:4])
        raise errors.InvalidInput(
            f"{text} fits {len(found)} runs", code="RUN_AMBIGUOUS", hint=f"give more characters of one of: {listed}"
        )
    return found[0]


async def document(log: stores_log.Log, run_id: str) -> JsonObject:
    """The run's document, read from the log alone; nothing is claimed or changed."""
    run = (await loading.load(log, run_id)).run
    return await run_document.show(log, run, max(clock.wall_ms(), run.updated_at))
