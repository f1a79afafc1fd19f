"""Items that a record says have failed while their foreach went on: what can have happened, and what cannot."""

from __future__ import annotations

from typing import Any

import pytest

from openskelo.kernel import commands, definition, events
from openskelo.record import bundle, state_check
from openskelo.structs import replace
from tests.kernel.stage import RUN, START, Stage, flow, work

KEEPS = definition.Foreach(items="x", on_fail="keep")
STOPS = definition.Foreach(items="x")
BLOB = "sha256:" + "7" * 64
WRONG = {"index": 1, "code": "BAD", "message": "no"}


def refusal(workflow: definition.Workflow, log: list[events.Event]) -> str | None:
    told = state_check.StateCheck(RUN, workflow)
    return next((refused for event in log if (refused := told.check(event)) is not None), None)


def worked() -> Stage:
    """Item 0 has failed in an attempt, item 1 by a person's answer."""
    stage = Stage(flow(work("a", foreach=KEEPS, effect="once")))
    stage.create()
    stage.resolve("a", count=2)
    stage.fail("a", "no", 0)
    stage.crash()
    stage.answer("a", "denied")
    assert stage.ends() == ("ok", None)
    return stage


def test_failed_items_can_have_happened() -> None:
    stage = worked()
    assert refusal(stage.workflow, stage.log) is None


@pytest.mark.parametrize("kind", [events.AttemptFailed, events.ItemFailed])
def test_a_foreach_that_stops_cannot_keep_a_failed_item(kind: type[events.Event]) -> None:
    stage = worked()
    log = [event for event in stage.log if isinstance(event, kind) or not _is_failure(event)]
    other = flow(work("a", foreach=STOPS, effect="once"))
    assert refusal(other, log) == "a cannot keep a failed item"


def _is_failure(event: events.Event) -> bool:
    return isinstance(event, events.AttemptFailed | events.ItemFailed)


@pytest.mark.parametrize("error", [{"code": "BAD"}, {"message": "no"}])
def test_a_failed_item_without_a_reason_is_found(error: dict[str, Any]) -> None:
    stage = worked()
    log = [replace(event, error=error) if isinstance(event, events.ItemFailed) else event for event in stage.log]
    assert refusal(stage.workflow, log) == "a cannot keep a failed item"


@pytest.mark.parametrize("item", [0, 1])
def test_an_item_that_was_not_under_way_cannot_fail(item: int) -> None:
    stage = Stage(flow(work("a", foreach=replace(KEEPS, concurrency=1))))
    stage.create()
    stage.resolve("a", count=3)
    stage.succeed("a", 0)
    failed = events.ItemFailed(at=START, node="a", visit=1, item=item, error={"code": "BAD", "message": "no"})
    assert refusal(stage.workflow, [*stage.log, failed]) == f"item {item} of a fails, but was not under way"


def kept(errors: tuple[Any, ...] = (WRONG,)) -> Stage:
    stage = Stage(flow(work("a", foreach=KEEPS), work("b", "a")))
    items = ({"blob": BLOB, "bytes": 40_000}, None)
    stage.create(kept={"a": commands.Kept(outcome="succeeded", items=items, errors=errors)})
    return stage


def test_failed_items_of_a_kept_node_can_have_happened() -> None:
    stage = kept()
    assert refusal(stage.workflow, stage.log) is None


@pytest.mark.parametrize("errors", [(), ({**WRONG, "index": 0},), (WRONG, WRONG), ({"index": 1},)])
def test_errors_of_a_kept_node_are_those_of_its_failed_items(errors: tuple[Any, ...]) -> None:
    stage = kept(errors=errors)
    assert refusal(stage.workflow, stage.log) == "a is kept, but its errors are not those of its failed items"


def test_a_kept_node_that_stops_has_no_failed_items() -> None:
    other = flow(work("a", foreach=STOPS), work("b", "a"))
    assert refusal(other, kept().log) == "a is kept with failed items, but does not keep failed items"


def test_outputs_beside_failed_items_travel_with_the_record() -> None:
    (event,) = (event for event in kept().log if isinstance(event, events.NodeKept))
    assert list(bundle.blob_references(event)) == [BLOB]
