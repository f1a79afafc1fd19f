"""Failures of work whose effect happens once: what is asked about, what is not repeated, what may be tried again."""

from __future__ import annotations

from typing import Any

import pytest

from openskelo import errors
from openskelo.kernel import commands, definition, events
from openskelo.kernel import run as runs
from openskelo.kernel.apply import apply
from openskelo.kernel.json import JsonObject
from openskelo.structs import replace
from tests.kernel.stage import Stage, failure, flow, work

THREE = definition.Retry(max_attempts=3)
LOST = failure("no answer", "TIMEOUT", happened="unknown")
REFUSED = failure("no good", "POST_GATE_FAILED", gate="good", happened="yes")


def started(effect: definition.Effect = "once", retry: definition.Retry = THREE, **more: Any) -> Stage:
    stage = Stage(flow(work("a", effect=effect, retry=retry, **more), work("b", "a")))
    stage.create()
    return stage


def last_request(stage: Stage) -> events.ApprovalRequested:
    asked = stage.log[-1]
    assert isinstance(asked, events.ApprovalRequested)
    return asked


def test_a_failure_that_leaves_the_effect_unknown_is_asked_about_and_not_repeated() -> None:
    stage = started()
    assert stage.fail("a", LOST) == ["attempt.failed a 1.1 ask", "approval.requested a uncertain"]
    assert runs.status(stage.run) == "paused"
    asked = last_request(stage)
    assert asked.tool["args"] == {"node": "a", "visit": 1, "attempt": 1, "code": "TIMEOUT", "message": "no answer"}
    assert asked.prompt == (
        "a failed (TIMEOUT no answer), and its effect may have happened all the same. "
        "Answer that it happened, with its outputs; or do it again; or count it as failed."
    )


def test_it_is_asked_about_without_a_retry_too_as_after_a_crash() -> None:
    stage = started(retry=definition.ONE_TRY)
    assert stage.fail("a", LOST) == ["attempt.failed a 1.1 ask", "approval.requested a uncertain"]


def test_a_failure_that_no_retry_could_mend_is_asked_about_too() -> None:
    stage = started()
    assert stage.fail("a", replace(LOST, retryable=False))[-1] == "approval.requested a uncertain"


def test_a_long_reason_is_shortened_in_the_question_and_whole_in_its_arguments() -> None:
    stage = started()
    stage.fail("a", replace(LOST, message="x" * 1000))
    asked = last_request(stage)
    args: Any = asked.tool["args"]
    assert len(asked.prompt) < 700
    assert args["message"] == "x" * 1000


def test_it_happened_with_these_outputs() -> None:
    stage = started()
    stage.fail("a", LOST)
    assert stage.answer("a", "modified", args={"out": 1}, outputs={"value": {"out": 1}}, output_hash="sha256:o") == [
        "approval.resolved a modified by nora",
        "attempt.succeeded a 1.1",
        "attempt.started b 1.1",
    ]
    assert (stage.run.spent.steps, stage.run.nodes["a"].attempts) == (1, 1)


def test_do_it_again_spends_no_retry() -> None:
    stage = started(retry=definition.Retry(max_attempts=2))
    for attempt in (1, 2, 3):
        assert stage.fail("a", LOST)[-1] == "approval.requested a uncertain"
        assert stage.answer("a")[-1] == f"attempt.started a 1.{attempt + 1}"
    assert stage.fail("a") == ["attempt.failed a 1.4 retry +0", "attempt.due a", "attempt.started a 1.5"]
    assert stage.run.nodes["a"].slots[0].feedback == {
        "attempt": 4,
        "error": {"code": "BAD", "message": "no"},
        "verdicts": [],
    }


def test_fail_tells_why_it_was_uncertain() -> None:
    stage = started()
    stage.fail("a", LOST)
    stage.answer("a", "denied", reason="the bank has nothing")
    assert stage.run.error == {
        "code": "UNCERTAIN_EFFECT",
        "message": "the bank has nothing",
        "last": {"code": "TIMEOUT", "message": "no answer"},
        "node": "a",
    }


def test_a_log_that_breaks_off_before_the_question_asks_it_all_the_same() -> None:
    stage = started()
    stage.fail("a", LOST)
    torn = Stage(stage.workflow, at=stage.at, checked=False)
    torn.log = stage.log[:-1]
    for fact in torn.log:
        apply(torn.run, fact)
    assert torn.tick() == ["approval.requested a uncertain"]
    assert torn.log[-1] == stage.log[-1]


def test_each_item_of_a_foreach_is_asked_about_and_the_others_go_on() -> None:
    stage = started(foreach=definition.Foreach(items="x", concurrency=2))
    stage.resolve("a", count=3)
    assert stage.fail("a", LOST, item=1) == [
        "attempt.failed a[1] 1.1 ask",
        "approval.requested a[1] uncertain",
        "attempt.started a[2] 1.1",
    ]
    stage.succeed("a", 0)
    stage.succeed("a", 2)
    assert stage.answer("a")[-1] == "attempt.started a[1] 1.2"


def test_what_has_certainly_been_done_fails_and_is_not_done_again() -> None:
    stage = started()
    assert stage.fail("a", REFUSED, output="sha256:o")[0] == "attempt.failed a 1.1 fail"
    assert stage.run.error == {
        "code": "POST_GATE_FAILED",
        "message": "no good; its effect happens once and is not repeated (`repeatable: true` would allow it)",
        "gate": "good",
        "outputHash": "sha256:o",
        "node": "a",
    }


def test_nothing_is_said_of_repeating_where_nothing_would_be_repeated() -> None:
    stage = started(retry=definition.ONE_TRY)
    stage.fail("a", REFUSED)
    assert stage.run.error == {"code": "POST_GATE_FAILED", "message": "no good", "gate": "good", "node": "a"}


def test_it_is_not_repaired_either() -> None:
    stage = started(retry=definition.ONE_TRY, repairs=1)
    stage.fail("a", failure("no JSON", "ANSWER_INVALID", repairable=True, happened="yes"))
    assert stage.ends() == ("failed", "ANSWER_INVALID")


def test_it_does_not_go_back_either() -> None:
    back = definition.Bounce(when_gate="good", route_to="a", max_bounces=2, reset=("a", "b"))
    stage = started(bounces=(back,))
    stage.fail("a", REFUSED)
    assert stage.ends() == ("failed", "POST_GATE_FAILED")


@pytest.mark.parametrize("more", [{"repeatable": True}, {"effect": "idempotent"}, {"effect": "pure"}])
@pytest.mark.parametrize("why", [LOST, REFUSED])
def test_what_may_be_repeated_is_retried_as_ever(more: dict[str, Any], why: Any) -> None:
    stage = started(**more)
    assert stage.fail("a", why)[0] == "attempt.failed a 1.1 retry +0"


def test_a_failure_that_says_that_nothing_happened_is_retried() -> None:
    stage = started()
    assert stage.fail("a", failure("refused", "HTTP_FAILED")) == [
        "attempt.failed a 1.1 retry +0",
        "attempt.due a",
        "attempt.started a 1.2",
    ]


@pytest.mark.parametrize("happened", ["unknown", "yes"])
def test_work_that_was_denied_has_not_been_done_whatever_it_says(happened: errors.Happened) -> None:
    stage = started()
    stage.fail("a", failure("not allowed", "MODE_DENIED", denied=True, happened=happened))
    assert stage.ends() == ("denied", "MODE_DENIED")


def tried(**more: Any) -> Stage:
    """A plan: `try` tries the tool of `call` twice, then `say`."""

    def step(key: str, op: definition.Op, following: str | None = None, **others: Any) -> definition.Node:
        made = definition.Step(op=op, args={}, next=following, save_as=key, target=others.pop("target", None))
        return definition.Node(key=key, mode="deterministic", step=made, **others)

    nodes = (
        step("try", "retry", "say", target="call", retry=definition.Retry(max_attempts=2, stall_after=0)),
        step("call", "tool_call", "say", effect="once", **more),
        step("say", "transform"),
    )
    stage = Stage(replace(flow(*nodes), plan=definition.Plan(entry="try")))
    stage.create()
    assert stage.succeed("try")[-1] == "attempt.started call 1.1"
    return stage


def test_a_retry_of_a_plan_asks_about_a_tool_whose_effect_is_unknown() -> None:
    stage = tried()
    assert stage.fail("call", LOST) == ["attempt.failed call 1.1 ask", "approval.requested call uncertain"]
    assert stage.answer("call")[-1] == "attempt.started call 1.2"
    assert stage.fail("call", LOST)[-1] == "approval.requested call uncertain"
    outputs: JsonObject = {"value": {"call": 1}}
    assert stage.answer("call", "modified", args={}, outputs=outputs)[-1] == "attempt.started say 1.1"


def test_a_denial_then_ends_the_plan_as_uncertain_and_not_as_out_of_tries() -> None:
    stage = tried()
    stage.fail("call", LOST)
    stage.answer("call")
    stage.fail("call", LOST)
    stage.answer("call", "denied")
    assert stage.ends() == ("failed", "UNCERTAIN_EFFECT")


def test_a_retry_of_a_plan_does_not_repeat_a_tool_that_gave_something_useless() -> None:
    stage = tried()
    stage.fail("call", failure("no promise kept", "TOOL_RETURN", happened="yes"))
    assert stage.run.error == {
        "code": "TOOL_RETURN",
        "message": "no promise kept; its effect happens once and is not repeated (`effect: idempotent` would allow it)",
        "node": "call",
    }


def test_a_cancelled_run_withdraws_the_question() -> None:
    stage = started()
    stage.fail("a", LOST)
    assert stage.step(commands.CancelRun(at=stage.at, by="nora"))[1:] == [
        "approval.withdrawn a ending",
        "run.ended cancelled CANCELLED",
    ]
