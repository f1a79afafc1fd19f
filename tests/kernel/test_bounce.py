"""Going back: what is entered anew, what is stopped first, what is told, and how often."""

from __future__ import annotations

import pytest

from openskelo.errors import Refused
from openskelo.kernel import commands, decide, definition, outcome
from openskelo.kernel import run as runs
from openskelo.kernel.json import Json
from tests.kernel.stage import Stage, failure, flow, work

BAD = failure("not good", code="GATE_FAILED", gate="good")


def rule(
    route_to: str, *reset: str, max_bounces: int = 2, feedback: bool = True, gate: str = "good"
) -> definition.Bounce:
    return definition.Bounce(
        when_gate=gate, route_to=route_to, max_bounces=max_bounces, feedback=feedback, reset=(route_to, *reset)
    )


def loop(max_bounces: int = 2, *, feedback: bool = True, retry: definition.Retry | None = None) -> Stage:
    """`draft` then `review`, which sends bad drafts back."""
    back = rule("draft", "review", max_bounces=max_bounces, feedback=feedback)
    review = work("review", "draft", bounces=(back,), retry=retry or definition.Retry())
    stage = Stage(flow(work("draft"), review))
    stage.create()
    stage.succeed("draft")
    return stage


def test_a_failed_gate_sends_the_work_back_with_its_verdicts() -> None:
    stage = loop()
    verdict = {"gate": "good", "ok": False}
    assert stage.fail("review", BAD, output="sha256:x", verdicts=(verdict,)) == [
        "attempt.failed review 1.1 bounce",
        "node.bounced review -> draft #1",
        "attempt.started draft 2.1",
    ]
    assert stage.run.nodes["draft"].slots[0].feedback == {
        "from": "review",
        "bounce": 1,
        "attempt": 1,
        "error": {"code": "GATE_FAILED", "message": "not good", "gate": "good", "outputHash": "sha256:x"},
        "verdicts": [verdict],
    }
    assert stage.run.nodes["review"].status == "waiting"
    assert stage.succeed("draft") == ["attempt.succeeded draft 2.1", "attempt.started review 2.1"]
    assert stage.succeed("review") == ["attempt.succeeded review 2.1", "run.ended ok"]
    assert {key: (node.visit, node.attempts) for key, node in stage.run.nodes.items()} == {
        "draft": (2, 2),
        "review": (2, 2),
    }


def test_those_who_are_told_learn_why_when_they_are_entered() -> None:
    back = definition.Bounce(
        when_gate="good", route_to="in", max_bounces=2, reset=("in", "draft", "plain", "review"), told=("draft",)
    )
    stage = Stage(flow(work("in"), work("draft", "in"), work("plain", "in"), work("review", "draft", bounces=(back,))))
    stage.create()
    for key in ("in", "draft", "plain"):
        stage.succeed(key)
    stage.fail("review", BAD)
    assert stage.run.nodes["in"].slots[0].feedback is None
    stage.succeed("in")
    told = stage.run.nodes["draft"].slots[0].feedback
    assert isinstance(told, dict)
    assert (told["from"], told["bounce"]) == ("review", 1)
    assert stage.run.nodes["plain"].slots[0].feedback is None


def test_what_was_never_told_is_not_told_by_a_later_bounce() -> None:
    back = definition.Bounce(when_gate="good", route_to="in", max_bounces=2, reset=("in", "draft"), told=("draft",))
    quiet = definition.Bounce(when_gate="calm", route_to="in", max_bounces=2, feedback=False, reset=("in", "draft"))
    stage = Stage(flow(work("in", bounces=(back, quiet)), work("draft", "in")))
    stage.create()
    stage.fail("in", BAD)
    stage.fail("in", failure("not calm", code="GATE_FAILED", gate="calm"))
    stage.succeed("in")
    assert stage.run.nodes["draft"].slots[0].feedback is None


def test_a_run_that_ends_first_does_not_go_back() -> None:
    back = rule("a")
    stage = Stage(flow(work("a", bounces=(back,)), limits=definition.Limits(max_tokens=10)))
    stage.create()
    assert stage.fail("a", BAD, metrics=outcome.Metrics(tokens_in=11)) == [
        "attempt.failed a 1.1 bounce",
        "run.ending budget_exceeded BUDGET_EXCEEDED",
        "run.ended budget_exceeded BUDGET_EXCEEDED",
    ]
    assert stage.run.bouncing is None


def test_feedback_can_be_left_out() -> None:
    stage = loop(feedback=False)
    stage.fail("review", BAD)
    assert stage.run.nodes["draft"].slots[0].feedback is None


def test_when_the_bounces_are_used_up_the_failure_takes_its_ordinary_way() -> None:
    stage = loop(max_bounces=1, retry=definition.Retry(max_attempts=2, stall_after=0))
    stage.fail("review", BAD)
    stage.succeed("draft")
    assert stage.fail("review", BAD)[0] == "attempt.failed review 2.1 retry +0"
    assert stage.fail("review", BAD) == [
        "attempt.failed review 2.2 fail",
        "run.ending failed GATE_FAILED",
        "run.ended failed GATE_FAILED",
    ]
    assert stage.run.nodes["review"].bounces == {0: 1}


def test_another_gates_failure_does_not_bounce() -> None:
    stage = loop()
    assert stage.fail("review", failure("x", gate="other"))[0] == "attempt.failed review 1.1 fail"


def test_a_node_may_send_itself_back() -> None:
    stage = Stage(flow(work("a", bounces=(rule("a"),))))
    stage.create()
    assert stage.fail("a", BAD) == [
        "attempt.failed a 1.1 bounce",
        "node.bounced a -> a #1",
        "attempt.started a 2.1",
    ]


def test_everything_after_the_target_is_stopped_withdrawn_and_reset() -> None:
    """In flight, asked, waiting for a retry, done, waiting for its values: all of it is entered anew."""
    back = rule("a", "gate", "slow", "asks", "later", "done", "when", "join")
    stage = Stage(
        flow(
            work("before"),
            work("a", "before"),
            work("gate", "a", bounces=(back,)),
            work("slow", "a"),
            work("asks", "a", mode="approval", approval=definition.Approval(prompt="?")),
            work("later", "a", retry=definition.Retry(max_attempts=2, delay_ms=5_000)),
            work("done", "a"),
            work("when", "a", when="x"),
            work("join", "done", "slow"),
            work("beside"),
            work("asks_beside", mode="approval", approval=definition.Approval(prompt="?")),
        )
    )
    stage.create()
    stage.ask("asks_beside")
    stage.succeed("before")
    stage.succeed("a")
    stage.ask("asks")
    stage.fail("later")
    stage.succeed("done")
    assert stage.fail("gate", BAD) == [
        "attempt.failed gate 1.1 bounce",
        "attempt.cancelled slow 1.1 bounce",
        "approval.withdrawn asks bounce",
        "node.bounced gate -> a #1",
        "attempt.started a 2.1",
    ]
    assert {key: node.status for key, node in stage.run.nodes.items()} == {
        "before": "done",
        "a": "active",
        "gate": "waiting",
        "slow": "waiting",
        "asks": "waiting",
        "later": "waiting",
        "done": "waiting",
        "when": "waiting",
        "join": "waiting",
        "beside": "active",
        "asks_beside": "asking",
    }
    assert (stage.run.backing_off, decide.wake_at(stage.run)) == (0, None)
    assert stage.succeed("a") == [
        "attempt.succeeded a 2.1",
        "attempt.started gate 2.1",
        "attempt.started slow 2.1",
        "attempt.started later 2.1",
        "attempt.started done 2.1",
    ]
    stage.check()


def test_the_wait_of_an_overtaken_retry_neither_wakes_nor_busies_the_run() -> None:
    """Only a person can move the run, although a timer of the visit that was overtaken is still to come."""
    approval = definition.Approval(prompt="?", timeout_ms=None)
    stage = Stage(
        flow(
            work("a"),
            work("late", "a", retry=definition.Retry(max_attempts=2, delay_ms=9_000)),
            work("gate", "a", bounces=(rule("a", "late", "gate", "person"),)),
            work("person", "a", "gate", mode="approval", approval=approval),
        )
    )
    stage.create()
    stage.succeed("a")
    stage.fail("late")
    stage.fail("gate", BAD)
    stage.succeed("a")
    stage.succeed("late")
    stage.succeed("gate")
    stage.ask("person")
    assert runs.status(stage.run) == "paused"
    stage.at += 100_000
    stage.answer("person", outputs={"value": {}})
    assert stage.run.spent.wall_ms == 0
    assert stage.ends() == ("ok", None)


def test_a_retry_overtaken_by_a_bounce_does_not_hide_one_that_stands() -> None:
    stage = Stage(
        flow(
            work("a"),
            work("late", "a", retry=definition.Retry(max_attempts=2, delay_ms=10)),
            work("gate", "a", bounces=(rule("a", "late", "gate"),)),
            work("other", retry=definition.Retry(max_attempts=2, delay_ms=50)),
        )
    )
    stage.create()
    stage.fail("other")
    stage.succeed("a")
    stage.fail("late")
    stage.fail("gate", BAD)
    assert decide.wake_at(stage.run) == stage.at + 50
    assert stage.tick(50) == ["attempt.due other", "attempt.started other 1.2"]


def test_a_wait_in_the_middle_of_the_heap_is_forgotten_when_it_gets_to_the_top() -> None:
    stage = Stage(
        flow(
            work("a"),
            work("late", "a", retry=definition.Retry(max_attempts=2, delay_ms=60)),
            work("gate", "a", bounces=(rule("a", "late", "gate"),)),
            work("other", retry=definition.Retry(max_attempts=2, delay_ms=50)),
        )
    )
    stage.create()
    stage.fail("other")
    stage.succeed("a")
    stage.fail("late")
    stage.fail("gate", BAD)
    assert stage.tick(50) == ["attempt.due other", "attempt.started other 1.2"]
    assert (stage.run.timers, decide.wake_at(stage.run)) == ([], None)


def test_a_skipped_node_gets_another_chance() -> None:
    stage = Stage(flow(work("a"), work("b", "a", when="x"), work("c", "a", bounces=(rule("a", "b", "c"),))))
    stage.create()
    stage.succeed("a")
    stage.resolve("b", skip=True)
    assert stage.outcomes()["b"] == "skipped"
    stage.fail("c", BAD)
    stage.succeed("a")
    assert stage.resolve("b") == ["node.resolved b", "attempt.started b 2.1"]
    stage.succeed("b")
    stage.succeed("c")
    assert stage.outcomes() == {"a": "succeeded", "b": "succeeded", "c": "succeeded"}


def test_back_at_a_root_whatever_was_skipped_elsewhere() -> None:
    stage = Stage(flow(work("side", when="x"), work("a"), work("b", "a", bounces=(rule("a", "b"),))))
    stage.create()
    stage.resolve("side", skip=True)
    stage.succeed("a")
    assert stage.fail("b", BAD)[-1] == "attempt.started a 2.1"


def test_a_report_of_an_overtaken_visit_is_refused_and_changes_nothing() -> None:
    stage = Stage(flow(work("a"), work("slow", "a"), work("gate", "a", bounces=(rule("a", "slow", "gate"),))))
    stage.create()
    stage.succeed("a")
    late = commands.ReportAttempt(
        at=stage.at, node="slow", visit=1, attempt=1, outcome=commands.Outcome(inputs_hash="", outputs={"value": {}})
    )
    stage.fail("gate", BAD)
    with pytest.raises(Refused) as refusal:
        stage.step(late)
    assert refusal.value.code == "STALE_REPORT"
    stage.check()


def test_a_bounce_happens_in_a_paused_run_but_nothing_starts() -> None:
    stage = loop()
    stage.step(commands.PauseRun(at=stage.at, by="nora"))
    assert stage.fail("review", BAD) == ["attempt.failed review 1.1 bounce", "node.bounced review -> draft #1"]
    assert stage.step(commands.ResumeRun(at=stage.at, by="nora")) == ["run.resumed", "attempt.started draft 2.1"]


def test_loops_within_loops_are_bounded_by_the_sum_of_their_bounds() -> None:
    inner, outer = rule("b", "c", "d", max_bounces=2), rule("a", "b", "c", "d", max_bounces=1)
    stage = Stage(flow(work("a"), work("b", "a"), work("c", "b", bounces=(inner,)), work("d", "c", bounces=(outer,))))
    stage.create()
    bounces = 0
    while not stage.run.ended:
        key = next(iter(stage.run.in_flight.values())).node
        bad = key == "d" or (key == "c" and stage.run.nodes["c"].bounces.get(0, 0) < 2)
        told = stage.fail(key, BAD) if bad else stage.succeed(key)
        bounces += any(line.startswith("node.bounced") for line in told)
    assert bounces == 3
    assert stage.ends() == ("failed", "GATE_FAILED")


def judged(**passed: bool) -> tuple[dict[str, Json], ...]:
    return tuple({"gate": name, "type": "expr", "passed": said} for name, said in passed.items())


def test_every_gate_that_said_no_finds_its_way_back_not_only_the_first() -> None:
    back = rule("draft", "review", gate="sources")
    stage = Stage(flow(work("draft"), work("review", "draft", bounces=(back,))))
    stage.create()
    stage.succeed("draft")
    assert stage.fail("review", BAD, verdicts=judged(early=False, good=False, calm=True, sources=False)) == [
        "attempt.failed review 1.1 bounce",
        "node.bounced review -> draft #1",
        "attempt.started draft 2.1",
    ]


def test_a_gate_without_bounces_left_leaves_the_way_to_the_others() -> None:
    rules = (rule("draft", "review", gate="sources"), rule("review", gate="good", max_bounces=1))
    stage = Stage(flow(work("draft"), work("review", "draft", bounces=rules)))
    stage.create()
    stage.succeed("draft")
    both = judged(good=False, sources=False)
    assert stage.fail("review", BAD, verdicts=both)[1] == "node.bounced review -> review #1"
    assert stage.fail("review", BAD, verdicts=both)[1] == "node.bounced review -> draft #1"


def test_a_gate_before_the_work_that_others_outvoted_sends_nothing_back() -> None:
    stage = Stage(flow(work("draft"), work("review", "draft", bounces=(rule("draft", "review", gate="early"),))))
    stage.create()
    stage.succeed("draft")
    assert stage.fail("review", BAD, verdicts=judged(early=False, late=True, good=False)) == [
        "attempt.failed review 1.1 fail",
        "run.ending failed GATE_FAILED",
        "run.ended failed GATE_FAILED",
    ]
