"""A plan runs one step at a time: where each leads, what it saves, and how the run ends."""

from __future__ import annotations

from typing import Any

import pytest

from openskelo.errors import Refused
from openskelo.kernel import commands, definition, events, outcome, receipts
from openskelo.kernel.flows import plan
from openskelo.kernel.json import JsonObject
from openskelo.structs import replace
from openskelo.values import canonical
from tests.kernel.stage import Stage, failure, flow, tell, work

DENIED = outcome.Failure(code="MODE_DENIED", message="not offline", retryable=False, denied=True)


def step(key: str, op: definition.Op, *, node: dict[str, Any] | None = None, **more: Any) -> definition.Node:
    """A step without arguments."""
    fields: dict[str, Any] = {"mode": "approval" if op == "ask_human" else "deterministic"}
    if op == "ask_human":
        fields["approval"] = definition.Approval(prompt="?")
    return definition.Node(key=key, step=definition.Step(op=op, args={}, **more), **{**fields, **(node or {})})


def retry(key: str, target: str, tries: int, **more: Any) -> definition.Node:
    """A step that tries another one."""
    how = definition.Retry(max_attempts=tries, delay_ms=100, backoff="linear", stall_after=0)
    return step(key, "retry", target=target, node={"retry": how}, **more)


def planned(*nodes: definition.Node, limits: definition.Limits | None = None, **more: Any) -> definition.Workflow:
    """A plan of these steps, which begins with the first."""
    found = definition.Plan(entry=nodes[0].key, **more)
    return replace(flow(*nodes, limits=limits, name="plan"), plan=found)


def begun(*nodes: definition.Node, **more: Any) -> Stage:
    stage = Stage(planned(*nodes, **more))
    stage.create()
    return stage


def saved(stage: Stage) -> dict[str, object]:
    course = stage.run.plan_state
    assert course is not None
    return {name: stored["value"] for name, stored in course.variables.items()}


def last(stage: Stage, kind: type[Any]) -> Any:
    return [event for event in stage.log if isinstance(event, kind)][-1]


# -- going on ----------------------------------------------------------------------------------------------------------


def test_only_the_first_step_is_entered_and_each_leads_to_the_next() -> None:
    stage = Stage(planned(step("a", "transform", next="c"), step("b", "transform"), step("c", "transform")))
    assert stage.create() == ["run.created", "attempt.started a 1.1"]
    assert stage.succeed("a") == ["attempt.succeeded a 1.1", "attempt.started c 1.1"]
    assert stage.succeed("c") == ["attempt.succeeded c 1.1", "run.ended ok"]
    assert stage.outcomes() == {"a": "succeeded", "b": None, "c": "succeeded"}


@pytest.mark.parametrize(("holds", "goto"), [(True, "b"), (False, "c")])
def test_a_branch_goes_where_its_condition_says_and_records_it(holds: bool, goto: str) -> None:
    stage = begun(step("a", "branch", then="b", otherwise="c"), step("b", "emit"), step("c", "emit"))
    assert stage.succeed("a", holds=holds) == ["attempt.succeeded a 1.1", f"attempt.started {goto} 1.1"]
    assert last(stage, events.AttemptSucceeded).goto == goto


def test_a_branch_that_leads_nowhere_ends_the_run() -> None:
    stage = begun(step("a", "branch", then="a"))
    assert stage.succeed("a", holds=False) == ["attempt.succeeded a 1.1", "run.ended ok"]


def test_a_step_that_is_entered_again_begins_anew() -> None:
    stage = begun(step("a", "transform", next="b", save_as="x"), step("b", "branch", then="a"))
    stage.succeed("a", value=1)
    assert stage.succeed("b", holds=True) == ["attempt.succeeded b 1.1", "attempt.started a 2.1"]
    assert (stage.run.nodes["a"].outcome, stage.run.nodes["a"].outputs) == (None, None)
    assert saved(stage) == {"x": {"out": 1}}
    stage.succeed("a", value=2)
    assert saved(stage) == {"x": {"out": 2}}
    stage.succeed("b", holds=False)
    assert stage.ends() == ("ok", None)


@pytest.mark.parametrize("op", ["transform", "ask_human"])
def test_a_step_is_not_entered_more_often_than_it_may(op: definition.Op) -> None:
    again = step("b", op, next="a", max_visits=1)
    stage = begun(step("a", "transform", next="b"), again)
    stage.succeed("a")
    if op == "ask_human":
        stage.ask("b")
        stage.answer("b", outputs={"value": {"output": {}}})
    else:
        stage.succeed("b")
    stage.succeed("a")
    assert [tell(event) for event in stage.log[-3:]] == [
        "node.failed b failed LOOP_LIMIT",
        "run.ending failed LOOP_LIMIT",
        "run.ended failed LOOP_LIMIT",
    ]
    assert stage.run.error == {"code": "LOOP_LIMIT", "message": "b may be entered 1 times, and no more", "node": "b"}


def test_a_step_that_fails_ends_the_run() -> None:
    stage = begun(step("a", "tool_call", next="b"), step("b", "emit"))
    stage.fail("a", "broken")
    assert stage.ends() == ("failed", "BAD")
    assert stage.run.error == {"code": "BAD", "message": "broken", "node": "a"}


def test_variables_begin_with_the_values_of_the_plan() -> None:
    stage = begun(step("a", "transform", save_as="x"), variables={"x": 1, "y": [2]})
    assert saved(stage) == {"x": {"output": 1}, "y": {"output": [2]}}
    stage.succeed("a", value=3)
    assert saved(stage) == {"x": {"out": 3}, "y": {"output": [2]}}


def test_each_try_is_a_step_of_the_budget() -> None:
    nodes = (retry("r", "a", 3), step("a", "tool_call"))
    stage = begun(*nodes, limits=definition.Limits(max_steps=2))
    stage.succeed("r")
    stage.fail("a")
    stage.tick(100)
    assert stage.ends() == ("budget_exceeded", "BUDGET_EXCEEDED")


def test_the_outputs_of_a_step_hold_one_value_under_the_name_that_it_is_saved_as() -> None:
    shapes = (step("a", "transform"), step("b", "transform", save_as="x"), retry("c", "a", 1, save_as="x"))
    made = [plan.outputs(shape.step, 7) for shape in shapes if shape.step is not None]
    assert made == [{"output": 7}, {"x": 7}, {"output": 7}]
    assert [plan.value(outputs) for outputs in made] == [7, 7, 7]


# -- retries -----------------------------------------------------------------------------------------------------------


def test_a_retry_tries_its_target_with_its_own_waits_and_goes_on_after_itself() -> None:
    stage = begun(
        retry("r", "a", 3, next="end", save_as="both"),
        step("a", "tool_call", next="r", save_as="own"),
        step("end", "emit"),
    )
    assert stage.succeed("r") == ["attempt.succeeded r 1.1", "attempt.started a 1.1"]
    assert stage.fail("a") == ["attempt.failed a 1.1 retry +100"]
    assert stage.tick(100) == ["attempt.due a", "attempt.started a 1.2"]
    assert stage.fail("a") == ["attempt.failed a 1.2 retry +200"]
    stage.tick(200)
    assert stage.succeed("a", value=5) == ["attempt.succeeded a 1.3", "attempt.started end 1.1"]
    assert saved(stage) == {"own": {"out": 5}, "both": {"out": 5}}
    stage.succeed("end")
    assert stage.ends() == ("ok", None)


def test_after_its_retry_a_step_is_by_itself_again() -> None:
    stage = begun(retry("r", "a", 2, next="a"), step("a", "tool_call"))
    stage.succeed("r")
    assert stage.succeed("a") == ["attempt.succeeded a 1.1", "attempt.started a 2.1"]
    stage.fail("a", "broken")
    assert stage.ends() == ("failed", "BAD")


def test_when_no_try_is_left_the_run_fails_and_says_why() -> None:
    stage = begun(retry("r", "a", 2), step("a", "tool_call"))
    stage.succeed("r")
    stage.fail("a", "first")
    stage.tick(100)
    stage.fail("a", "second", output="sha256:x")
    assert stage.run.error == {
        "code": "RETRY_EXHAUSTED",
        "message": "a was tried 2 times under r: second",
        "node": "a",
        "cause": {"code": "BAD", "message": "second", "outputHash": "sha256:x"},
    }
    assert stage.ends() == ("failed", "RETRY_EXHAUSTED")


def test_what_cannot_help_is_not_tried_again() -> None:
    stage = begun(retry("r", "a", 3), step("a", "tool_call"))
    stage.succeed("r")
    stage.fail("a", failure("wrong", "CONFIG", retryable=False))
    assert stage.ends() == ("failed", "CONFIG")


def test_the_same_verdict_again_and_again_does_not_stall_a_retry() -> None:
    stage = begun(retry("r", "a", 6), step("a", "tool_call"))
    stage.succeed("r")
    for _ in range(5):
        stage.fail("a", output="sha256:x")
        stage.tick(1000)
    assert stage.succeed("a") == ["attempt.succeeded a 1.6", "run.ended ok"]


def test_a_check_that_does_not_hold_is_a_value() -> None:
    stage = begun(step("a", "verify", save_as="v", next="b"), step("b", "emit"))
    assert stage.succeed("a", value={"ok": False}, holds=False)[-1] == "attempt.started b 1.1"
    assert saved(stage) == {"v": {"out": {"ok": False}}}


def test_under_a_retry_a_check_that_does_not_hold_is_a_failed_try_with_its_verdict() -> None:
    stage = begun(retry("r", "a", 2), step("a", "verify", save_as="v"))
    stage.succeed("r")
    assert stage.succeed("a", value={"ok": False}, holds=False) == ["attempt.failed a 1.1 retry +100"]
    failed = last(stage, events.AttemptFailed)
    outputs: JsonObject = {"out": {"ok": False}}
    assert failed.outputs == {"value": outputs}
    assert failed.receipt["output_hash"] == canonical.digest(outputs)
    assert failed.error == {
        "code": "VERIFY_FAILED",
        "message": "the check of a does not hold",
        "outputHash": canonical.digest(outputs),
    }
    assert saved(stage) == {}
    stage.tick(100)
    stage.succeed("a", value={"ok": True}, holds=True)
    assert stage.ends() == ("ok", None)


def test_a_step_that_is_tried_may_be_another_op_whose_condition_does_not_hold() -> None:
    stage = begun(retry("r", "a", 2), step("a", "transform"))
    stage.succeed("r")
    stage.succeed("a", holds=False)
    assert stage.ends() == ("ok", None)


def test_repairs_come_beside_the_tries() -> None:
    stage = begun(retry("r", "a", 2), step("a", "route_expert", node={"repairs": 1}))
    stage.succeed("r")
    broken = failure("no JSON", "ANSWER_INVALID", repairable=True)
    assert stage.fail("a", broken) == ["attempt.failed a 1.1 repair", "attempt.started a 1.2"]
    assert stage.fail("a", broken) == ["attempt.failed a 1.2 retry +100"]
    stage.tick(100)
    stage.fail("a", broken)
    assert stage.ends() == ("failed", "RETRY_EXHAUSTED")


# -- denials -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tries", [0, 1, 3])
def test_what_is_not_allowed_ends_the_run_as_denied(tries: int) -> None:
    nodes = [step("a", "tool_call")]
    stage = begun(*([retry("r", "a", tries), *nodes] if tries else nodes))
    if tries:
        stage.succeed("r")
    stage.fail("a", DENIED)
    assert stage.ends() == ("denied", "MODE_DENIED")
    assert stage.run.error == {"code": "MODE_DENIED", "message": "not offline", "node": "a"}


def test_a_block_that_is_not_allowed_to_work_ends_the_run_as_denied() -> None:
    stage = Stage(flow(work("a")))
    stage.create()
    stage.fail("a", DENIED)
    assert stage.ends() == ("denied", "MODE_DENIED")


@pytest.mark.parametrize("tries", [1, 3])
def test_a_block_whose_work_is_a_persons_ends_the_run_as_escalated(tries: int) -> None:
    stage = Stage(flow(work("a", retry=definition.Retry(max_attempts=tries)), work("b", "a")))
    stage.create()
    handed_over = failure("a person's", "ESCALATED", retryable=False, escalated=True)
    assert stage.fail("a", handed_over) == [
        "attempt.failed a 1.1 fail",
        "run.ending escalated ESCALATED",
        "run.ended escalated ESCALATED",
    ]


def test_a_denial_leads_on_where_the_step_says_so_and_leaves_its_reason() -> None:
    stage = begun(
        retry("r", "a", 3, next="never"),
        step("a", "tool_call", save_as="x", on_denied="b"),
        step("b", "tool_call", next="b"),
        step("never", "emit"),
    )
    stage.succeed("r")
    assert stage.fail("a", DENIED) == ["attempt.failed a 1.1 go", "attempt.started b 1.1"]
    left: JsonObject = {"x": {"denied": True, "code": "MODE_DENIED", "message": "not offline"}}
    assert saved(stage) == {"x": left}
    failed = last(stage, events.AttemptFailed)
    assert (failed.goto, failed.outputs) == ("b", {"value": left})
    assert failed.receipt["output_hash"] == canonical.digest(left)
    assert (failed.receipt["status"], failed.receipt["output_ref"]) == ("failed", "none")
    assert stage.run.nodes["a"].error == {"code": "MODE_DENIED", "message": "not offline"}
    stage.fail("b", "broken")
    assert stage.ends() == ("failed", "BAD")


def test_a_denial_that_nobody_saves_leads_on_too() -> None:
    stage = begun(step("a", "route_expert", on_denied="b"), step("b", "emit"))
    stage.fail("a", DENIED)
    assert saved(stage) == {}
    stage.succeed("b")
    assert stage.outcomes() == {"a": "failed", "b": "succeeded"}


# -- people ------------------------------------------------------------------------------------------------------------


def test_a_persons_answer_is_saved_and_the_plan_goes_on() -> None:
    stage = begun(step("a", "ask_human", save_as="said", next="b"), step("b", "emit"))
    assert stage.ask("a") == ["node.resolved a", "approval.requested a ask_human"]
    assert stage.run.reserved.steps == 1
    outputs: JsonObject = {"said": {"why": "so"}}
    told = stage.answer("a", "modified", args={"why": "so"}, new_digest="sha256:n", outputs={"value": outputs})
    assert told == ["approval.resolved a modified by nora", "attempt.succeeded a 1.1", "attempt.started b 1.1"]
    assert saved(stage) == {"said": outputs}
    stage.succeed("b")
    assert stage.run.spent.steps == 2


def test_an_answer_that_leads_nowhere_ends_the_run_as_escalated() -> None:
    stage = begun(step("a", "ask_human"))
    stage.ask("a")
    stage.answer("a", outputs={"value": {"output": {}}})
    assert stage.run.error == {
        "code": "ESCALATED",
        "message": "a hands over to a person and ends the run as escalated",
        "node": "a",
    }
    assert stage.ends() == ("escalated", "ESCALATED")


def test_a_no_ends_the_run_as_denied() -> None:
    stage = begun(step("a", "ask_human", next="b"), step("b", "emit"))
    stage.ask("a")
    stage.answer("a", "denied", reason="never")
    assert stage.ends() == ("denied", "APPROVAL_DENIED")


def test_an_effect_is_asked_about_in_every_visit_of_an_interactive_run() -> None:
    stage = Stage(planned(step("a", "tool_call", next="b", node={"effect": "once"}), step("b", "branch", then="a")))
    stage.create(mode="INTERACTIVE")
    assert stage.ask("a") == ["node.resolved a", "approval.requested a approval"]
    stage.answer("a")
    stage.succeed("a")
    stage.succeed("b", holds=True)
    assert stage.run.nodes["a"].granted is False
    assert stage.ask("a") == ["node.resolved a", "approval.requested a approval"]


def test_an_effect_that_may_have_happened_is_asked_about_and_the_plan_goes_on_with_what_it_gave() -> None:
    stage = begun(step("a", "tool_call", save_as="x", next="b", node={"effect": "once"}), step("b", "emit"))
    stage.crash(1_000)
    outputs: JsonObject = {"x": 7}
    told = stage.answer("a", "modified", args=outputs, outputs={"value": outputs})
    assert told[-2:] == ["attempt.succeeded a 1.1", "attempt.started b 1.1"]
    assert saved(stage) == {"x": {"x": 7}}


def test_a_step_that_a_crash_has_cut_is_tried_again_under_its_retry() -> None:
    stage = begun(retry("r", "a", 2, next="b"), step("a", "tool_call"), step("b", "emit"))
    stage.succeed("r")
    assert stage.crash() == ["run.recovered", "attempt.interrupted a 1.1 crash", "attempt.started a 1.2"]
    stage.fail("a")
    stage.tick(100)
    assert stage.succeed("a") == ["attempt.succeeded a 1.3", "attempt.started b 1.1"]


def test_a_step_is_never_skipped() -> None:
    stage = begun(step("a", "ask_human"))
    with pytest.raises(Refused) as caught:
        stage.resolve("a", skip=True)
    assert caught.value.code == "RESOLUTION_INVALID"


# -- the end -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["failed", "denied", "escalated"])
def test_an_emit_ends_the_run_as_it_says(ending: events.Ending) -> None:
    stage = begun(step("a", "emit", ending=ending, next="b", save_as="x"), step("b", "emit"))
    assert stage.succeed("a") == [
        "attempt.succeeded a 1.1",
        f"run.ending {ending} EMITTED",
        f"run.ended {ending} EMITTED",
    ]
    assert stage.run.error == {
        "code": "EMITTED",
        "message": f"a emits its result and ends the run as {ending}",
        "node": "a",
    }


def test_an_emit_that_says_nothing_else_ends_the_run_well() -> None:
    stage = begun(step("a", "emit", next="a"))
    assert stage.succeed("a", value=1) == ["attempt.succeeded a 1.1", "run.ended ok"]
    assert stage.run.plan_state is not None
    assert stage.run.plan_state.emitted == {"value": {"out": 1}}


def test_receipts_name_the_op_and_the_variable() -> None:
    stage = begun(
        step("a", "transform", save_as="x", next="r"), retry("r", "b", 1, save_as="y"), step("b", "tool_call")
    )
    for key in ("a", "r", "b"):
        stage.succeed(key)
    kept: list[Any] = [event.receipt for event in stage.log if isinstance(event, events.AttemptSucceeded)]
    named = [(one["plan_id"], one["step_id"], one["op"], one["output_ref"]) for one in kept]
    assert named == [
        ("plan", "a", "transform", "var:x"),
        ("plan", "r", "retry", "none"),
        ("plan", "b", "tool_call", "none"),
    ]
    assert all(receipts.canonical(one) == canonical.dumps(one) for one in kept)


# -- forks -------------------------------------------------------------------------------------------------------------


def test_a_fork_begins_with_its_step_and_the_variables_it_is_given() -> None:
    stage = Stage(planned(step("a", "transform", next="b"), step("b", "branch", then="a"), variables={"x": 1}))
    told = stage.create(
        parent={"runId": "r", "node": "b"},
        variables={"x": {"value": {"output": 2}}},
        contexts={"value": {"ctx:c": 1}},
        kept={"a": commands.Kept(outcome="succeeded", outputs={"value": {"output": 5}})},
    )
    assert told == ["run.created", "node.kept a", "attempt.started b 1.1"]
    assert saved(stage) == {"x": {"output": 2}}
    assert stage.run.plan_state is not None
    assert stage.run.plan_state.contexts == {"value": {"ctx:c": 1}}
    assert stage.succeed("b", holds=True) == ["attempt.succeeded b 1.1", "attempt.started a 1.1"]
    stage.succeed("a")
    stage.succeed("b", holds=False)
    assert stage.ends() == ("ok", None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"parent": {"runId": "r", "node": "z"}},
        {"kept": {"a": commands.Kept(outcome="succeeded", outputs={"value": {}})}},
        {"kept": {"b": commands.Kept(outcome="skipped")}},
    ],
)
def test_a_plan_does_not_begin_where_it_cannot(wrong: dict[str, Any]) -> None:
    stage = Stage(planned(step("a", "transform"), step("b", "transform")))
    with pytest.raises(Refused) as caught:
        stage.create(**wrong)
    assert (caught.value.code, stage.log) == ("KEPT_INVALID", [])


# -- loops that make no progress ---------------------------------------------------------------------------------------


def looping(op: str = "verify", stall_after: int = 2) -> Stage:
    """A step whose verdict sends the plan back to it."""
    policy = {"retry": definition.Retry(stall_after=stall_after)}
    return begun(
        step("v", op, save_as="v", next="b", node=policy),
        step("b", "branch", then="end", otherwise="v"),
        step("end", "emit", ending="ok"),
    )


def refuse(stage: Stage, inputs: str = "sha256:i", output: str = "sha256:o", **more: Any) -> list[str]:
    """Give a failing verdict, and go back if the plan is not held."""
    verdict: JsonObject = {"v": {"ok": False, "why": "short"}}
    result = outcome.Outcome(inputs_hash=inputs, output_hash=output, outputs={"value": verdict}, holds=False)
    told = stage.report("v", replace(result, **more))
    return told if stage.run.approvals else [*told, *stage.succeed("b", holds=False)]


def test_the_same_failing_verdict_in_a_loop_stalls_with_its_evidence() -> None:
    stage = looping()
    refuse(stage)
    assert refuse(stage) == ["run.stalled v output", "attempt.succeeded v 2.1", "approval.requested v stalled"]
    evidence = {
        "repeats": 2,
        "code": "SAME_VERDICT",
        "message": '{"ok":false,"why":"short"}',
        "outputHash": "sha256:o",
        "inputsHash": "sha256:i",
    }
    assert last(stage, events.RunStalled) == events.RunStalled(
        at=stage.at, node="v", visit=2, kind="output", evidence=evidence
    )
    assert last(stage, events.ApprovalRequested).prompt == (
        'v has failed the same way 2 times: SAME_VERDICT {"ok":false,"why":"short"}\n'
        "Approve to go on trying, deny to end the run."
    )
    stage.check()


def test_the_same_verdict_on_other_inputs_stalls_by_verdict() -> None:
    stage = looping()
    refuse(stage)
    large = {"blob": "sha256:o"}
    assert refuse(stage, inputs="sha256:other", outputs=large)[0] == "run.stalled v verdict"
    assert last(stage, events.RunStalled).evidence["message"] == "its verdict does not hold"


def test_a_plan_that_a_person_lets_go_on_counts_anew() -> None:
    stage = looping()
    refuse(stage)
    refuse(stage)
    assert stage.answer("v") == ["approval.resolved v approved by nora", "attempt.started b 2.1"]
    stage.check()
    stage.succeed("b", holds=False)
    assert "run.stalled v output" not in refuse(stage)
    assert refuse(stage)[0] == "run.stalled v output"


def test_a_plan_that_a_person_stops_fails() -> None:
    stage = looping()
    refuse(stage)
    refuse(stage)
    stage.answer("v", "denied")
    assert stage.ends() == ("failed", "STALLED")


@pytest.mark.parametrize("between", [{"output": "sha256:p"}, {"holds": True}], ids=["another verdict", "a success"])
def test_another_verdict_in_between_begins_a_new_streak(between: dict[str, Any]) -> None:
    stage = looping()
    refuse(stage)
    refuse(stage, **between)
    assert "run.stalled v output" not in refuse(stage)


def test_a_loop_with_stall_after_0_never_stalls() -> None:
    stage = looping(stall_after=0)
    for _ in range(5):
        assert "run.stalled v output" not in refuse(stage)


def test_a_step_that_judges_nothing_else_stalls_only_on_the_same_inputs() -> None:
    stage = looping("transform")
    refuse(stage, inputs="sha256:1")
    refuse(stage, inputs="sha256:2")
    assert refuse(stage, inputs="sha256:2")[0] == "run.stalled v output"


def circling(stall_after: int = 2) -> Stage:
    """A step that saves `n`, and a branch that goes back to it."""
    return begun(
        step("a", "transform", save_as="n", next="b"),
        step("b", "branch", then="end", otherwise="a", node={"retry": definition.Retry(stall_after=stall_after)}),
        step("end", "emit", ending="ok"),
    )


def pass_loop(stage: Stage, value: float) -> list[str]:
    """The step saves `value`, and the branch goes back."""
    saved: JsonObject = {"n": value}
    stage.report("a", outcome.Outcome(inputs_hash="sha256:i", output_hash="sha256:o", outputs={"value": saved}))
    return stage.succeed("b", holds=False)


def test_a_branch_that_goes_back_while_no_variable_changes_stalls_with_its_evidence() -> None:
    stage = circling()
    pass_loop(stage, 0.5)
    assert pass_loop(stage, 0.5) == ["run.stalled b output", "attempt.succeeded b 2.1", "approval.requested b stalled"]
    stalled = last(stage, events.RunStalled)
    evidence = {
        "repeats": 2,
        "code": "SAME_VALUES",
        "message": "it goes back to a",
        "outputHash": last(stage, events.AttemptSucceeded).receipt["output_hash"],
        "inputsHash": "sha256:in",
    }
    assert stalled == events.RunStalled(at=stage.at, node="b", visit=2, kind="output", evidence=evidence)
    asked = last(stage, events.ApprovalRequested)
    assert asked.tool["args"] == {"node": "b", "kind": "output", **evidence}
    assert asked.prompt == (
        "b has decided the same 2 times while no variable changed: it goes back to a\n"
        "Approve to go on, deny to end the run."
    )
    stage.check()


def test_a_person_lets_a_branch_go_back_or_stops_it() -> None:
    stage = circling()
    pass_loop(stage, 1)
    pass_loop(stage, 1)
    assert stage.answer("b") == ["approval.resolved b approved by nora", "attempt.started a 3.1"]
    stage.check()
    assert pass_loop(stage, 1)[0] == "attempt.succeeded b 3.1"
    assert pass_loop(stage, 1)[0] == "run.stalled b output"
    stage.answer("b", "denied")
    assert stage.ends() == ("failed", "STALLED")


def test_a_loop_that_changes_a_variable_makes_progress() -> None:
    stage = circling()
    for number in range(5):
        assert pass_loop(stage, number)[0] == f"attempt.succeeded b {number + 1}.1"


def test_a_branch_back_with_stall_after_0_never_stalls() -> None:
    stage = circling(stall_after=0)
    for visit in range(1, 6):
        assert pass_loop(stage, 1)[0] == f"attempt.succeeded b {visit}.1"


def test_a_branch_leaves_a_loop_with_failing_verdicts_to_the_step_that_gives_them() -> None:
    stage = looping(stall_after=0)
    for visit in range(1, 7):
        assert f"attempt.succeeded b {visit}.1" in refuse(stage)
    assert stage.run.nodes["b"].loop.length == 0


def test_a_stalled_retry_of_a_plan_holds_itself() -> None:
    how = definition.Retry(max_attempts=9, stall_after=2)
    stage = begun(
        step("r", "retry", target="v", next="end", node={"retry": how}),
        step("v", "verify"),
        step("end", "emit", ending="ok"),
    )
    stage.succeed("r")
    for _ in range(2):
        stage.fail("v", failure("no"), output="sha256:x")
    assert stage.answer("v") == ["approval.resolved v approved by nora", "attempt.started v 1.3"]
    stage.check()
