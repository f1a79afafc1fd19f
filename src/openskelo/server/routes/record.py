"""The record of a run: its events, its log, its receipts, whether it is intact, and how another one differs."""

from __future__ import annotations

import asyncio
from typing import Annotated

import orjson
from fastapi import APIRouter, Query, Response

from openskelo import errors
from openskelo.engine import loading
from openskelo.server import explanation, models, problems, responses
from openskelo.server.bodies import Route
from openskelo.server.desk import VIEWERS, Here
from openskelo.server.params import NodeId, RunId, Since

router = APIRouter(prefix="/api/runs/{run_id}", tags=["record"], route_class=Route, dependencies=VIEWERS)
Facts = Annotated[int, Query(ge=1, le=2000, description="what at most so many facts tell")]


@router.get("/events", response_model=models.EventPage | models.FactPage, responses=problems.responses(404))
async def list_events(
    desk: Here,
    run_id: RunId,
    since: Since = 0,
    limit: Facts = 200,
    facts: Annotated[bool, Query(description="the log itself instead of the stream")] = False,
    node: Annotated[NodeId | None, Query(description="of those only what is about this node")] = None,
) -> Response:
    """The run's events in order, the same as its stream tells; with `facts` the lines of its log, as they are."""
    if facts:
        page = await desk.views.facts(run_id, since, limit, node)
        return responses.joined("facts", page.events, {"nextSeq": page.next_seq})
    page = await desk.views.events(run_id, since, limit, node)
    return responses.joined("events", page.events, {"nextSeq": page.next_seq})


@router.get("/workflow", response_model=models.Explanation, responses=problems.responses(404))
async def explain_run(
    desk: Here,
    run_id: RunId,
    items: Annotated[int, Query(ge=0, le=1_000_000, description="how many items a foreach is counted with")] = 10,
) -> Response:
    """The workflow that the run has pinned, taken apart, and what a run of it was expected to take."""
    run = (await loading.load(desk.engine.store, run_id, patient=True)).run
    return responses.document(await explanation.of_pinned(desk.engine, run.workflow, items=items))


@router.get("/receipts", response_model=models.Receipts, responses=problems.responses(404))
async def list_receipts(desk: Here, run_id: RunId) -> Response:
    """The receipts of the run's attempts, in order."""
    return responses.document(await desk.engine.receipts(run_id))


@router.get("/verify", response_model=models.Verification, responses=problems.responses(404))
async def verify_run(desk: Here, run_id: RunId) -> Response:
    """Whether the run's record is whole and unaltered: its lines, its blobs, its `events.jsonl`, its signature."""
    return responses.document((await desk.engine.verify(run_id)).document())


@router.get("/diff", response_model=models.Comparison, responses=problems.responses(404))
async def diff_runs(
    desk: Here, run_id: RunId, other: Annotated[RunId, Query(description="the run that this one is compared with")]
) -> Response:
    """The run beside another one, node by node: where they part, and what each took; as `skelo diff --json`."""
    if run_id == other:
        raise errors.InvalidInput(
            f"run {run_id} is compared with itself", code="RUN_SAME", hint="`other` is the id of another run"
        )
    found = await desk.engine.diff(run_id, other)
    # As a thread: of runs with many nodes it is long, and others have their turn meanwhile.
    return responses.text(await asyncio.to_thread(lambda: orjson.dumps(found.document())))
