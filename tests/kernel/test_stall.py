"""Loops that make no progress: noticed by output or by verdict, in retries and in bounces, and put to a person."""

from __future__ import annotations

from typing import Any, cast

import pytest

from openskelo.errors import Refused
from openskelo.kernel import definition, events
from openskelo.kernel import run as runs
from tests.kernel.stage import Stage, failure, flow, work

BAD = failure("not good", code="GATE_FAILED", gate="good")


def retrying(stall_after: int = 2, max_attempts: int = 9, **more: Any) -> Stage:
    retry = definition.Retry(max_attempts=max_attempts, stall_after=stall_after)
    stage = Stage(flow(work("a", retry=retry, **more)))
    stage.create()
    return stage


def looping(stall_after: int = 2) -> Stage:
    back = definition.Bounce(when_gate="good", route_to="a", max_bounces=9, reset=("a", "b"))
    stage = Stage(flow(work("a"), work("b", "a", bounces=(back,), retry=definition.Retry(stall_after=stall_after))))
    stage.create()
    stage.succeed("a")
    return stage


def test_the_same_output_again_stops_the_retries_and_asks() -> None:
    stage = retrying()
    assert stage.fail("a", BAD, output="sha256:x") == [
        "attempt.failed a 1.1 retry +0",
        "attempt.due a",
        "attempt.started a 1.2",
    ]
    assert stage.fail("a", BAD, output="sha256:x") == [
        "attempt.failed a 1.2 ask",
        "run.stalled a output",
        "approval.requested a stalled",
    ]
    evidence = {"repeats": 2, "code": "GATE_FAILED", "message": "not good", "outputHash": "sha256:x"}
    stalled = next(event for event in stage.log if isinstance(event, events.RunStalled))
    assert stalled == events.RunStalled(at=stage.at, node="a", visit=1, kind="output", evidence=evidence)
    asked = stage.log[-1]
    assert isinstance(asked, events.ApprovalRequested)
    assert asked.tool["args"] == {"node": "a", "kind": "output", **evidence}
    assert asked.prompt == (
        "a has failed the same way 2 times: GATE_FAILED not good\nApprove to go on trying, deny to end the run."
    )
    assert runs.status(stage.run) == "paused"


def test_a_long_verdict_is_shortened_in_the_question_and_whole_in_its_arguments() -> None:
    stage = retrying()
    long = failure("x" * 1000, code="GATE_FAILED", gate="good")
    for _ in range(2):
        stage.fail("a", long, output="sha256:x")
    asked = stage.log[-1]
    assert isinstance(asked, events.ApprovalRequested)
    assert asked.prompt.splitlines()[0] == f"a has failed the same way 2 times: GATE_FAILED {'x' * 388}…"
    assert asked.tool["args"] == {
        "node": "a",
        "kind": "output",
        "repeats": 2,
        "code": "GATE_FAILED",
        "message": "x" * 1000,
        "outputHash": "sha256:x",
    }


def test_the_same_verdict_on_other_outputs_stalls_by_verdict() -> None:
    stage = retrying()
    stage.fail("a", BAD, output="sha256:x")
    assert stage.fail("a", BAD, output="sha256:y")[1] == "run.stalled a verdict"


def test_another_verdict_begins_a_new_streak() -> None:
    stage = retrying()
    stage.fail("a", BAD, output="sha256:x")
    assert stage.fail("a", failure("other"), output="sha256:x")[0] == "attempt.failed a 1.2 retry +0"
    assert stage.fail("a", BAD, output="sha256:x")[0] == "attempt.failed a 1.3 retry +0"


def test_failures_without_any_output_never_stall() -> None:
    """A server that is down says the same every time; retries are for that."""
    stage = retrying(max_attempts=5)
    for attempt in range(1, 5):
        assert stage.fail("a", BAD)[0] == f"attempt.failed a 1.{attempt} retry +0"
    assert stage.fail("a", BAD)[0] == "attempt.failed a 1.5 fail"


def test_stalling_can_be_switched_off() -> None:
    stage = retrying(stall_after=0, max_attempts=4)
    for _ in range(3):
        stage.fail("a", BAD, output="sha256:x")
    assert stage.fail("a", BAD, output="sha256:x")[0] == "attempt.failed a 1.4 fail"


def test_yes_goes_on_trying_with_a_fresh_count() -> None:
    stage = retrying()
    stage.fail("a", BAD, output="sha256:x")
    stage.fail("a", BAD, output="sha256:x")
    assert stage.answer("a") == ["approval.resolved a approved by nora", "attempt.started a 1.3"]
    assert stage.fail("a", BAD, output="sha256:x")[0] == "attempt.failed a 1.3 retry +0"
    assert stage.fail("a", BAD, output="sha256:x")[0] == "attempt.failed a 1.4 ask"


def test_no_ends_the_run_with_the_last_failure_as_evidence() -> None:
    stage = retrying()
    stage.fail("a", BAD, output="sha256:x")
    stage.fail("a", BAD, output="sha256:x")
    assert stage.answer("a", "denied", reason="hopeless") == [
        "approval.resolved a denied by nora",
        "node.failed a failed STALLED",
        "run.ending failed STALLED",
        "run.ended failed STALLED",
    ]
    last = {"code": "GATE_FAILED", "message": "not good", "gate": "good", "outputHash": "sha256:x"}
    assert stage.run.error == {"code": "STALLED", "message": "hopeless", "last": last, "node": "a"}


def test_a_stalled_loop_cannot_be_modified() -> None:
    stage = retrying()
    stage.fail("a", BAD, output="sha256:x")
    stage.fail("a", BAD, output="sha256:x")
    with pytest.raises(Refused, match="approved or denied"):
        stage.answer("a", "modified", args={})
    stage.check()


def test_only_those_who_may_let_the_node_work_may_let_it_go_on() -> None:
    approval = definition.Approval(prompt="?", approvers=("kim",))
    stage = retrying(approval=approval)
    stage.ask("a")
    stage.answer("a", by="kim")
    stage.fail("a", BAD, output="sha256:x")
    stage.fail("a", BAD, output="sha256:x")
    with pytest.raises(Refused, match="nora may not answer"):
        stage.answer("a")
    assert stage.answer("a", by="kim")[-1] == "attempt.started a 1.3"


def test_a_bounce_loop_that_turns_in_circles_asks_and_goes_on() -> None:
    stage = looping()
    stage.fail("b", BAD, output="sha256:x")
    stage.succeed("a")
    assert stage.fail("b", BAD, output="sha256:x") == [
        "attempt.failed b 2.1 ask",
        "run.stalled b output",
        "approval.requested b stalled",
    ]
    assert stage.answer("b") == [
        "approval.resolved b approved by nora",
        "node.bounced b -> a #2",
        "attempt.started a 3.1",
    ]
    assert stage.run.nodes["a"].slots[0].feedback is not None
    stage.succeed("a")
    assert stage.fail("b", BAD, output="sha256:x")[0] == "attempt.failed b 3.1 bounce"


def test_a_bounce_loop_that_turns_in_circles_ends_when_told_so() -> None:
    stage = looping()
    stage.fail("b", BAD, output="sha256:x")
    stage.succeed("a")
    stage.fail("b", BAD, output="sha256:y")
    stage.answer("b", "denied")
    assert stage.ends() == ("failed", "STALLED")
    assert stage.run.error is not None
    assert stage.run.error["message"] == "stalled: denied by nora"


def items_looping() -> Stage:
    """`b` works on two items, and any of them may send the run back."""
    back = definition.Bounce(when_gate="good", route_to="a", max_bounces=9, reset=("a", "b"))
    each = definition.Foreach(items="x", concurrency=1)
    node = work("b", "a", bounces=(back,), foreach=each, retry=definition.Retry(stall_after=2))
    stage = Stage(flow(work("a"), node))
    stage.create()
    stage.succeed("a")
    stage.resolve("b", count=2)
    return stage


def test_an_item_that_keeps_sending_the_run_back_stalls_although_others_succeed() -> None:
    stage = items_looping()
    stage.succeed("b", 0)
    assert stage.fail("b", BAD, 1, output="sha256:x")[-1] == "attempt.started a 2.1"
    stage.succeed("a")
    stage.resolve("b", count=2)
    stage.succeed("b", 0)
    told = stage.fail("b", BAD, 1, output="sha256:y")
    assert told[-2:] == ["run.stalled b[1] verdict", "approval.requested b[1] stalled"]
    prompt = str(stage.asked("b").document["prompt"])
    assert prompt.startswith("b[1] has failed the same way 2 times: ")


def test_other_items_that_fail_alike_are_progress() -> None:
    stage = items_looping()
    stage.fail("b", BAD, 0, output="sha256:x")
    stage.succeed("a")
    stage.resolve("b", count=2)
    stage.succeed("b", 0)
    assert stage.run.nodes["b"].loop == runs.Streak()
    assert stage.fail("b", BAD, 1, output="sha256:x")[-1] == "attempt.started a 3.1"


def test_success_ends_the_streak_of_a_node_that_others_send_back_over() -> None:
    """The node fails once a visit and then succeeds: that is progress, however often the loop around it turns."""
    back = definition.Bounce(when_gate="good", route_to="a", max_bounces=5, reset=("a", "b"))
    again = definition.Bounce(when_gate="fresh", route_to="a", max_bounces=5, reset=("a", "b"))
    retry = definition.Retry(max_attempts=3, stall_after=2)
    stage = Stage(flow(work("a", retry=retry), work("b", "a", bounces=(back, again), retry=retry)))
    stage.create()
    for visit in range(1, 4):
        stage.fail("a", failure("typo"), output="sha256:t")
        stage.succeed("a")
        assert stage.run.nodes["a"].loop == runs.Streak()
        message = f"round {visit}"
        stage.fail("b", failure(message, gate="good"), output="sha256:x")
        assert stage.run.nodes["a"].visit == visit + 1


def test_a_streak_knows_whether_the_output_changed() -> None:
    first = runs.Streak().extended(("A", "m"), "x")
    second = first.extended(("A", "m"), "x")
    third = second.extended(("A", "m"), "y")
    assert [runs.stall_kind(streak, 2) for streak in (first, second, third)] == [None, "output", "verdict"]
    assert third.extended(("A", "m"), "y").same_output is False
    assert third.extended(("B", "m"), "y") == runs.Streak(verdict=("B", "m"), output="y", length=1)
    assert third.extended(("A", "m"), "") == runs.Streak()


def agents_loop(stall_after: int = 3) -> Stage:
    retry = definition.Retry(max_attempts=9, stall_after=stall_after)
    stage = Stage(flow(work("a", mode="agent", effect="idempotent", retry=retry, repairs=9)))
    stage.create()
    return stage


def refuse(stage: Stage, number: int, *, diff: str, gates: tuple[str, ...] = ("good",), **more: Any) -> list[str]:
    """Gates refuse the agent's work, in words and with an output that have not come before."""
    verdicts = tuple({"gate": gate, "passed": False, "reason": f"try {number}"} for gate in gates)
    why = failure(f"try {number}", code="POST_GATE_FAILED", gate=gates[0])
    return stage.fail("a", why, output=f"sha256:{number}", verdicts=verdicts, diff_hash=diff, **more)


def test_an_agent_that_leaves_the_same_changes_stalls_whatever_it_says() -> None:
    stage = agents_loop()
    refuse(stage, 1, diff="sha256:d", gates=("good",))
    refuse(stage, 2, diff="sha256:d", gates=("good", "short"))
    assert refuse(stage, 3, diff="sha256:d", gates=("short",)) == [
        "attempt.failed a 1.3 ask",
        "run.stalled a diff",
        "approval.requested a stalled",
    ]
    stalled = next(event for event in stage.log if isinstance(event, events.RunStalled))
    assert stalled.evidence == {
        "repeats": 3,
        "code": "POST_GATE_FAILED",
        "message": "try 3",
        "outputHash": "sha256:3",
        "diffHash": "sha256:d",
        "gates": ["short"],
    }
    asked = stage.log[-1]
    assert isinstance(asked, events.ApprovalRequested)
    assert asked.prompt.splitlines()[0] == "a has failed with the same changes 3 times: POST_GATE_FAILED try 3"
    stage.check()


def test_an_agent_that_is_refused_by_the_same_gates_stalls_whatever_it_changes() -> None:
    stage = agents_loop()
    refuse(stage, 1, diff="sha256:1", gates=("short", "good"))
    refuse(stage, 2, diff="sha256:2", gates=("good", "short"))
    assert refuse(stage, 3, diff="sha256:3", gates=("good", "short"))[1] == "run.stalled a gates"
    asked = stage.log[-1]
    assert isinstance(asked, events.ApprovalRequested)
    assert asked.prompt.splitlines()[0] == "a has failed at the same gates 3 times: POST_GATE_FAILED try 3"
    assert cast("dict[str, Any]", asked.tool["args"])["gates"] == ["good", "short"]
    assert stage.answer("a")[-1] == "attempt.started a 1.4"
    assert refuse(stage, 4, diff="sha256:4")[0] == "attempt.failed a 1.4 retry +0"


def test_an_agent_whose_gates_and_changes_differ_goes_on() -> None:
    stage = agents_loop()
    refuse(stage, 1, diff="sha256:1")
    refuse(stage, 2, diff="sha256:1", gates=("short",))
    refuse(stage, 3, diff="sha256:2", gates=("short",))
    assert refuse(stage, 4, diff="sha256:1")[0] == "attempt.failed a 1.4 retry +0"


def test_a_failure_without_gates_in_between_begins_a_new_count() -> None:
    stage = agents_loop()
    refuse(stage, 1, diff="sha256:d")
    refuse(stage, 2, diff="sha256:d")
    assert stage.fail("a", failure("it died"), diff_hash="sha256:d")[0] == "attempt.failed a 1.3 retry +0"
    assert refuse(stage, 4, diff="sha256:d")[0] == "attempt.failed a 1.4 retry +0"


def test_a_wrong_answer_says_nothing_about_the_changes() -> None:
    stage = agents_loop()
    for number in range(3):
        wrong = failure(f"try {number}", code="OUTPUT_CONTRACT", repairable=True)
        told = stage.fail("a", wrong, output=f"sha256:{number}", diff_hash="sha256:d")
        assert told[0] == f"attempt.failed a 1.{number + 1} repair"
    assert refuse(stage, 4, diff="sha256:d")[0] == "attempt.failed a 1.4 retry +0"


def test_the_gates_of_other_work_may_refuse_it_as_often() -> None:
    stage = retrying(stall_after=3)
    for number in range(4):
        why = failure(f"try {number}", code="POST_GATE_FAILED", gate="good")
        verdicts = ({"gate": "good", "passed": False},)
        told = stage.fail("a", why, output=f"sha256:{number}", verdicts=verdicts)
        assert told[0] == f"attempt.failed a 1.{number + 1} retry +0"
