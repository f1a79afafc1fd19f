"""After a crash or a suspension: what is done again, what is asked about, and when it is enough."""

from __future__ import annotations

from typing import Any

import pytest

from openskelo.errors import Refused
from openskelo.kernel import commands, definition, events, follow, outcome
from openskelo.kernel import run as runs
from openskelo.kernel.json import JsonObject
from tests.kernel.stage import Stage, flow, work


def started(effect: definition.Effect, **more: Any) -> Stage:
    stage = Stage(flow(work("a", effect=effect, **more), work("b", "a")))
    stage.create()
    return stage


@pytest.mark.parametrize("effect", ["pure", "idempotent"])
def test_a_cut_attempt_that_may_be_repeated_is(effect: definition.Effect) -> None:
    stage = started(effect)
    assert stage.crash() == ["run.recovered", "attempt.interrupted a 1.1 crash", "attempt.started a 1.2"]
    assert stage.succeed("a") == ["attempt.succeeded a 1.2", "attempt.started b 1.1"]


def test_the_time_after_a_crash_counts_for_neither_the_run_nor_the_attempt_that_it_cut() -> None:
    stage = started("pure")
    stage.at += 70
    keep(stage)
    stage.crash(3_600_000)
    (cut,) = [fact for fact in stage.log if isinstance(fact, events.AttemptInterrupted)]
    assert cut.receipt["metrics"] == {"tokens_in": 0, "tokens_out": 0, "wall_ms": 70}
    stage.at += 30
    stage.succeed("a")
    stage.succeed("b")
    assert stage.run.spent.wall_ms == 100


PROMPT = outcome.ArtifactNote(id="p", kind="prompt", name="prompt.full.txt", hash="sha256:p", size=3)


def keep(stage: Stage, attempt: int = 1) -> list[str]:
    return stage.step(commands.KeepArtifacts(at=stage.at, node="a", visit=1, attempt=attempt, artifacts=(PROMPT,)))


def test_a_file_that_an_attempt_keeps_before_its_outcome_survives_a_crash() -> None:
    stage = started("pure")
    assert keep(stage) == ["artifact.created a 1.1"]
    stage.crash()
    (created,) = [fact for fact in stage.log if isinstance(fact, events.ArtifactCreated)]
    assert (created.attempt, created.artifact["name"]) == (1, "prompt.full.txt")


SESSION: JsonObject = {"sessionId": "s1", "agent": "fixer"}


def report(stage: Stage, **progress: Any) -> list[str]:
    return stage.step(commands.ReportProgress(at=stage.at, node="a", visit=1, attempt=1, **progress))


def test_an_attempt_in_flight_records_its_agents_session_and_calls() -> None:
    stage = started("idempotent")
    started_call = commands.StartedCall(info={"id": "c1", "tool": "edit"}, args={"value": {"path": "x"}})
    ended_call = commands.EndedCall(call_id="c1", status="completed", duration_ms=5, result={"value": "ok"})
    assert report(stage, session=SESSION, calls=(started_call, ended_call)) == [
        "session.opened a 1.1",
        "call.started a 1.1",
        "call.completed a 1.1",
    ]
    assert report(stage, calls=(started_call,)) == ["call.started a 1.1"]
    gate: JsonObject = {"decision": "allow", "why": "ada has allowed it", "asked": True}
    ruled_call = commands.RuledCall(call_id="c1", gate=gate, args={"value": {"path": "x"}})
    assert report(stage, calls=(ruled_call,)) == ["call.ruled a 1.1"]
    assert stage.run.nodes["a"].session == SESSION
    stage.crash()
    assert stage.run.nodes["a"].session == SESSION


def open_session(stage: Stage, attempt: int, session_id: str = "s1") -> JsonObject | None:
    session: JsonObject = {**SESSION, "sessionId": session_id, "visit": 1}
    stage.step(commands.ReportProgress(at=stage.at, node="a", visit=1, attempt=attempt, session=session))
    return stage.run.nodes["a"].session


def test_a_session_says_in_which_visit_its_agent_last_gave_a_result() -> None:
    stage = started("idempotent", repairs=1)
    opened: JsonObject = {**SESSION, "visit": 1}
    assert open_session(stage, 1) == opened
    stage.crash()
    assert open_session(stage, 2) == opened  # the agent may not have got its prompt
    refused = outcome.Failure(code="OUTPUT_CONTRACT", message="no", repairable=True)
    assert stage.fail("a", refused, output="sha256:o") == ["attempt.failed a 1.2 repair", "attempt.started a 1.3"]
    answered: JsonObject = {**opened, "answered": 1}
    assert stage.run.nodes["a"].session == answered
    assert open_session(stage, 3) == answered
    stage.crash()
    assert open_session(stage, 4, "s2") == {**opened, "sessionId": "s2"}
    stage.succeed("a")
    assert stage.run.nodes["a"].session == {**answered, "sessionId": "s2"}


def test_a_failure_without_a_result_is_no_answer_of_the_agent() -> None:
    stage = started("idempotent")
    opened = open_session(stage, 1)
    stage.fail("a")
    assert stage.run.nodes["a"].session == opened


def test_an_attempt_that_is_over_reports_no_progress() -> None:
    stage = started("pure")
    stage.succeed("a")
    with pytest.raises(Refused, match="attempt 1 of a is not under way"):
        report(stage, session=SESSION)


def test_what_is_known_of_a_diff_is_in_the_record() -> None:
    stage = started("pure")
    note = outcome.ArtifactNote(id="d", kind="diff", name="diff.patch", hash="h", size=1, metadata={"insertions": 2})
    stage.step(commands.KeepArtifacts(at=stage.at, node="a", visit=1, attempt=1, artifacts=(note, PROMPT)))
    created = [fact.artifact for fact in stage.log if isinstance(fact, events.ArtifactCreated)]
    assert [artifact.get("metadata") for artifact in created] == [{"insertions": 2}, None]


def test_an_attempt_that_is_not_in_flight_keeps_nothing() -> None:
    stage = started("pure")
    stage.succeed("a")
    with pytest.raises(Refused, match="attempt 1 of a is not under way") as refused:
        keep(stage)
    assert refused.value.code == "STALE_REPORT"


def test_a_cut_attempt_spends_no_retry() -> None:
    stage = started("pure")
    stage.crash()
    assert stage.run.nodes["a"].slots[0].failures == 0


def test_a_finished_step_is_never_started_again() -> None:
    stage = started("pure")
    stage.succeed("a")
    assert stage.crash() == ["run.recovered", "attempt.interrupted b 1.1 crash", "attempt.started b 1.2"]


def test_a_cut_once_effect_is_asked_about() -> None:
    stage = started("once")
    assert stage.crash() == [
        "run.recovered",
        "attempt.interrupted a 1.1 crash uncertain",
        "approval.requested a uncertain",
    ]
    assert runs.status(stage.run) == "paused"
    asked = stage.log[-1]
    assert isinstance(asked, events.ApprovalRequested)
    assert asked.tool["args"] == {"node": "a", "visit": 1, "attempt": 1}
    assert asked.expires_at is None


def test_it_happened_with_these_outputs() -> None:
    stage = started("once")
    stage.crash()
    assert stage.answer("a", "modified", args={"out": 1}, outputs={"value": {"out": 1}}, output_hash="sha256:o") == [
        "approval.resolved a modified by nora",
        "attempt.succeeded a 1.1",
        "attempt.started b 1.1",
    ]
    assert stage.run.nodes["a"].outputs == {"value": {"out": 1}}
    assert (stage.run.spent.steps, stage.run.nodes["a"].attempts) == (1, 1)


def test_it_happened_needs_its_outputs() -> None:
    stage = started("once")
    stage.crash()
    with pytest.raises(Refused, match="lacks the node's outputs"):
        stage.answer("a", "modified")
    stage.check()


def test_do_it_again() -> None:
    stage = started("once")
    stage.crash()
    assert stage.answer("a") == ["approval.resolved a approved by nora", "attempt.started a 1.2"]


def test_fail() -> None:
    stage = started("once")
    stage.crash()
    assert stage.answer("a", "denied") == [
        "approval.resolved a denied by nora",
        "node.failed a failed UNCERTAIN_EFFECT",
        "run.ending failed UNCERTAIN_EFFECT",
        "run.ended failed UNCERTAIN_EFFECT",
    ]
    assert stage.run.error == {"code": "UNCERTAIN_EFFECT", "message": "uncertain: denied by nora", "node": "a"}


def test_a_failure_before_the_cut_is_told_with_the_denial() -> None:
    stage = started("once", retry=definition.Retry(max_attempts=2))
    stage.fail("a", "first")
    stage.crash()
    stage.answer("a", "denied", reason="it is gone")
    assert stage.run.error == {
        "code": "UNCERTAIN_EFFECT",
        "message": "it is gone",
        "last": {"code": "BAD", "message": "first"},
        "node": "a",
    }


def test_only_those_who_may_let_it_happen_may_let_it_happen_again() -> None:
    stage = started("once", approval=definition.Approval(prompt="?", approvers=("kim",)))
    stage.ask("a")
    stage.answer("a", by="kim")
    stage.crash()
    with pytest.raises(Refused, match="nora may not answer"):
        stage.answer("a")


def test_each_cut_item_of_a_foreach_is_asked_about_and_the_others_go_on() -> None:
    foreach = definition.Foreach(items="x", concurrency=2)
    stage = started("once", foreach=foreach)
    stage.resolve("a", count=4)
    stage.succeed("a", 0)
    assert stage.crash() == [
        "run.recovered",
        "attempt.interrupted a[1] 1.1 crash uncertain",
        "attempt.interrupted a[2] 1.1 crash uncertain",
        "approval.requested a[1] uncertain",
        "approval.requested a[2] uncertain",
        "attempt.started a[3] 1.1",
    ]
    one, two = stage.run.approvals.values()
    asked = [str(question.document["prompt"]).partition(" while")[0] for question in (one, two)]
    assert asked == ["a[1] was cut", "a[2] was cut"]
    again = commands.AnswerApproval(at=stage.at, approval_id=one.id, status="approved", by="nora", digest=one.digest)
    assert stage.step(again) == ["approval.resolved a[1] approved by nora", "attempt.started a[1] 1.2"]
    happened = commands.AnswerApproval(
        at=stage.at, approval_id=two.id, status="modified", by="nora", digest=two.digest, outputs={"value": "2"}
    )
    assert stage.step(happened) == ["approval.resolved a[2] modified by nora", "attempt.succeeded a[2] 1.1"]
    stage.succeed("a", 3)
    assert stage.succeed("a", 1)[1:] == ["node.finished a", "attempt.started b 1.1"]


def test_work_that_keeps_killing_its_driver_is_not_started_for_ever() -> None:
    stage = started("pure")
    for _ in range(follow.MAX_INTERRUPTIONS - 1):
        assert stage.crash()[-1].startswith("attempt.started a")
    assert stage.crash()[2:] == [
        "node.failed a failed INTERRUPTED_TOO_OFTEN",
        "run.ending failed INTERRUPTED_TOO_OFTEN",
        "run.ended failed INTERRUPTED_TOO_OFTEN",
    ]


def test_a_suspended_attempt_is_not_held_against_its_node() -> None:
    """A person who stops the command line every evening is no handler that kills its driver."""
    stage = started("pure")
    for attempt in range(1, 2 * follow.MAX_INTERRUPTIONS):
        stage.step(commands.PauseRun(at=stage.at, by="nora", reason="suspended"))
        cut = commands.ReportInterrupted(at=stage.at, node="a", visit=1, attempt=attempt)
        assert stage.step(cut) == [f"attempt.interrupted a 1.{attempt} suspended"]
        assert runs.status(stage.run) == "paused"
        assert stage.step(commands.ResumeRun(at=stage.at, by="nora"))[-1] == f"attempt.started a 1.{attempt + 1}"


def test_a_suspended_once_effect_is_asked_about() -> None:
    stage = started("once")
    stage.step(commands.PauseRun(at=stage.at, by="nora", reason="suspended"))
    assert stage.step(commands.ReportInterrupted(at=stage.at, node="a", visit=1, attempt=1)) == [
        "attempt.interrupted a 1.1 suspended uncertain",
        "approval.requested a uncertain",
    ]


def test_recovering_a_run_with_nothing_in_flight_changes_nothing_but_says_so() -> None:
    stage = Stage(flow(work("a", mode="approval", approval=definition.Approval(prompt="?"))))
    stage.create()
    stage.ask("a")
    assert stage.crash() == ["run.recovered"]
    assert runs.status(stage.run) == "paused"


def test_a_paused_run_is_still_paused_after_a_crash() -> None:
    stage = started("pure")
    stage.step(commands.PauseRun(at=stage.at, by="nora"))
    assert stage.crash() == ["run.recovered", "attempt.interrupted a 1.1 crash"]
    assert runs.status(stage.run) == "paused"


MISSING = outcome.Failure(code="SECRET_MISSING", message="KEY is not set", retryable=False, missing=True)


def test_work_that_lacks_something_has_not_failed_and_is_done_when_the_run_is_resumed() -> None:
    stage = started("idempotent")
    for attempt in range(1, 2 * follow.MAX_INTERRUPTIONS):
        assert stage.fail("a", MISSING) == [f"attempt.interrupted a 1.{attempt} missing", "run.paused"]
        assert (runs.status(stage.run), stage.run.paused) == ("paused", "SECRET_MISSING a: KEY is not set")
        assert stage.step(commands.ResumeRun(at=stage.at, by="nora"))[-1] == f"attempt.started a 1.{attempt + 1}"
    assert stage.succeed("a")[-1] == "attempt.started b 1.1"


def test_work_that_lacks_something_does_not_change_why_its_run_is_paused() -> None:
    stage = started("pure")
    stage.step(commands.PauseRun(at=stage.at, by="nora", reason="lunch"))
    assert stage.fail("a", MISSING) == ["attempt.interrupted a 1.1 missing"]
    assert stage.run.paused == "lunch"


def test_an_effect_that_happens_once_is_asked_about_if_its_work_lacked_something_half_way() -> None:
    stage = started("once")
    assert stage.fail("a", MISSING) == [
        "attempt.interrupted a 1.1 missing uncertain",
        "run.paused",
        "approval.requested a uncertain",
    ]


def test_work_whose_judgement_lacks_something_is_kept_and_only_judged_again() -> None:
    stage = started("once")
    done: JsonObject = {"value": {"out": "done"}}
    for attempt in (1, 2):
        assert stage.fail("a", MISSING, outputs=done) == [f"attempt.interrupted a 1.{attempt} missing", "run.paused"]
        assert stage.run.nodes["a"].slots[0].unjudged == done
        assert stage.step(commands.ResumeRun(at=stage.at, by="nora"))[-1] == f"attempt.started a 1.{attempt + 1}"
    assert stage.fail("a", MISSING)[0] == "attempt.interrupted a 1.3 missing"  # before it could judge
    assert stage.run.nodes["a"].slots[0].unjudged == done


def test_work_that_lacks_something_is_charged_what_it_has_used_and_not_what_it_reserved() -> None:
    stage = started("pure", reserve=definition.Amount(tokens=500, cost_nanousd=90))
    stage.fail("a", MISSING, metrics=outcome.Metrics(tokens_in=3, tokens_out=4, cost_nanousd=5))
    spent, reserved = stage.run.spent, stage.run.reserved
    assert (spent.tokens, spent.cost_nanousd, reserved.tokens, reserved.cost_nanousd) == (7, 5, 0, 0)
