"""Items of a foreach that a forked run takes over from its parent, and those that are left to do."""

from __future__ import annotations

from typing import Any

import pytest

from openskelo.errors import Refused
from openskelo.kernel import commands, definition, events
from tests.kernel.stage import Stage, failure, flow, work

DONE = (
    commands.KeptItem(index=0, inputs_hash="sha256:0", outputs={"value": {"out": "zero"}}),
    commands.KeptItem(index=2, inputs_hash="sha256:2", outputs={"value": {"out": "two"}}),
)


def forked(*others: definition.Node, **more: Any) -> Stage:
    """A fork from `a`, of whose items two were done."""
    stage = Stage(flow(work("a", foreach=definition.Foreach(items="x", concurrency=2), **more), *others))
    stage.create(parent={"runId": "r", "node": "a"}, items={"a": DONE})
    return stage


def test_only_the_others_are_done_and_all_results_are_in_order() -> None:
    stage = forked(work("b", "a"))
    assert stage.resolve("a", count=3, taken=(0, -1, 1)) == ["node.resolved a x3", "attempt.started a[1] 1.1"]
    assert stage.succeed("a", 1, "one") == ["attempt.succeeded a[1] 1.1", "node.finished a", "attempt.started b 1.1"]
    node = stage.run.nodes["a"]
    assert node.item_outputs == tuple({"value": {"out": word}} for word in ("zero", "one", "two"))
    assert (node.done_slots, node.kept_slots, node.attempts, stage.run.spent.steps) == (3, 2, 1, 1)
    assert (stage.run.receipts, stage.run.kept_items) == (1, {})


def test_the_log_says_what_was_taken_over_and_as_what() -> None:
    stage = forked()
    stage.resolve("a", count=3, taken=(-1, 1, 0), code="sha256:c")
    kept, resolved = (events.encode(fact) for fact in stage.log[1:3])
    assert kept == {
        "node": "a",
        "items": (
            {"index": 0, "inputsHash": "sha256:0", "outputs": {"value": {"out": "zero"}}},
            {"index": 2, "inputsHash": "sha256:2", "outputs": {"value": {"out": "two"}}},
        ),
    }
    assert (resolved["taken"], resolved["code"], stage.run.nodes["a"].code) == ((-1, 1, 0), "sha256:c", "sha256:c")
    assert [slot.outputs for slot in stage.run.nodes["a"].slots] == [None, DONE[1].outputs, DONE[0].outputs]


def test_a_run_that_takes_nothing_over_does_not_speak_of_it() -> None:
    stage = Stage(flow(work("a", foreach=definition.Foreach(items="x"))))
    stage.create()
    stage.resolve("a", count=1)
    assert {"taken", "code"}.isdisjoint(events.encode(stage.log[1]))


def test_a_node_whose_items_are_all_there_is_finished_at_once() -> None:
    stage = forked(work("b", "a"))
    assert stage.resolve("a", count=2, taken=(0, 1)) == [
        "node.resolved a x2",
        "node.finished a",
        "attempt.started b 1.1",
    ]
    assert stage.run.spent.steps == 0


def test_a_person_is_asked_about_the_others_and_about_nothing_where_there_are_none() -> None:
    approval = definition.Approval(prompt="all?")
    stage = forked(approval=approval)
    assert stage.ask("a", count=3, taken=(0, -1, 1)) == ["node.resolved a x3", "approval.requested a approval"]
    assert stage.answer("a") == ["approval.resolved a approved by nora", "attempt.started a[1] 1.1"]
    done = forked(approval=approval)
    assert done.ask("a", count=2, taken=(0, 1)) == ["node.resolved a x2", "node.finished a", "run.ended ok"]


def test_items_of_changed_inputs_are_none_that_were_done() -> None:
    stage = forked(approval=definition.Approval(prompt="all?"))
    stage.ask("a", count=3, taken=(0, -1, 1))
    changed: dict[str, Any] = {
        "args": {"list": [7, 8]},
        "new_digest": "sha256:n",
        "items": {"value": [7, 8]},
        "count": 2,
    }
    stage.answer("a", "modified", **changed)
    node = stage.run.nodes["a"]
    assert (node.done_slots, node.kept_slots, len(stage.run.in_flight)) == (0, 0, 2)
    stage.succeed("a", 0)
    stage.succeed("a", 1)
    assert stage.ends() == ("ok", None)


def test_what_is_sent_back_is_done_anew() -> None:
    back = definition.Bounce(when_gate="g", route_to="a", max_bounces=1, reset=("a", "b"))
    stage = forked(work("b", "a", bounces=(back,)))
    stage.resolve("a", count=2, taken=(0, 1))
    stage.fail("b", failure("bad", gate="g"))
    assert stage.run.nodes["a"].kept_slots == 0
    with pytest.raises(Refused) as refusal:
        stage.resolve("a", count=2, taken=(0, 1))
    assert refusal.value.code == "RESOLUTION_INVALID"
    assert stage.resolve("a", count=2)[1:] == ["attempt.started a[0] 2.1", "attempt.started a[1] 2.1"]


@pytest.mark.parametrize("taken", [(0, 1), (0, 1, 2), (0, -2, 1), (0, 1, -1, -1)])
def test_items_that_were_not_taken_over_are_refused(taken: tuple[int, ...]) -> None:
    stage = forked()
    with pytest.raises(Refused) as refusal:
        stage.resolve("a", count=3, taken=taken)
    assert (refusal.value.code, stage.run.nodes["a"].items) == ("RESOLUTION_INVALID", None)


@pytest.mark.parametrize("key", ["nobody", "plain", "a"])
def test_only_a_foreach_that_is_done_again_has_items_to_keep(key: str) -> None:
    stage = Stage(flow(work("plain"), work("a", foreach=definition.Foreach(items="x"))))
    whole = {"a": commands.Kept(outcome="succeeded", items=({"value": 1},))} if key == "a" else {}
    with pytest.raises(Refused) as refusal:
        stage.create(kept=whole, items={key: DONE})
    assert (refusal.value.code, stage.run.created) == ("KEPT_INVALID", False)


def test_a_crash_does_not_undo_what_was_taken_over() -> None:
    stage = forked()
    stage.resolve("a", count=3, taken=(0, -1, 1))
    assert stage.crash() == ["run.recovered", "attempt.interrupted a[1] 1.1 crash", "attempt.started a[1] 1.2"]
    stage.succeed("a", 1)
    assert (stage.ends(), isinstance(stage.log[1], events.ItemsKept)) == (("ok", None), True)
