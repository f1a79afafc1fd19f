"""One attempt, from what it is given to the letter that reports it and what it leaves for later runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from openskelo import errors
from openskelo.engine import actor as actors
from openskelo.engine import errands, resolve, wiring
from openskelo.executors import attempt, calling, job, keeping, limit, task
from openskelo.kernel import commands, outcome
from openskelo.kernel.json import JsonObject
from openskelo.kernel.run import Run

_NOTHING: Mapping[str, JsonObject] = {}


async def perform(
    blobs: keeping.Blobs, performer: attempt.Performer, errand: errands.Errand, now: Callable[[], int]
) -> actors.Letter:
    """Perform the attempt (StoreError when what it came to cannot be kept)."""
    actor, flight = errand.actor, errand.flight
    cached = _NOTHING
    try:
        given = await wiring.make_task(blobs, actor.run, flight, actor.visits)
    except errors.OpenSkeloError as error:
        if wiring.is_trouble(error):
            raise
        # A blob is gone or damaged, or a ref of a plan leads nowhere.
        retryable = not isinstance(error, errors.AttemptFailed) or error.retryable
        failure = outcome.Failure(code=error.code, message=error.message, retryable=retryable)
        attempted = attempt.Attempted(outcome=outcome.Outcome(inputs_hash="", failure=failure))
    else:
        errand.job = one = job.Job(given, given.inputs)
        code = _code(performer, given) if given.node.cache else None
        attempted = await performer.perform(one)
        # Else nobody knows which code was run, nor, of work that was judged only now, which code did it.
        if code is not None and code == _code(performer, given) and (given.done is None or not code):
            cached = cache_entry(actor.run, given, attempted.outcome, code)
    report = commands.ReportAttempt(
        at=now(),
        node=flight.node,
        visit=flight.visit,
        attempt=flight.attempt,
        item=flight.item,
        outcome=attempted.outcome,
    )
    return actors.Letter(command=report, blobs=attempted.blobs, cached=cached)


def lost(performer: attempt.Performer, errand: errands.Errand, error: BaseException, now: int) -> actors.Letter:
    """The letter for an attempt that ended the task around it: it has failed, and no more is known of it."""
    match error:
        case asyncio.CancelledError():
            failed = limit.cancelled_itself()
        case GeneratorExit():
            failed = errors.AttemptFailed(calling.describe(error), code="HANDLER_RAISED")
        case _:
            failed = errors.AttemptFailed(calling.describe(error), code="INTERNAL")
    flight = errand.flight
    report = commands.ReportAttempt(
        at=now,
        node=flight.node,
        visit=flight.visit,
        attempt=flight.attempt,
        item=flight.item,
        outcome=outcome.Outcome(
            inputs_hash="",
            failure=outcome.Failure(code=failed.code, message=performer.masked(failed.message), happened="unknown"),
        ),
    )
    return actors.Letter(command=report)


def _code(performer: attempt.Performer, of: task.Task) -> str | None:
    """The code that the work is; None when there is none."""
    try:
        return performer.code(of.node)
    except errors.AttemptFailed:
        return None


def cache_entry(run: Run, of: task.Task, result: outcome.Outcome, code: str) -> dict[str, JsonObject]:
    """What a successful attempt of a caching node leaves for later runs.

    Work that was sent back has answered more than its inputs ask, and leaves nothing; nor do items of a foreach.
    """
    sent_back = isinstance(of.feedback, Mapping) and not {"from", "sent_back"}.isdisjoint(of.feedback)
    good = result.failure is None and result.outputs is not None and result.output_hash is not None
    if not good or sent_back or of.item_index is not None:
        return {}
    entry: JsonObject = {
        "outputs": result.outputs,
        "outputHash": result.output_hash,
        "source": {"runId": run.id, "node": of.node.key, "visit": of.visit, "attempt": of.attempt},
    }
    return {resolve.cache_key(run.id, of.node, result.inputs_hash, code): entry}
