"""What a run takes over instead of doing it: nodes of the run it was forked from, and results from the cache."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from openskelo.errors import Refused
from openskelo.kernel import commands, definition, events
from tests.kernel.stage import START, Stage, failure, flow, work

KEPT = {
    "a": commands.Kept(outcome="succeeded", outputs={"value": {"out": 1}}),
    "s": commands.Kept(outcome="skipped"),
    "f": commands.Kept(outcome="succeeded", items=({"value": 1}, {"value": 2})),
}


def nodes() -> tuple[definition.Node, ...]:
    return (
        work("a", when="x"),
        work("s", "a", when="x"),
        work("f", "a", foreach=definition.Foreach(items="x")),
        work("n", "a", "f", optional=("s",)),
        work("t", "s"),
    )


@pytest.mark.parametrize("order", list(itertools.permutations(KEPT)), ids="".join)
def test_kept_nodes_come_in_any_order_and_the_rest_runs(order: tuple[str, ...]) -> None:
    stage = Stage(flow(*nodes()))
    told = stage.create(kept={key: KEPT[key] for key in order}, parent={"runId": "r", "node": "n"})
    assert told[:4] == ["run.created", *(f"node.kept {key}" for key in order)]
    assert sorted(told[4:]) == ["attempt.started n 1.1", "node.skipped t upstream"]
    states = {key: (node.visit, node.attempts, node.outcome) for key, node in stage.run.nodes.items()}
    assert states == {
        "a": (0, 0, "succeeded"),
        "s": (0, 0, "skipped"),
        "f": (0, 0, "succeeded"),
        "n": (1, 1, None),
        "t": (1, 0, "skipped"),
    }
    assert stage.run.nodes["a"].outputs == {"value": {"out": 1}}
    assert stage.run.nodes["f"].item_outputs == ({"value": 1}, {"value": 2})
    stage.succeed("n")
    assert stage.ends() == ("ok", None)
    assert stage.run.spent.steps == 1


def test_a_bounce_enters_a_kept_node_for_the_first_time() -> None:
    back = definition.Bounce(when_gate="g", route_to="a", max_bounces=1, reset=("a", "b"))
    stage = Stage(flow(work("a"), work("b", "a", bounces=(back,))))
    stage.create(kept={"a": KEPT["a"]})
    assert stage.fail("b", failure("bad", gate="g"))[-1] == "attempt.started a 1.1"


@pytest.mark.parametrize(
    ("key", "kept"),
    [
        ("nobody", KEPT["a"]),
        ("a", commands.Kept(outcome="succeeded")),
        ("f", commands.Kept(outcome="succeeded", outputs={"value": 1})),
        ("nobody", KEPT["s"]),
    ],
)
def test_what_cannot_be_kept_is_refused_and_no_run_begins(key: str, kept: commands.Kept) -> None:
    stage = Stage(flow(*nodes()))
    with pytest.raises(Refused) as refusal:
        stage.create(kept={key: kept})
    assert refusal.value.code == "KEPT_INVALID"
    assert stage.run.created is False


# -- work that nobody could judge --------------------------------------------------------------------------------------

DONE = {"value": {"out": 3}}


def begun(*of: definition.Node, **more: Any) -> Stage:
    """A fork from `n`, whose work is done already."""
    stage = Stage(flow(*of))
    stage.create(kept={"a": KEPT["a"]}, parent={"runId": "r", "node": "n"}, unjudged=DONE, **more)
    return stage


@pytest.mark.parametrize("more", [{}, {"when": "x"}], ids=["at once", "resolved first"])
def test_work_that_nobody_could_judge_waits_for_that_in_the_first_visit(more: dict[str, Any]) -> None:
    stage = begun(work("a"), work("n", "a", **more))
    assert [events.NAMES[type(fact)] for fact in stage.log[:3]] == ["run.created", "node.kept", "node.unjudged"]
    if more:
        stage.resolve("n")
    assert stage.run.nodes["n"].slots[0].unjudged == DONE
    stage.succeed("n")
    assert stage.ends() == ("ok", None)


def test_an_effect_that_has_happened_in_the_run_before_is_not_asked_about_after_a_crash() -> None:
    stage = begun(work("a"), work("n", "a", effect="once"))
    assert stage.crash() == ["run.recovered", "attempt.interrupted n 1.1 crash", "attempt.started n 1.2"]


def test_a_no_lets_the_work_be_done_anew_unless_it_happens_once() -> None:
    tries = definition.Retry(max_attempts=2)
    stage = begun(work("a"), work("n", "a", retry=tries))
    stage.fail("n", failure("bad", gate="g", happened="yes"))
    assert stage.run.nodes["n"].slots[0].unjudged is None
    assert stage.run.failed is None
    once = begun(work("a"), work("n", "a", retry=tries, effect="once"))
    once.fail("n", failure("bad", gate="g", happened="yes"))
    assert once.ends()[0] == "failed"


@pytest.mark.parametrize(
    ("node", "kept"),
    [
        ("nobody", {"a": KEPT["a"]}),
        ("n", {}),
        ("n", {"a": KEPT["a"], "n": KEPT["a"]}),
        ("f", {"a": KEPT["a"]}),
        ("p", {"a": KEPT["a"]}),
    ],
    ids=["unknown", "not the beginning", "done", "foreach", "person"],
)
def test_what_a_run_does_not_begin_with_is_not_taken_over(node: str, kept: dict[str, commands.Kept]) -> None:
    person = work("p", "a", mode="approval", approval=definition.Approval(prompt="?"))
    stage = Stage(flow(work("a"), work("n", "a"), work("f", "a", foreach=definition.Foreach(items="x")), person))
    with pytest.raises(Refused) as refusal:
        stage.create(kept=kept, parent={"runId": "r", "node": node}, unjudged=DONE)
    assert (refusal.value.code, stage.run.created) == ("KEPT_INVALID", False)


# -- the cache --------------------------------------------------------------------------------------------------------

CACHED = commands.Cached(
    outputs={"value": {"out": 7}}, inputs_hash="sha256:i", output_hash="sha256:o", source={"runId": "r", "node": "a"}
)


def test_a_result_from_the_cache_is_a_step_with_a_receipt_and_no_work() -> None:
    stage = Stage(flow(work("a", cache=True), work("b", "a")))
    stage.create()
    assert stage.resolve("a", cached=CACHED) == ["attempt.succeeded a 1.1", "attempt.started b 1.1"]
    landed = stage.log[1]
    assert isinstance(landed, events.AttemptSucceeded)
    assert landed.cached == {"runId": "r", "node": "a"}
    assert (landed.receipt["inputs_hash"], landed.receipt["output_hash"]) == ("sha256:i", "sha256:o")
    assert stage.run.nodes["a"].outputs == {"value": {"out": 7}}
    assert (stage.run.spent.steps, stage.run.nodes["a"].attempts) == (1, 1)


def test_a_miss_starts_the_work() -> None:
    stage = Stage(flow(work("a", cache=True)))
    stage.create()
    assert stage.resolve("a") == ["node.resolved a", "attempt.started a 1.1"]


def test_a_result_from_the_cache_needs_a_step_of_the_budget() -> None:
    stage = Stage(flow(work("a", cache=True), limits=definition.Limits(max_steps=0)))
    stage.create()
    assert stage.resolve("a", cached=CACHED)[-1] == "run.ended budget_exceeded BUDGET_EXCEEDED"


def test_a_checkpoint_is_not_asked_about_work_that_the_cache_saves() -> None:
    stage = Stage(flow(work("a", cache=True, approval=definition.Approval(prompt="?"))))
    stage.create()
    assert stage.resolve("a", cached=CACHED) == ["attempt.succeeded a 1.1", "run.ended ok"]


@pytest.mark.parametrize(
    "more",
    [
        {"when": "x"},
        {"cache": True, "foreach": definition.Foreach(items="x")},
        {"cache": True, "mode": "approval", "approval": definition.Approval(prompt="?")},
    ],
    ids=["not cached", "foreach", "person"],
)
def test_the_cache_cannot_stand_in_for_items_for_people_or_unasked(more: dict[str, Any]) -> None:
    stage = Stage(flow(work("a", **more)))
    stage.create()
    with pytest.raises(Refused) as refusal:
        stage.resolve("a", cached=CACHED)
    assert refusal.value.code == "RESOLUTION_INVALID"
    assert stage.at == START


def test_a_run_without_the_cache_refuses_what_it_knows_and_says_so_in_its_first_fact() -> None:
    stage = Stage(flow(work("a", cache=True)))
    stage.create(no_cache=True)
    assert (events.encode(stage.log[0])["noCache"], stage.run.no_cache) == (True, True)
    with pytest.raises(Refused) as refusal:
        stage.resolve("a", cached=CACHED)
    assert refusal.value.code == "RESOLUTION_INVALID"
    usual = Stage(flow(work("a", cache=True)))
    usual.create()
    assert ("noCache" in events.encode(usual.log[0]), usual.run.no_cache) == (False, False)
