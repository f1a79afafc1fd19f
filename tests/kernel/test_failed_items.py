"""A foreach that keeps failed items: the others go on, and the node succeeds with what there is."""

from __future__ import annotations

from typing import Any

from openskelo.kernel import commands, definition, events, follow, outcome
from tests.kernel.stage import Stage, failure, flow, work


def each(count: int = 3, concurrency: int = 2, **more: Any) -> Stage:
    """A node `a` over some items that keeps failed ones, and `b` after it."""
    foreach = definition.Foreach(items="inputs.list", concurrency=concurrency, on_fail="keep")
    stage = Stage(flow(work("a", foreach=foreach, **more), work("b", "a")))
    stage.create()
    stage.resolve("a", count=count)
    return stage


def test_an_item_that_fails_for_good_leaves_the_others_to_go_on() -> None:
    stage = each()
    assert stage.fail("a", "no", 0) == ["attempt.failed a[0] 1.1 keep", "attempt.started a[2] 1.1"]
    assert stage.succeed("a", 2, "two") == ["attempt.succeeded a[2] 1.1"]
    assert stage.succeed("a", 1, "one") == ["attempt.succeeded a[1] 1.1", "node.finished a", "attempt.started b 1.1"]
    node = stage.run.nodes["a"]
    assert node.item_outputs == (None, {"value": {"out": "one"}}, {"value": {"out": "two"}})
    assert node.item_errors == ({"index": 0, "code": "BAD", "message": "no"},)
    assert (node.outcome, node.done_slots, node.failed_slots, node.error) == ("succeeded", 3, 1, None)
    assert stage.run.receipts == 3


def test_an_item_is_kept_as_failed_only_after_its_last_attempt() -> None:
    stage = each(count=1, retry=definition.Retry(max_attempts=2, delay_ms=100))
    assert stage.fail("a", "once", 0) == ["attempt.failed a[0] 1.1 retry +100"]
    stage.tick(100)
    assert stage.fail("a", "twice", 0) == [
        "attempt.failed a[0] 1.2 keep",
        "node.finished a",
        "attempt.started b 1.1",
    ]
    assert stage.run.nodes["a"].item_errors == ({"index": 0, "code": "BAD", "message": "twice"},)


def test_a_node_whose_items_have_all_failed_succeeds() -> None:
    stage = each(count=2)
    stage.fail("a", "no", 0)
    stage.fail("a", "no", 1)
    assert stage.run.nodes["a"].item_outputs == (None, None)
    stage.succeed("b")
    assert stage.ends() == ("ok", None)


def test_a_denied_item_ends_the_run() -> None:
    stage = each()
    assert stage.fail("a", failure("no", denied=True), 0)[-1] == "run.ended denied BAD"


def test_an_item_over_budget_ends_the_run() -> None:
    stage = each()
    needs = definition.Amount(tokens=1)
    assert stage.fail("a", failure("no", needs=needs), 0)[-1] == "run.ended budget_exceeded BAD"


def test_an_item_whose_effect_has_happened_once_is_kept_as_failed() -> None:
    stage = each(count=1, effect="once", retry=definition.Retry(max_attempts=3))
    told = stage.fail("a", failure("broken", happened="yes"), 0)
    assert told[0] == "attempt.failed a[0] 1.1 keep"


def test_a_no_to_an_item_that_stalls_fails_only_the_item() -> None:
    stage = each(count=2, concurrency=1, retry=definition.Retry(max_attempts=9, stall_after=1))
    stage.fail("a", "no", 0, output="sha256:x")
    assert stage.answer("a", "denied") == ["approval.resolved a[0] denied by nora", "item.failed a[0] STALLED"]
    assert stage.succeed("a", 1) == ["attempt.succeeded a[1] 1.1", "node.finished a", "attempt.started b 1.1"]
    assert stage.run.nodes["a"].item_errors == ({"index": 0, "code": "STALLED", "message": "stalled: denied by nora"},)


def test_a_no_to_an_item_with_an_uncertain_effect_fails_only_the_item() -> None:
    stage = each(count=1, effect="once")
    stage.crash()
    assert stage.answer("a", "denied") == [
        "approval.resolved a[0] denied by nora",
        "item.failed a[0] UNCERTAIN_EFFECT",
        "node.finished a",
        "attempt.started b 1.1",
    ]


def test_an_item_that_kills_its_driver_again_and_again_fails_alone() -> None:
    stage = each(count=2)
    stage.succeed("a", 1)
    for _ in range(follow.MAX_INTERRUPTIONS - 1):
        stage.crash()
    assert stage.crash() == [
        "run.recovered",
        "attempt.interrupted a[0] 1.10 crash",
        "item.failed a[0] INTERRUPTED_TOO_OFTEN",
        "node.finished a",
        "attempt.started b 1.1",
    ]


def test_other_items_start_after_one_that_killed_its_driver_too_often() -> None:
    stage = each(count=2, concurrency=1)
    for _ in range(2 * follow.MAX_INTERRUPTIONS - 2):  # the two take turns
        stage.crash()
    stage.crash()
    assert stage.crash() == [
        "run.recovered",
        "attempt.interrupted a[1] 1.10 crash",
        "item.failed a[0] INTERRUPTED_TOO_OFTEN",
        "item.failed a[1] INTERRUPTED_TOO_OFTEN",
        "node.finished a",
        "attempt.started b 1.1",
    ]


def test_an_item_bounces_before_it_is_kept_as_failed() -> None:
    back = definition.Bounce(when_gate="g", route_to="a", max_bounces=1, reset=("a", "b"))
    stage = each(count=2, bounces=(back,))
    stage.succeed("a", 0)
    assert stage.fail("a", failure("bad", gate="g"), 1) == ["attempt.failed a[1] 1.1 bounce", "node.bounced a -> a #1"]
    stage.resolve("a", count=2)
    assert stage.fail("a", failure("bad", gate="g"), 1) == ["attempt.failed a[1] 2.1 keep"]


def test_a_bounce_forgets_the_failed_items_of_the_visit_before() -> None:
    back = definition.Bounce(when_gate="g", route_to="a", max_bounces=1, reset=("a", "b"))
    foreach = definition.Foreach(items="x", on_fail="keep")
    stage = Stage(flow(work("a", foreach=foreach), work("b", "a", bounces=(back,))))
    stage.create()
    stage.resolve("a", count=1)
    stage.fail("a", "no", 0)
    stage.fail("b", failure("too many", gate="g"))
    node = stage.run.nodes["a"]
    assert (node.item_errors, node.item_outputs, node.failed_slots) == ((), None, 0)
    stage.resolve("a", count=1)
    stage.succeed("a", 0)
    assert (node.item_errors, node.failed_slots) == ((), 0)


def test_a_crash_does_not_undo_a_failed_item() -> None:
    stage = each(count=2)
    stage.fail("a", "no", 0)
    assert stage.crash() == ["run.recovered", "attempt.interrupted a[1] 1.1 crash", "attempt.started a[1] 1.2"]


def test_a_fork_keeps_failed_items_with_their_errors() -> None:
    foreach = definition.Foreach(items="x", on_fail="keep")
    stage = Stage(flow(work("a", foreach=foreach), work("b", "a")))
    listed = {"index": 1, "code": "BAD", "message": "no"}
    kept = commands.Kept(outcome="succeeded", items=({"value": 1}, None), errors=(listed,))
    assert stage.create(kept={"a": kept}) == ["run.created", "node.kept a", "attempt.started b 1.1"]
    node = stage.run.nodes["a"]
    assert (node.item_outputs, node.item_errors) == (({"value": 1}, None), (listed,))
    assert events.encode(stage.log[1]) == {
        "node": "a",
        "outcome": "succeeded",
        "items": ({"value": 1}, None),
        "errors": (listed,),
    }


def test_a_fork_without_failed_items_does_not_speak_of_them() -> None:
    stage = Stage(flow(work("a", foreach=definition.Foreach(items="x", on_fail="keep"))))
    stage.create(kept={"a": commands.Kept(outcome="succeeded", items=({"value": 1},))})
    assert "errors" not in events.encode(stage.log[1])


def test_a_repairable_answer_is_repaired_before_the_item_is_kept_as_failed() -> None:
    stage = each(count=1, repairs=1)
    broken = outcome.Failure(code="BAD", message="no", repairable=True)
    assert stage.fail("a", broken, 0) == ["attempt.failed a[0] 1.1 repair", "attempt.started a[0] 1.2"]
    assert stage.fail("a", broken, 0)[0] == "attempt.failed a[0] 1.2 keep"
