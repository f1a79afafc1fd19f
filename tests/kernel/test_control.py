"""Orders from outside: pause, resume, cancel, and whatever comes too late, too early or twice."""

from __future__ import annotations

import pytest

from openskelo.errors import Refused
from openskelo.kernel import commands, definition, events, outcome
from openskelo.kernel import run as runs
from openskelo.kernel.decide import decide, resolutions, wake_at
from tests.kernel.stage import RUN, START, Stage, flow, fold, work

DONE = outcome.Outcome(inputs_hash="", outputs={"value": {}})


def chain() -> Stage:
    stage = Stage(flow(work("a"), work("b", "a", when="x"), work("c", "b")))
    stage.create()
    return stage


def refused(stage: Stage, command: commands.Command) -> str:
    log = list(stage.log)
    with pytest.raises(Refused) as refusal:
        stage.step(command)
    assert stage.log == log
    stage.check()
    return refusal.value.code


def test_a_paused_run_starts_nothing_new_and_lets_what_is_in_flight_land() -> None:
    stage = chain()
    assert stage.step(commands.PauseRun(at=stage.at, by="nora")) == ["run.paused"]
    assert (stage.run.paused, runs.status(stage.run)) == ("operator", "running")
    assert stage.succeed("a") == ["attempt.succeeded a 1.1"]
    assert (runs.status(stage.run), resolutions(stage.run)) == ("paused", ())
    assert stage.step(commands.ResumeRun(at=stage.at, by="nora")) == ["run.resumed"]
    assert resolutions(stage.run) == ("b",)


def test_a_paused_run_whose_last_work_lands_is_over() -> None:
    stage = Stage(flow(work("a", effect="once"), work("b", "a", effect="once")))
    stage.create()
    pause = commands.PauseRun(at=stage.at, by="nora", reason="suspended")
    assert stage.step(pause) == ["run.paused"]
    assert stage.succeed("a") == ["attempt.succeeded a 1.1"]
    assert stage.step(commands.ResumeRun(at=stage.at, by="nora")) == ["run.resumed", "attempt.started b 1.1"]
    assert stage.step(pause) == ["run.paused"]
    assert stage.succeed("b") == ["attempt.succeeded b 1.1", "run.ended ok"]


def test_a_person_pauses_a_suspended_run_and_a_suspension_leaves_a_paused_one_as_it_is() -> None:
    stage = chain()
    assert stage.step(commands.PauseRun(at=stage.at, by="server", reason="suspended")) == ["run.paused"]
    assert stage.step(commands.PauseRun(at=stage.at, by="server", reason="suspended")) == []
    assert stage.step(commands.PauseRun(at=stage.at, by="nora", reason="wait")) == ["run.paused"]
    assert stage.run.paused == "wait"
    for reason in ("suspended", "operator"):
        assert stage.step(commands.PauseRun(at=stage.at, by="kim", reason=reason)) == []
    assert stage.run.paused == "wait"
    assert stage.step(commands.ResumeRun(at=stage.at, by="nora")) == ["run.resumed"]


def test_retries_do_not_come_due_while_paused() -> None:
    stage = Stage(flow(work("a", retry=definition.Retry(max_attempts=2, delay_ms=10))))
    stage.create()
    stage.fail("a")
    stage.step(commands.PauseRun(at=stage.at, by="nora"))
    assert (wake_at(stage.run), stage.tick(100)) == (None, [])
    assert stage.step(commands.ResumeRun(at=stage.at, by="nora")) == [
        "run.resumed",
        "attempt.due a",
        "attempt.started a 1.2",
    ]


def test_modes_are_changed_one_by_one_and_only_when_they_change() -> None:
    stage = chain()
    change = commands.ChangeMode(at=stage.at, by="nora", mode="INTERACTIVE")
    assert (stage.step(change), stage.step(change)) == (["run.mode"], [])
    assert (stage.run.mode, stage.run.global_mode) == ("INTERACTIVE", "IMPLEMENTATION")
    assert stage.step(commands.ChangeMode(at=stage.at, by="nora", global_mode="PLANNING")) == ["run.mode"]
    assert (stage.run.mode, stage.run.global_mode) == ("INTERACTIVE", "PLANNING")


def test_a_run_that_becomes_interactive_asks_before_what_happens_once() -> None:
    stage = Stage(flow(work("a"), work("b", after=("a",), effect="once")))
    stage.create()
    assert "b" not in stage.run.needs_resolution
    stage.step(commands.ChangeMode(at=stage.at, by="nora", mode="INTERACTIVE"))
    assert "b" in stage.run.needs_resolution


def test_pausing_and_resuming_twice_is_the_same_as_once() -> None:
    stage = chain()
    assert stage.step(commands.ResumeRun(at=stage.at, by="nora")) == []
    stage.step(commands.PauseRun(at=stage.at, by="nora"))
    assert stage.step(commands.PauseRun(at=stage.at, by="nora")) == []


def test_cancelling_stops_what_is_in_flight_withdraws_questions_and_ends() -> None:
    stage = Stage(
        flow(
            work("a"),
            work("p", mode="approval", approval=definition.Approval(prompt="?")),
            work("d"),
            work("later", "d"),
        )
    )
    stage.create()
    stage.ask("p")
    stage.at += 30
    assert stage.step(commands.CancelRun(at=stage.at, by="nora", reason="enough")) == [
        "run.ending cancelled CANCELLED",
        "attempt.cancelled a 1.1 ending",
        "attempt.cancelled d 1.1 ending",
        "approval.withdrawn p ending",
        "run.ended cancelled CANCELLED",
    ]
    assert stage.outcomes() == {"a": "cancelled", "p": "cancelled", "d": "cancelled", "later": None}
    assert stage.run.error == {"code": "CANCELLED", "message": "enough"}
    assert runs.status(stage.run) == "failed"
    cut = stage.log[-4]
    assert isinstance(cut, events.AttemptCancelled)
    assert (cut.receipt["status"], cut.receipt["metrics"]) == (
        "cancelled",
        {"tokens_in": 0, "tokens_out": 0, "wall_ms": 30},
    )


def test_a_paused_run_can_be_cancelled() -> None:
    stage = chain()
    stage.step(commands.PauseRun(at=stage.at, by="nora"))
    stage.step(commands.CancelRun(at=stage.at, by="nora"))
    assert stage.ends() == ("cancelled", "CANCELLED")
    assert stage.run.error == {"code": "CANCELLED", "message": "cancelled by nora"}


@pytest.mark.parametrize(
    "command",
    [
        commands.ReportAttempt(at=START, node="a", visit=1, attempt=2, outcome=DONE),
        commands.ReportAttempt(at=START, node="a", visit=2, attempt=1, outcome=DONE),
        commands.ReportAttempt(at=START, node="a", visit=1, attempt=1, item=0, outcome=DONE),
        commands.ReportAttempt(at=START, node="a", visit=1, attempt=1, item=-1, outcome=DONE),
        commands.ReportAttempt(at=START, node="b", visit=1, attempt=1, outcome=DONE),
        commands.ReportAttempt(at=START, node="nobody", visit=1, attempt=1, outcome=DONE),
        commands.ReportInterrupted(at=START, node="b", visit=1, attempt=1),
    ],
)
def test_a_report_about_an_attempt_that_is_not_under_way_is_refused(command: commands.Command) -> None:
    assert refused(chain(), command) == "STALE_REPORT"


def test_a_report_counts_once() -> None:
    stage = chain()
    report = commands.ReportAttempt(at=START, node="a", visit=1, attempt=1, outcome=DONE)
    stage.step(report)
    assert refused(stage, report) == "STALE_REPORT"


def test_success_without_outputs_is_an_empty_object() -> None:
    stage = chain()
    stage.report("a", outcome.Outcome(inputs_hash="sha256:i"))
    assert stage.run.nodes["a"].outputs == {"value": {}}


@pytest.mark.parametrize(("node", "visit"), [("a", 1), ("b", 2), ("nobody", 1)])
def test_values_that_nobody_waits_for_are_refused(node: str, visit: int) -> None:
    stage = chain()
    stage.succeed("a")
    assert refused(stage, commands.ResolveNode(at=START, node=node, visit=visit)) == "STALE_RESOLUTION"


def test_an_answer_to_a_question_that_is_not_open_is_refused() -> None:
    command = commands.AnswerApproval(at=START, approval_id="x", status="approved", by="nora", digest="")
    assert refused(chain(), command) == "APPROVAL_CLOSED"


EVERY = (
    commands.ReportAttempt(at=START, node="a", visit=1, attempt=1, outcome=DONE),
    commands.ReportInterrupted(at=START, node="a", visit=1, attempt=1),
    commands.ResolveNode(at=START, node="b", visit=1),
    commands.AnswerApproval(at=START, approval_id="x", status="approved", by="nora", digest=""),
    commands.Tick(at=START),
    commands.Recover(at=START),
    commands.SkipTime(at=START, skipped_ms=1),
    commands.PauseRun(at=START, by="nora"),
    commands.ResumeRun(at=START, by="nora"),
    commands.CancelRun(at=START, by="nora"),
)


@pytest.mark.parametrize("command", EVERY, ids=lambda command: type(command).__name__)
def test_no_order_reaches_a_run_that_has_ended_or_does_not_exist(command: commands.Command) -> None:
    assert refused(Stage(flow(work("a"))), command) == "RUN_UNKNOWN"
    stage = chain()
    stage.step(commands.CancelRun(at=START, by="nora"))
    assert refused(stage, command) == "RUN_ENDED"


def test_a_run_is_created_once() -> None:
    stage = chain()
    again = commands.CreateRun(at=START, definition="d", inputs={}, by="nora")
    assert refused(stage, again) == "RUN_EXISTS"
    stage.step(commands.CancelRun(at=START, by="nora"))
    assert refused(stage, again) == "RUN_EXISTS"


@pytest.mark.parametrize(
    "command",
    [
        commands.PauseRun(at=START, by="\udcff"),
        commands.PauseRun(at=START, by="nora", reason="\udcff"),
        commands.ResumeRun(at=START, by="\udcff"),
        commands.CancelRun(at=START, by="nora", reason="\udcff"),
        commands.AnswerApproval(at=START, approval_id="", status="denied", by="nora", digest="", reason="\udcff"),
    ],
    ids=lambda command: type(command).__name__,
)
def test_words_of_people_that_no_log_can_hold_are_refused(command: commands.Command) -> None:
    assert refused(chain(), command) == "TEXT_INVALID"
    assert refused(Stage(flow()), commands.CreateRun(at=START, definition="", inputs={}, by="\udcff")) == "TEXT_INVALID"


def test_a_log_that_breaks_off_while_the_run_ends_is_wound_down_and_takes_no_other_order() -> None:
    stage = Stage(flow(work("a"), work("p", mode="approval", approval=definition.Approval(prompt="?"))))
    stage.create()
    stage.ask("p")
    stage.step(commands.CancelRun(at=START, by="nora"))
    broken = Stage(stage.workflow)
    broken.log = stage.log[:-3]
    broken.run = fold(stage.workflow, broken.log)
    assert (broken.run.ending, runs.status(broken.run)) == ("cancelled", "running")
    for command in EVERY:
        if not isinstance(command, commands.Tick | commands.Recover | commands.SkipTime):
            with pytest.raises(Refused) as refusal:
                decide(broken.run, command)
            assert refusal.value.code == "RUN_ENDING"
    assert broken.tick() == [
        "attempt.cancelled a 1.1 ending",
        "approval.withdrawn p ending",
        "run.ended cancelled CANCELLED",
    ]
    assert broken.log[-1] == stage.log[-1]
    assert broken.run.id == RUN
