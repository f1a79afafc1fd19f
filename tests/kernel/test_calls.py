"""Questions about an agent's calls: asked during an attempt, they outlive it, and each answer is used once."""

from __future__ import annotations

from typing import Any

import pytest

from openskelo.errors import Refused
from openskelo.kernel import commands, definition, events
from openskelo.kernel import run as runs
from openskelo.kernel.json import JsonObject
from tests.kernel.flows.test_graph import Room, room
from tests.kernel.stage import Stage, failure, flow, work

RULE: JsonObject = {"kind": "execute", "command": "make test"}
ARGS: JsonObject = {"tool": "Bash", "arguments": {"command": "make test"}, "rule": RULE}


def at_work(*nodes: definition.Node, **more: Any) -> Stage:
    """A run whose node `a` is at work."""
    stage = Stage(flow(work("a", effect="idempotent"), *nodes, **more))
    stage.create()
    return stage


def ask(stage: Stage, call: str = "c1", digest: str = "sha256:1", attempt: int = 1, **more: Any) -> list[str]:
    return stage.step(
        commands.AskAboutCall(
            at=stage.at,
            node="a",
            visit=1,
            attempt=attempt,
            call_id=call,
            args=ARGS,
            prompt="May it run `make test`?",
            digest=digest,
            **more,
        )
    )


def answer(stage: Stage, digest: str, status: commands.Answer = "approved", **more: Any) -> list[str]:
    (approval,) = [approval for approval in stage.run.approvals.values() if approval.digest == digest]
    command = commands.AnswerApproval(
        at=stage.at, approval_id=approval.id, status=status, by="nora", digest=digest, **more
    )
    return stage.step(command)


def test_a_question_during_an_attempt_stops_the_runs_clock_until_it_is_answered() -> None:
    stage = at_work(limits=definition.Limits(max_wall_ms=1000))
    assert ask(stage) == ["approval.requested a 1.1 call"]
    assert runs.status(stage.run) == "paused"
    assert stage.tick(5000) == []
    assert answer(stage, "sha256:1") == ["approval.resolved a approved by nora"]
    assert runs.status(stage.run) == "running"
    assert stage.succeed("a") == ["attempt.succeeded a 1.1", "run.ended ok"]
    assert stage.run.spent.wall_ms == 0


def test_other_nodes_go_on_while_an_agent_waits_also_where_one_works_at_a_time() -> None:
    stage = at_work(work("b"), parallel=1)
    assert ask(stage) == ["approval.requested a 1.1 call", "attempt.started b 1.1"]
    assert runs.status(stage.run) == "running"
    stage.succeed("b")
    assert runs.status(stage.run) == "paused"


def test_one_call_is_asked_about_once_and_two_calls_twice() -> None:
    stage = at_work()
    ask(stage)
    with pytest.raises(Refused, match="asked about already"):
        ask(stage)
    ask(stage, "c2", "sha256:2")
    answer(stage, "sha256:1")
    assert runs.status(stage.run) == "paused"
    answer(stage, "sha256:2", "denied", reason="no")
    assert runs.status(stage.run) == "running"


def test_an_attempt_that_is_over_asks_nothing() -> None:
    stage = at_work()
    with pytest.raises(Refused, match="attempt 2 of a is not under way"):
        ask(stage, attempt=2)


def test_a_question_outlives_a_crash_and_its_answer_is_used_once_by_the_next_attempt() -> None:
    stage = at_work()
    ask(stage)
    assert stage.crash() == ["run.recovered", "attempt.interrupted a 1.1 crash"]
    assert runs.status(stage.run) == "paused"
    assert answer(stage, "sha256:1") == ["approval.resolved a approved by nora", "attempt.started a 1.2"]
    assert ask(stage, "c7", attempt=2) == ["call.granted a 1.2"]
    (granted,) = [fact for fact in stage.log if isinstance(fact, events.CallGranted)]
    assert granted.grant["resolution"] == {"status": "approved", "by": "nora", "reason": None}
    assert ask(stage, "c8", attempt=2) == ["approval.requested a 1.2 call"]


def test_an_answer_after_a_crash_is_for_the_same_call_only() -> None:
    stage = at_work()
    ask(stage)
    stage.crash()
    answer(stage, "sha256:1")
    assert ask(stage, "c7", "sha256:other", attempt=2) == ["approval.requested a 1.2 call"]


def test_work_with_two_open_questions_goes_on_when_both_are_answered() -> None:
    stage = at_work()
    ask(stage)
    ask(stage, "c2", "sha256:2")
    stage.crash()
    assert answer(stage, "sha256:2", "denied", reason="no") == ["approval.resolved a denied by nora"]
    assert answer(stage, "sha256:1") == ["approval.resolved a approved by nora", "attempt.started a 1.2"]
    assert ask(stage, "c9", "sha256:2", attempt=2) == ["call.granted a 1.2"]
    stage.succeed("a")
    assert stage.run.nodes["a"].slots[0].grants == {}


def test_the_death_of_an_agent_leaves_its_question_open() -> None:
    stage = at_work()
    ask(stage)
    assert stage.fail("a", failure("it exited", "AGENT_EXITED")) == ["attempt.failed a 1.1 ask"]
    assert runs.status(stage.run) == "paused"
    assert answer(stage, "sha256:1") == ["approval.resolved a approved by nora", "attempt.started a 1.2"]


def test_a_failure_for_good_and_a_success_withdraw_open_questions() -> None:
    lasting = at_work()
    ask(lasting)
    told = lasting.fail("a", failure("no", retryable=False))
    assert told[:2] == ["approval.withdrawn a over", "attempt.failed a 1.1 fail"]
    done = at_work()
    ask(done)
    assert done.succeed("a")[:2] == ["approval.withdrawn a over", "attempt.succeeded a 1.1"]


def test_a_cancelled_run_withdraws_the_question() -> None:
    stage = at_work()
    ask(stage)
    assert stage.step(commands.CancelRun(at=stage.at, by="nora")) == [
        "run.ending cancelled CANCELLED",
        "attempt.cancelled a 1.1 ending",
        "approval.withdrawn a ending",
        "run.ended cancelled CANCELLED",
    ]


def test_changed_arguments_need_a_digest_of_their_own() -> None:
    stage = at_work()
    ask(stage, form={"type": "object"}, stored={"blob": "sha256:b"})
    with pytest.raises(Refused, match="needs its arguments"):
        answer(stage, "sha256:1", "modified")
    changed: JsonObject = {"command": "make check"}
    assert answer(stage, "sha256:1", "modified", args=changed, new_digest="sha256:n") == [
        "approval.resolved a modified by nora"
    ]


def test_an_approval_for_the_rest_of_the_run_keeps_the_rule_that_was_shown() -> None:
    stage = at_work()
    ask(stage)
    answer(stage, "sha256:1", remember="run")
    assert stage.run.nodes["a"].call_rules == (RULE,)
    ask(stage, "c2", "sha256:2")
    answer(stage, "sha256:2", remember="turn")
    assert stage.run.nodes["a"].call_rules == (RULE,)


def test_a_denial_is_not_remembered() -> None:
    stage = at_work()
    ask(stage)
    with pytest.raises(Refused, match="cannot be remembered"):
        answer(stage, "sha256:1", "denied", remember="run")


def asking_twice() -> Room:
    """A live graph in whose turn two calls are asked about."""
    live = room()
    live.add("a", effect="idempotent")
    live.say("a", "go")
    ask(live)
    ask(live, "c2", "sha256:2")
    return live


def test_an_interrupt_withdraws_the_questions_of_a_turn() -> None:
    live = asking_twice()
    assert live.say("a", "stop", interrupt=True) == [
        "message.received a",
        "attempt.cancelled a 1.1 interrupt",
        "approval.withdrawn a over",
        "approval.withdrawn a over",
        "attempt.started a 2.1",
    ]


def test_an_interrupt_withdraws_the_questions_of_a_turn_whose_agent_is_gone() -> None:
    live = asking_twice()
    live.crash()
    assert live.say("a", "stop", interrupt=True) == [
        "message.received a",
        "approval.withdrawn a interrupt",
        "approval.withdrawn a over",
        "attempt.started a 2.1",
    ]


@pytest.mark.parametrize("is_gone", [False, True])
def test_the_removal_of_a_node_withdraws_the_questions_of_its_turn(is_gone: bool) -> None:
    live = asking_twice()
    if is_gone:
        live.crash()
    told = live.step(commands.RemoveNode(at=live.at, by="nora", node="a"))
    assert [fact for fact in told if fact.startswith("approval")] == 2 * ["approval.withdrawn a removed"]
    assert told[-1] == "node.removed a"
    assert (live.run.approvals, list(live.run.nodes)) == ({}, [])


# -- calls that reach outside of the workspace ------------------------------------------------------------------------


def begin_call(stage: Stage, call: str = "c1", *, outside: bool = True) -> list[str]:
    started = commands.StartedCall(
        info={"id": call, "tool": "Bash"}, args={"value": {"command": "git push"}}, reaches_outside=outside
    )
    return stage.step(commands.ReportProgress(at=stage.at, node="a", visit=1, attempt=1, calls=(started,)))


def end_call(stage: Stage, call: str = "c1") -> list[str]:
    ended = commands.EndedCall(call_id=call, status="completed", duration_ms=5, result={"value": "ok"}, exit_code=0)
    return stage.step(commands.ReportProgress(at=stage.at, node="a", visit=1, attempt=1, calls=(ended,)))


def test_a_crash_in_the_middle_of_a_call_that_reaches_outside_asks_a_person() -> None:
    stage = at_work()
    begin_call(stage)
    assert stage.crash() == [
        "run.recovered",
        "attempt.interrupted a 1.1 crash uncertain",
        "approval.requested a uncertain",
    ]
    (approval,) = stage.run.approvals.values()
    assert approval.document["tool"]["args"]["calls"] == [{"id": "c1", "tool": "Bash"}]  # type: ignore[index]
    assert "in the middle of a call of Bash" in str(approval.document["prompt"])
    assert answer(stage, approval.digest) == ["approval.resolved a approved by nora", "attempt.started a 1.2"]


@pytest.mark.parametrize(("outside", "ended"), [(False, False), (True, True)])
def test_a_crash_asks_nobody_about_calls_in_the_workspace_and_calls_that_are_over(outside: bool, ended: bool) -> None:
    stage = at_work()
    begin_call(stage, outside=outside)
    if ended:
        end_call(stage)
    assert stage.crash() == ["run.recovered", "attempt.interrupted a 1.1 crash", "attempt.started a 1.2"]


def test_a_failure_in_the_middle_of_a_call_that_reaches_outside_asks_a_person() -> None:
    stage = at_work()
    begin_call(stage)
    assert stage.fail("a") == ["attempt.failed a 1.1 ask", "approval.requested a uncertain"]
    (approval,) = stage.run.approvals.values()
    assert approval.document["tool"]["args"]["calls"] == [{"id": "c1", "tool": "Bash"}]  # type: ignore[index]
    answer(stage, approval.digest, "denied", reason="no")
    assert runs.status(stage.run) == "failed"
