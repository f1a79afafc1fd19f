"""Approvals that are answered, as the events of their runs told them: the question beside the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.server import views


async def of(shown: views.Views, closed: Sequence[tuple[str, str]]) -> list[JsonObject]:
    """The documents of these (approval id, run id), in their order; what a pruned run asked is not told any more."""
    by_run: dict[str, dict[str, JsonObject]] = {}
    for _, run_id in closed:
        if run_id not in by_run:
            by_run[run_id] = await _of_run(shown, run_id)
    return [by_run[run_id][approval_id] for approval_id, run_id in closed if approval_id in by_run[run_id]]


async def _of_run(shown: views.Views, run_id: str) -> dict[str, JsonObject]:
    questions: dict[str, Json] = {}
    found: dict[str, JsonObject] = {}
    try:
        told = await shown.telling(run_id, b'"approval.re')
    except errors.NotFound:
        return {}
    for event in told:
        name = cast("str", event.get("approvalId"))
        if event["type"] == "approval.requested":
            questions[name] = event["approval"]
        elif event["type"] == "approval.resolved" and name in questions:
            found[name] = _answered(questions[name], event)
    return found


def _answered(question: Json, event: JsonObject) -> JsonObject:
    return {
        "approval": question,
        "resolution": event["resolution"],
        "by": event["by"],
        "digest": event["digest"],
        "withdrawn": event["withdrawn"],
        "answeredAt": event["ts"],
    }
