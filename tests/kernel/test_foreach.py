"""One node, many items: concurrency, order, retries, and none at all."""

from __future__ import annotations

from typing import Any

import pytest

from openskelo.errors import Refused
from openskelo.kernel import commands, definition, outcome
from openskelo.kernel import run as runs
from tests.kernel.stage import Stage, flow, work


def each(concurrency: int = 2, count: int = 3, **more: Any) -> Stage:
    """A node `a` over some items, and `b` after it."""
    foreach = definition.Foreach(items="inputs.list", concurrency=concurrency)
    stage = Stage(flow(work("a", foreach=foreach, **more), work("b", "a")))
    stage.create()
    stage.resolve("a", count=count)
    return stage


def test_items_run_as_many_at_a_time_as_allowed_and_their_results_are_in_order() -> None:
    stage = Stage(flow(work("a", foreach=definition.Foreach(items="x", concurrency=2)), work("b", "a")))
    stage.create()
    assert stage.resolve("a", count=3) == ["node.resolved a x3", "attempt.started a[0] 1.1", "attempt.started a[1] 1.1"]
    assert stage.succeed("a", 1, "one") == ["attempt.succeeded a[1] 1.1", "attempt.started a[2] 1.1"]
    assert stage.succeed("a", 2, "two") == ["attempt.succeeded a[2] 1.1"]
    assert stage.succeed("a", 0, "zero") == ["attempt.succeeded a[0] 1.1", "node.finished a", "attempt.started b 1.1"]
    assert stage.run.nodes["a"].item_outputs == tuple({"value": {"out": word}} for word in ("zero", "one", "two"))
    assert stage.run.nodes["a"].items == {"value": [0, 1, 2]}


def test_no_items_are_done_at_once() -> None:
    stage = Stage(flow(work("a", foreach=definition.Foreach(items="x")), work("b", "a")))
    stage.create()
    assert stage.resolve("a", count=0) == ["node.resolved a x0", "node.finished a", "attempt.started b 1.1"]
    assert stage.run.nodes["a"].item_outputs == ()
    assert stage.outcomes()["a"] == "succeeded"


def test_nobody_is_asked_about_no_items() -> None:
    """The question would be left open by a node that is done."""
    approval = definition.Approval(prompt="all?")
    stage = Stage(flow(work("a", foreach=definition.Foreach(items="x"), approval=approval)))
    stage.create()
    assert stage.ask("a", count=0) == ["node.resolved a x0", "node.finished a", "run.ended ok"]


def test_an_item_is_retried_for_itself_and_leaves_its_room_to_the_others() -> None:
    stage = each(concurrency=1, retry=definition.Retry(max_attempts=2, delay_ms=100))
    assert stage.fail("a", item=0) == ["attempt.failed a[0] 1.1 retry +100", "attempt.started a[1] 1.1"]
    assert stage.succeed("a", 1) == ["attempt.succeeded a[1] 1.1", "attempt.started a[2] 1.1"]
    assert stage.tick(100) == ["attempt.due a[0]"]
    assert stage.succeed("a", 2) == ["attempt.succeeded a[2] 1.1", "attempt.started a[0] 1.2"]
    assert stage.succeed("a", 0) == ["attempt.succeeded a[0] 1.2", "node.finished a", "attempt.started b 1.1"]


def test_one_item_that_fails_for_good_fails_the_node_and_stops_the_others() -> None:
    stage = each()
    assert stage.fail("a", item=1) == [
        "attempt.failed a[1] 1.1 fail",
        "run.ending failed BAD",
        "attempt.cancelled a[0] 1.1 ending",
        "run.ended failed BAD",
    ]
    assert stage.outcomes() == {"a": "failed", "b": None}


def test_one_item_that_stalls_does_not_hold_up_the_others() -> None:
    stage = each(concurrency=1, count=2, retry=definition.Retry(max_attempts=9, stall_after=1))
    assert stage.fail("a", item=0, output="sha256:x") == [
        "attempt.failed a[0] 1.1 ask",
        "run.stalled a[0] output",
        "approval.requested a[0] stalled",
        "attempt.started a[1] 1.1",
    ]
    assert stage.answer("a") == ["approval.resolved a[0] approved by nora"]
    assert stage.succeed("a", 1) == ["attempt.succeeded a[1] 1.1", "attempt.started a[0] 1.2"]


def test_the_feedback_of_a_bounce_reaches_every_item() -> None:
    rule = definition.Bounce(when_gate="g", route_to="a", max_bounces=1, reset=("a", "b"))
    foreach = definition.Foreach(items="x")
    stage = Stage(flow(work("a", foreach=foreach), work("b", "a", bounces=(rule,))))
    stage.create()
    stage.resolve("a", count=2)
    stage.succeed("a", 0)
    stage.succeed("a", 1)
    stage.fail("b", outcome.Failure(code="GATE", message="bad", gate="g"))
    stage.resolve("a", count=2)
    first, second = (slot.feedback for slot in stage.run.nodes["a"].slots)
    assert first == second
    assert isinstance(first, dict)
    assert (first["from"], first["bounce"]) == ("b", 1)


def test_a_paused_run_whose_last_items_land_is_over() -> None:
    stage = Stage(flow(work("a", foreach=definition.Foreach(items="x", concurrency=2))))
    stage.create()
    stage.resolve("a", count=2)
    stage.step(commands.PauseRun(at=stage.at, by="nora"))
    assert stage.succeed("a", 1) == ["attempt.succeeded a[1] 1.1"]
    assert stage.succeed("a", 0) == ["attempt.succeeded a[0] 1.1", "node.finished a", "run.ended ok"]


def test_a_paused_run_does_not_finish_the_node_until_it_is_resumed() -> None:
    stage = each(count=1)
    stage.step(commands.PauseRun(at=stage.at, by="nora"))
    assert stage.succeed("a", 0) == ["attempt.succeeded a[0] 1.1"]
    assert runs.status(stage.run) == "paused"
    assert stage.step(commands.ResumeRun(at=stage.at, by="nora")) == [
        "run.resumed",
        "node.finished a",
        "attempt.started b 1.1",
    ]


@pytest.mark.parametrize("given", [{}, {"count": 2, "items": None}, {"items": {"value": []}}, {"count": -1}])
def test_a_foreach_without_its_items_is_refused(given: dict[str, Any]) -> None:
    stage = Stage(flow(work("a", foreach=definition.Foreach(items="x"))))
    stage.create()
    with pytest.raises(Refused) as refusal:
        stage.resolve("a", **given)
    assert refusal.value.code == "RESOLUTION_INVALID"


@pytest.mark.parametrize("given", [{"count": 2}, {"count": 2, "items": None}, {"items": {"value": []}}])
def test_items_for_a_node_without_a_foreach_are_refused(given: dict[str, Any]) -> None:
    stage = Stage(flow(work("a", when="x")))
    stage.create()
    with pytest.raises(Refused) as refusal:
        stage.resolve("a", **given)
    assert refusal.value.code == "RESOLUTION_INVALID"


def test_a_report_must_name_its_item() -> None:
    stage = each()
    flight = stage.run.in_flight["a", 1, 0]
    with pytest.raises(Refused) as refusal:
        stage.step(
            commands.ReportInterrupted(at=stage.at, node="a", visit=1, attempt=flight.attempt)  # item 0, unnamed
        )
    assert refusal.value.code == "STALE_REPORT"


def test_the_error_of_the_run_names_the_item_that_failed() -> None:
    stage = each(concurrency=3)
    assert stage.fail("a", "no", 2)[-1] == "run.ended failed BAD"
    assert stage.run.error == {"code": "BAD", "message": "no", "node": "a", "item": 2}


def test_a_no_to_the_work_on_items_is_about_all_of_them() -> None:
    ask = definition.Approval(prompt="?")
    stage = Stage(flow(work("a", foreach=definition.Foreach(items="x"), approval=ask)))
    stage.create()
    stage.ask("a", count=3)
    stage.answer("a", "denied")
    assert stage.run.error == {"code": "APPROVAL_DENIED", "message": "denied by nora", "by": "nora", "node": "a"}
