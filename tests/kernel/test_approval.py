"""People: what they are asked, who may answer, once, in time, about exactly that, and what their answer leads to."""

from __future__ import annotations

from typing import Any

import pytest

from openskelo.errors import Refused
from openskelo.kernel import commands, decide, definition, events, ids
from openskelo.kernel import run as runs
from openskelo.kernel.json import JsonObject
from tests.kernel.stage import RUN, START, Stage, failure, flow, work

YES: dict[str, Any] = {"outputs": {"value": {"out": "yes"}}, "inputs_hash": "sha256:i", "output_hash": "sha256:o"}


def block(**more: Any) -> Stage:
    """An approval node `p`, and `b` after it; `p` has been asked."""
    approval = definition.Approval(prompt="?", **more)
    stage = Stage(flow(work("p", mode="approval", approval=approval), work("b", "p")))
    stage.create()
    stage.ask("p", expires_at=START + 1_000)
    return stage


def checkpoint(effect: definition.Effect = "pure", retry: definition.Retry | None = None, **more: Any) -> Stage:
    """A node `a` that works once a person lets it, and `b` after it; `a` has been asked about."""
    approval = definition.Approval(prompt="?", **more)
    a = work("a", approval=approval, effect=effect, retry=retry or definition.Retry())
    stage = Stage(flow(a, work("b", "a"), work("c", optional=("a",), after=("a",))))
    stage.create()
    stage.ask("a", inputs={"value": {"x": 1}})
    return stage


def refused(stage: Stage, key: str, *answer: Any, **more: Any) -> str:
    """The code of the refusal; nothing has changed."""
    log = list(stage.log)
    with pytest.raises(Refused) as refusal:
        stage.answer(key, *answer, **more)
    stage.check()
    assert stage.log == log
    return refusal.value.code


# -- the question -----------------------------------------------------------------------------------------------------


def test_an_approval_node_asks_exactly_this() -> None:
    stage = block(approvers=("nora", "kim"))
    approval_id = ids.derive(RUN, "approval/1")
    asked = events.ApprovalRequested(
        at=START,
        approval_id=approval_id,
        node="p",
        visit=1,
        tool={"id": ids.derive(approval_id, "tool"), "name": "approval", "args": {"of": "p"}},
        digest="sha256:p",
        prompt="p?",
        form={"type": "object"},
        approvers=("nora", "kim"),
        expires_at=START + 1_000,
    )
    assert stage.log[1:] == [events.NodeResolved(at=START, node="p", visit=1), asked]
    assert stage.run.approvals == {
        approval_id: runs.OpenApproval(
            id=approval_id,
            kind="approval",
            node="p",
            visit=1,
            slot=0,
            item=None,
            digest="sha256:p",
            approvers=("nora", "kim"),
            expires_at=START + 1_000,
            document=events.encode(asked),
        )
    }
    assert (runs.status(stage.run), stage.run.nodes["p"].status) == ("paused", "asking")


def test_a_person_must_be_asked_where_the_node_says_so() -> None:
    stage = Stage(flow(work("a", approval=definition.Approval(prompt="?"))))
    stage.create()
    with pytest.raises(Refused) as refusal:
        stage.resolve("a")
    assert refusal.value.code == "RESOLUTION_INVALID"


def test_nobody_is_asked_about_a_node_that_says_nothing_of_people() -> None:
    stage = Stage(flow(work("a", when="x")))
    stage.create()
    with pytest.raises(Refused) as refusal:
        stage.ask("a")
    assert refusal.value.code == "RESOLUTION_INVALID"


def test_several_questions_are_open_at_once_and_answered_in_any_order() -> None:
    stage = Stage(
        flow(*(work(key, mode="approval", approval=definition.Approval(prompt="?")) for key in ("p", "q", "r")))
    )
    stage.create()
    for key in ("p", "q", "r"):
        stage.ask(key)
    for key in ("q", "r", "p"):
        stage.answer(key, **YES)
    assert stage.ends() == ("ok", None)


# -- the answer to an approval node -----------------------------------------------------------------------------------


def test_yes_is_the_nodes_output_in_the_same_append() -> None:
    stage = block()
    assert stage.answer("p", **YES) == [
        "approval.resolved p approved by nora",
        "attempt.succeeded p 1.1",
        "attempt.started b 1.1",
    ]
    assert stage.run.nodes["p"].outputs == {"value": {"out": "yes"}}
    assert stage.log[3] == events.ApprovalResolved(
        at=START,
        approval_id=ids.derive(RUN, "approval/1"),
        node="p",
        visit=1,
        resolution={"status": "approved"},
        by="nora",
        digest="sha256:p",
    )
    assert stage.run.approvals == {}


def test_a_modified_answer_has_a_digest_of_its_own() -> None:
    stage = block()
    stage.answer("p", "modified", args={"n": 2}, new_digest="sha256:new", **YES)
    resolved = stage.log[3]
    assert isinstance(resolved, events.ApprovalResolved)
    assert (resolved.resolution, resolved.digest) == ({"status": "modified", "modifiedArgs": {"n": 2}}, "sha256:new")


@pytest.mark.parametrize("more", [{}, {"args": {"n": 2}}, {"new_digest": "sha256:new"}])
def test_a_modified_answer_without_its_arguments_or_digest_is_refused(more: dict[str, Any]) -> None:
    assert refused(block(), "p", "modified", **more, **YES) == "APPROVAL_INVALID"


def test_yes_without_the_nodes_outputs_is_refused() -> None:
    assert refused(block(), "p") == "APPROVAL_INVALID"


@pytest.mark.parametrize("word", ["deny", "yes", "", None])
def test_a_word_that_is_no_answer_is_neither_yes_nor_no(word: Any) -> None:
    assert refused(block(), "p", word, **YES) == "APPROVAL_INVALID"
    assert refused(checkpoint(), "a", word) == "APPROVAL_INVALID"


def test_an_answer_counts_once() -> None:
    stage = block()
    asked = stage.asked("p")
    stage.answer("p", **YES)
    twice = commands.AnswerApproval(at=stage.at, approval_id=asked.id, status="denied", by="nora", digest=asked.digest)
    with pytest.raises(Refused) as refusal:
        stage.step(twice)
    assert refusal.value.code == "APPROVAL_CLOSED"
    stage.check()


def test_an_answer_to_something_else_is_refused() -> None:
    assert refused(block(), "p", digest="sha256:other", **YES) == "APPROVAL_DIGEST"


def test_only_approvers_may_answer() -> None:
    stage = block(approvers=("kim",))
    assert refused(stage, "p", **YES) == "APPROVER_NOT_ALLOWED"
    assert stage.answer("p", by="kim", **YES)[0] == "approval.resolved p approved by kim"


def test_no_ends_the_run_as_denied() -> None:
    stage = block()
    assert stage.answer("p", "denied", reason="too dear") == [
        "approval.resolved p denied by nora",
        "attempt.failed p 1.1 fail",
        "run.ending denied APPROVAL_DENIED",
        "run.ended denied APPROVAL_DENIED",
    ]
    assert stage.run.error == {"code": "APPROVAL_DENIED", "message": "too dear", "by": "nora", "node": "p"}
    assert stage.run.nodes["p"].outcome == "failed"


def test_no_can_go_on() -> None:
    stage = block(on_deny="continue")
    assert stage.answer("p", "denied", outputs={"value": {"approved": False}}) == [
        "approval.resolved p denied by nora",
        "attempt.succeeded p 1.1",
        "attempt.started b 1.1",
    ]
    assert stage.run.nodes["p"].outputs == {"value": {"approved": False}}


def bouncing(max_bounces: int) -> Stage:
    back = definition.Bounce(when_gate="", route_to="d", max_bounces=max_bounces, reset=("d", "p"))
    approval = definition.Approval(prompt="?", on_deny="bounce", bounce=back)
    stage = Stage(flow(work("d"), work("p", "d", mode="approval", approval=approval)))
    stage.create()
    stage.succeed("d")
    stage.ask("p")
    return stage


def test_no_can_send_the_work_back_with_the_reason() -> None:
    stage = bouncing(1)
    assert stage.answer("p", "denied", reason="shorter") == [
        "approval.resolved p denied by nora",
        "attempt.failed p 1.1 bounce",
        "node.bounced p -> d #1",
        "attempt.started d 2.1",
    ]
    assert stage.run.nodes["d"].slots[0].feedback == {
        "from": "p",
        "bounce": 1,
        "attempt": 1,
        "error": {"code": "APPROVAL_DENIED", "message": "shorter", "by": "nora"},
        "verdicts": [],
    }
    stage.succeed("d")
    stage.ask("p")
    assert stage.answer("p", "denied")[-1] == "run.ended denied APPROVAL_DENIED"
    assert stage.run.error is not None
    assert stage.run.error["message"] == "denied by nora"


def test_no_without_a_way_back_ends_the_run() -> None:
    stage = Stage(flow(work("p", mode="approval", approval=definition.Approval(prompt="?", on_deny="bounce"))))
    stage.create()
    stage.ask("p")
    stage.answer("p", "denied")
    assert stage.ends() == ("denied", "APPROVAL_DENIED")


# -- the clock --------------------------------------------------------------------------------------------------------


def test_the_clock_answers_when_the_time_is_up_and_not_before() -> None:
    stage = block()
    assert decide.wake_at(stage.run) == START + 1_000
    assert decide.expired(stage.run, START + 999) == ()
    assert refused(stage, "p", "denied", by="timer") == "APPROVAL_EARLY"
    stage.at += 1_000
    assert stage.tick() == []
    assert decide.expired(stage.run, stage.at) == (stage.asked("p"),)
    assert refused(stage, "p", **YES) == "APPROVAL_EXPIRED"
    assert stage.answer("p", "denied", by="timer")[0] == "approval.resolved p denied by timer"
    assert stage.run.error == {"code": "APPROVAL_DENIED", "message": "expired", "by": "timer", "node": "p"}
    assert (decide.wake_at(stage.run), decide.expired(stage.run, stage.at)) == (None, ())


def test_time_can_be_stated_to_mean_yes() -> None:
    stage = block(on_timeout="approve")
    stage.at += 1_000
    assert stage.answer("p", by="timer", **YES)[0] == "approval.resolved p approved by timer"


def test_the_clock_may_always_say_no_when_yes_needs_what_only_a_person_has() -> None:
    stage = block(on_timeout="approve")
    stage.at += 1_000
    assert stage.answer("p", "denied", by="timer")[0] == "approval.resolved p denied by timer"


def test_the_clock_cannot_say_yes_where_time_means_no() -> None:
    stage = block()
    stage.at += 1_000
    assert refused(stage, "p", by="timer", **YES) == "APPROVAL_EXPIRED"


def test_the_clock_cannot_say_yes_to_a_once_effect_of_an_interactive_run() -> None:
    stage = Stage(flow(work("a", effect="once")))
    stage.create(mode="INTERACTIVE")
    stage.ask("a", expires_at=START + 1)
    stage.at += 1
    assert refused(stage, "a", by="timer") == "APPROVAL_EXPIRED"


def test_a_thousand_parked_questions_are_looked_through_by_time_not_one_by_one() -> None:
    approval = definition.Approval(prompt="?")
    keys = [f"p{index:03}" for index in range(300)]
    stage = Stage(flow(*(work(key, mode="approval", approval=approval) for key in keys)), checked=False)
    stage.create()
    for index, key in enumerate(keys):
        stage.ask(key, expires_at=START + 10 * (300 - index))
    assert decide.wake_at(stage.run) == START + 10
    expired = decide.expired(stage.run, START + 45)
    assert [asked.node for asked in expired] == ["p299", "p298", "p297", "p296"]
    stage.answer("p298", **YES)
    assert [asked.node for asked in decide.expired(stage.run, START + 45)] == ["p299", "p297", "p296"]
    stage.answer("p299", **YES)
    assert decide.wake_at(stage.run) == START + 30
    stage.check()


# -- a checkpoint before a node's work --------------------------------------------------------------------------------


def test_the_work_starts_once_it_is_allowed() -> None:
    stage = checkpoint()
    assert runs.status(stage.run) == "paused"
    assert stage.answer("a") == ["approval.resolved a approved by nora", "attempt.started a 1.1"]
    assert stage.run.nodes["a"].granted is True


def test_a_person_may_change_what_the_work_gets() -> None:
    stage = checkpoint()
    stage.answer("a", "modified", args={"x": 2}, new_digest="sha256:n")
    assert stage.run.nodes["a"].inputs == {"value": {"x": 2}}


def each(count: int = 3, **more: Any) -> Stage:
    """A foreach `a` with a condition that a person is asked about before its work, and `b` after it."""
    foreach, approval = definition.Foreach(items="x", concurrency=2), definition.Approval(prompt="?")
    stage = Stage(flow(work("a", foreach=foreach, approval=approval, when="x", **more), work("b", "a")))
    stage.create()
    stage.ask("a", count=count)
    return stage


EDIT: dict[str, Any] = {"args": {"x": [5]}, "new_digest": "sha256:n"}
ONE: dict[str, Any] = {"items": {"value": [5]}, "count": 1}


def test_changed_items_are_the_ones_that_are_worked_on() -> None:
    stage = each()
    assert stage.answer("a", "modified", **EDIT, **ONE) == [
        "approval.resolved a modified by nora",
        "attempt.started a[0] 1.1",
    ]
    assert stage.run.nodes["a"].items == {"value": [5]}
    assert stage.succeed("a", 0) == ["attempt.succeeded a[0] 1.1", "node.finished a", "attempt.started b 1.1"]


def test_a_changed_answer_may_leave_no_items_at_all() -> None:
    stage = each()
    assert stage.answer("a", "modified", **EDIT, items={"value": []}, count=0) == [
        "approval.resolved a modified by nora",
        "node.finished a",
        "attempt.started b 1.1",
    ]


def test_a_changed_answer_for_which_the_condition_does_not_hold_skips_the_node() -> None:
    stage = each()
    assert stage.answer("a", "modified", **EDIT, skip=True) == [
        "approval.resolved a modified by nora",
        "node.skipped a when",
        "node.skipped b upstream",
        "run.ended ok",
    ]


def test_a_changed_answer_that_names_no_items_leaves_those_that_there_are() -> None:
    stage = each(count=1)
    assert stage.answer("a", "modified", **EDIT)[1:] == ["attempt.started a[0] 1.1"]
    assert stage.run.nodes["a"].items == {"value": [0]}


def test_what_a_person_changed_is_forgotten_when_the_node_is_entered_anew() -> None:
    back = definition.Bounce(when_gate="good", route_to="a", max_bounces=1, reset=("a", "b"))
    stage = Stage(flow(work("a", approval=definition.Approval(prompt="?")), work("b", "a", bounces=(back,))))
    stage.create()
    stage.ask("a")
    stage.answer("a", "modified", **EDIT)
    assert stage.run.nodes["a"].edited is True
    stage.succeed("a")
    stage.fail("b", failure("no", gate="good"))
    assert (stage.run.nodes["a"].edited, stage.run.nodes["a"].inputs) == (False, None)


@pytest.mark.parametrize(
    ("stage", "status", "more"),
    [
        (each(), "approved", ONE),
        (each(), "modified", {**EDIT, "count": 1}),
        (each(), "modified", {**EDIT, "items": {"value": []}}),
        (each(), "modified", {**EDIT, **ONE, "count": -1}),
        (checkpoint(), "modified", {**EDIT, **ONE}),
        (checkpoint(), "modified", {**EDIT, "skip": True}),
    ],
)
def test_values_that_a_node_cannot_have_are_refused(stage: Stage, status: str, more: dict[str, Any]) -> None:
    assert refused(stage, "a", status, **more) == "APPROVAL_INVALID"


def test_the_items_of_an_approval_node_are_refused() -> None:
    assert refused(block(), "p", "modified", **EDIT, **ONE, **YES) == "APPROVAL_INVALID"


@pytest.mark.parametrize("more", [ONE, {"skip": True}])
def test_once_part_of_the_work_was_tried_its_items_and_its_condition_stand(more: dict[str, Any]) -> None:
    stage = each(count=1, effect="once", retry=definition.Retry(max_attempts=2))
    stage.answer("a")
    stage.fail("a", item=0)
    stage.ask("a", count=1)
    assert refused(stage, "a", "modified", **EDIT, **more) == "APPROVAL_INVALID"


def test_a_denied_checkpoint_ends_the_run() -> None:
    stage = checkpoint()
    assert stage.answer("a", "denied") == [
        "approval.resolved a denied by nora",
        "attempt.failed a 1.1 fail",
        "run.ending denied APPROVAL_DENIED",
        "run.ended denied APPROVAL_DENIED",
    ]


def test_a_denied_checkpoint_that_goes_on_skips_its_node() -> None:
    stage = checkpoint(on_deny="continue")
    assert stage.answer("a", "denied") == [
        "approval.resolved a denied by nora",
        "node.skipped a denied",
        "node.skipped b upstream",
        "node.skipped c upstream",
        "run.ended ok",
    ]


def test_a_retry_of_work_that_may_be_repeated_is_not_asked_about_again() -> None:
    stage = checkpoint("idempotent", definition.Retry(max_attempts=2))
    stage.answer("a")
    assert stage.fail("a") == ["attempt.failed a 1.1 retry +0", "attempt.due a", "attempt.started a 1.2"]


def test_each_attempt_of_a_once_effect_is_asked_about() -> None:
    stage = checkpoint("once", definition.Retry(max_attempts=3))
    stage.answer("a")
    assert stage.fail("a") == ["attempt.failed a 1.1 retry +0", "attempt.due a"]
    assert stage.run.nodes["a"].granted is False
    assert stage.ask("a") == ["node.resolved a", "approval.requested a approval"]
    assert stage.answer("a") == ["approval.resolved a approved by nora", "attempt.started a 1.2"]


def test_no_to_a_second_attempt_that_goes_on_skips_the_node() -> None:
    stage = checkpoint("once", definition.Retry(max_attempts=3), on_deny="continue")
    stage.answer("a")
    stage.fail("a")
    stage.ask("a")
    assert stage.answer("a", "denied")[1] == "node.skipped a denied"


def items(on_deny: str = "end") -> Stage:
    """Four items of a once effect that were allowed; two are in flight."""
    approval = definition.Approval(prompt="?", on_deny=on_deny)  # type: ignore[arg-type]  one of its words
    foreach = definition.Foreach(items="x", concurrency=2)
    retry = definition.Retry(max_attempts=3, delay_ms=10)
    stage = Stage(flow(work("a", foreach=foreach, approval=approval, effect="once", retry=retry)))
    stage.create()
    stage.ask("a", count=4)
    assert stage.answer("a") == [
        "approval.resolved a approved by nora",
        "attempt.started a[0] 1.1",
        "attempt.started a[1] 1.1",
    ]
    return stage


def test_one_question_covers_all_items_that_are_to_be_tried_again_and_nothing_starts_before_it() -> None:
    stage = items()
    assert stage.fail("a", item=0) == ["attempt.failed a[0] 1.1 retry +10", "attempt.started a[2] 1.1"]
    stage.at += 5
    assert stage.fail("a", item=1) == ["attempt.failed a[1] 1.1 retry +10", "attempt.started a[3] 1.1"]
    assert stage.tick(5) == ["attempt.due a[0]"]
    assert stage.ask("a", count=4) == ["node.resolved a x4", "approval.requested a approval"]
    assert stage.tick(5) == ["attempt.due a[1]"]
    assert decide.resolutions(stage.run) == ()
    assert stage.succeed("a", 2) == ["attempt.succeeded a[2] 1.1"]
    assert stage.answer("a") == ["approval.resolved a approved by nora", "attempt.started a[0] 1.2"]
    assert stage.succeed("a", 3) == ["attempt.succeeded a[3] 1.1", "attempt.started a[1] 1.2"]
    stage.succeed("a", 0)
    assert stage.succeed("a", 1) == ["attempt.succeeded a[1] 1.2", "node.finished a", "run.ended ok"]


def test_items_not_yet_begun_wait_for_the_new_question_too() -> None:
    stage = items()
    stage.step(commands.PauseRun(at=stage.at, by="nora"))
    stage.fail("a", item=0)
    stage.at += 10
    assert stage.step(commands.ResumeRun(at=stage.at, by="nora")) == ["run.resumed", "attempt.due a[0]"]
    assert stage.succeed("a", 1) == ["attempt.succeeded a[1] 1.1"]
    stage.ask("a", count=4)
    assert stage.answer("a")[1:] == ["attempt.started a[2] 1.1", "attempt.started a[3] 1.1"]


@pytest.mark.parametrize("on_deny", ["end", "continue"])
def test_no_to_items_beside_others_in_flight_stops_all_of_them(on_deny: str) -> None:
    """Nor can the node be skipped: a part of its work was done."""
    stage = items(on_deny)
    stage.fail("a", item=1)
    stage.tick(10)
    stage.ask("a", count=4)
    assert stage.answer("a", "denied") == [
        "approval.resolved a denied by nora",
        "attempt.failed a[3] 1.1 fail",  # the one that was to start next
        "run.ending denied APPROVAL_DENIED",
        "attempt.cancelled a[0] 1.1 ending",
        "attempt.cancelled a[2] 1.1 ending",
        "run.ended denied APPROVAL_DENIED",
    ]
    assert stage.ends() == ("denied", "APPROVAL_DENIED")
    assert stage.run.in_flight == {}


def test_a_node_of_which_a_part_is_under_way_cannot_be_skipped_by_its_expressions() -> None:
    stage = items()
    stage.fail("a", item=0)
    stage.tick(10)
    with pytest.raises(Refused) as refusal:
        stage.resolve("a", skip=True)
    assert refusal.value.code == "RESOLUTION_INVALID"


# -- modes of the run -------------------------------------------------------------------------------------------------


def test_an_interactive_run_asks_before_each_once_effect_and_nothing_else() -> None:
    stage = Stage(flow(work("a", effect="once"), work("b", effect="idempotent"), work("c")))
    assert stage.create(mode="INTERACTIVE") == ["run.created", "attempt.started b 1.1", "attempt.started c 1.1"]
    assert stage.ask("a") == ["node.resolved a", "approval.requested a approval"]
    assert stage.answer("a")[-1] == "attempt.started a 1.1"


def test_no_to_a_once_effect_of_an_interactive_run_ends_it() -> None:
    stage = Stage(flow(work("a", effect="once")))
    stage.create(mode="INTERACTIVE")
    stage.ask("a")
    stage.answer("a", "denied")
    assert stage.ends() == ("denied", "APPROVAL_DENIED")


def test_an_automatic_run_does_not_ask() -> None:
    stage = Stage(flow(work("a", effect="once")))
    assert stage.create() == ["run.created", "attempt.started a 1.1"]


@pytest.mark.parametrize("effect", ["idempotent", "once"])
def test_a_planning_run_refuses_effects(effect: definition.Effect) -> None:
    stage = Stage(flow(work("a"), work("b", "a", effect=effect)))
    stage.create(global_mode="PLANNING")
    assert stage.succeed("a") == [
        "attempt.succeeded a 1.1",
        "node.failed b denied PLANNING_MODE",
        "run.ending denied PLANNING_MODE",
        "run.ended denied PLANNING_MODE",
    ]


def test_a_planning_run_starts_an_agent_whose_executor_keeps_it_from_effects() -> None:
    stage = Stage(flow(work("a", mode="agent", effect="idempotent")))
    assert stage.create(global_mode="PLANNING") == ["run.created", "attempt.started a 1.1"]


def test_a_planning_run_does_not_even_ask_about_effects() -> None:
    stage = Stage(flow(work("a", effect="once", approval=definition.Approval(prompt="?"))))
    stage.create(global_mode="PLANNING")
    assert stage.ask("a")[0] == "node.failed a denied PLANNING_MODE"


# -- while the run stands still ---------------------------------------------------------------------------------------


def test_an_answer_in_a_paused_run_counts_but_starts_nothing() -> None:
    stage = checkpoint()
    stage.step(commands.PauseRun(at=stage.at, by="kim"))
    assert stage.answer("a") == ["approval.resolved a approved by nora"]
    assert runs.status(stage.run) == "paused"
    assert stage.step(commands.ResumeRun(at=stage.at, by="kim")) == ["run.resumed", "attempt.started a 1.1"]


def test_a_question_expires_in_a_paused_run_too() -> None:
    stage = block()
    stage.step(commands.PauseRun(at=stage.at, by="kim"))
    assert decide.wake_at(stage.run) == START + 1_000
    stage.at += 1_000
    assert stage.answer("p", "denied", by="timer")[-1] == "run.ended denied APPROVAL_DENIED"


def test_questions_are_withdrawn_when_the_run_ends() -> None:
    stage = Stage(flow(work("p", mode="approval", approval=definition.Approval(prompt="?")), work("b")))
    stage.create()
    stage.ask("p")
    assert stage.fail("b", failure("x")) == [
        "attempt.failed b 1.1 fail",
        "run.ending failed BAD",
        "approval.withdrawn p ending",
        "run.ended failed BAD",
    ]
    assert stage.outcomes() == {"p": "cancelled", "b": "failed"}


def test_large_arguments_are_named_not_repeated() -> None:
    """What is asked, and what was answered, may live beside the log; the node then works on what is named."""
    large: JsonObject = {"blob": "sha256:" + "a" * 64, "bytes": 40_000}
    stage = Stage(flow(work("a", approval=definition.Approval(prompt="?"))))
    stage.create()
    stage.resolve("a", ask=commands.Ask(prompt="?", args={}, stored=large, form={}, digest="sha256:a", expires_at=None))
    asked = next(event for event in stage.log if isinstance(event, events.ApprovalRequested))
    assert asked.tool["stored"] == large
    stage.answer("a", "modified", args={}, stored=large, new_digest="sha256:n")
    resolved = next(event for event in stage.log if isinstance(event, events.ApprovalResolved))
    assert resolved.resolution == {"status": "modified", "modifiedArgs": {}, "stored": large}
    assert stage.run.nodes["a"].inputs == large
