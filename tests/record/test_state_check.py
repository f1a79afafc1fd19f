"""Whether a person's answer can have given a node other items: only a foreach, and before any of its work."""

from __future__ import annotations

from typing import Any

import pytest

from openskelo.kernel import commands, definition, events
from openskelo.kernel.json import JsonObject
from openskelo.record import state_check
from openskelo.structs import replace
from tests.kernel.stage import RUN, Stage, flow, work

ONE: dict[str, Any] = {"items": {"value": [5]}, "count": 1}


def asked(foreach: definition.Foreach | None = None, *, effect: definition.Effect = "pure") -> Stage:
    """A node `a` that a person has been asked about."""
    approval, retry = definition.Approval(prompt="?"), definition.Retry(max_attempts=2)
    stage = Stage(flow(work("a", foreach=foreach, approval=approval, effect=effect, retry=retry)))
    stage.create()
    stage.ask("a", **({} if foreach is None else {"count": 1}))
    return stage


def answer(stage: Stage, status: Any = "modified", **more: Any) -> str | None:
    """What is said about the stage's log if its last answer, plain in truth, had been this one."""
    edit: dict[str, Any] = {"args": {}, "new_digest": "sha256:n"} if status == "modified" else {}
    stage.answer("a", status, **edit)
    told = state_check.StateCheck(RUN, stage.workflow)
    answers = [event for event in stage.log if isinstance(event, events.ApprovalResolved)]
    for event in stage.log:
        if event is answers[-1]:
            return told.check(replace(event, **more))
        assert told.check(event) is None
    raise AssertionError


EACH = definition.Foreach(items="x")


def test_a_changed_answer_may_bring_items() -> None:
    assert answer(asked(EACH), **ONE) is None


@pytest.mark.parametrize(
    ("stage", "status", "more"),
    [
        (asked(), "modified", ONE),
        (asked(EACH), "approved", ONE),
        (asked(EACH), "modified", {"count": 1}),
        (asked(EACH), "modified", {"items": {"value": []}}),
        (asked(EACH), "modified", {**ONE, "count": -1}),
    ],
)
def test_items_that_the_node_cannot_have_are_found(stage: Stage, status: str, more: dict[str, Any]) -> None:
    assert answer(stage, status, **more) == "a is given items that it cannot have"


def test_items_that_come_after_the_work_began_are_found() -> None:
    stage = asked(EACH, effect="once")
    stage.answer("a")
    stage.fail("a", item=0)
    stage.ask("a", count=1)
    assert answer(stage, **ONE) == "a is given other items after its work began"


def told_of_agent(session: JsonObject | None, agent: JsonObject | None) -> str | None:
    """What is said of a success whose attempt has opened this session, and whose receipt says that of its agent."""
    stage = Stage(flow(work("a", mode="agent", effect="idempotent")))
    stage.create()
    if session is not None:
        stage.step(commands.ReportProgress(at=stage.at, node="a", visit=1, attempt=1, session=session))
    stage.succeed("a")
    told = state_check.StateCheck(RUN, stage.workflow)
    for event in stage.log:
        if isinstance(event, events.AttemptSucceeded):
            receipt = {key: value for key, value in event.receipt.items() if key != "agent"}
            return told.check(replace(event, receipt=receipt if agent is None else {**receipt, "agent": agent}))
        assert told.check(event) is None
    raise AssertionError


SESSION: JsonObject = {
    "sessionId": "s1",
    "agent": "fixer",
    "provider": "custom",
    "program": "scripted",
    "version": "1.0",
    "visit": 1,
    "attempt": 1,
    "tree": "t1",
}
AGENT: JsonObject = {
    "name": "fixer",
    "provider": "custom",
    "program": "scripted",
    "version": "1.0",
    "session": "s1",
    "tree_before": "t1",
}
OLDER: JsonObject = {key: value for key, value in SESSION.items() if key != "attempt"}


@pytest.mark.parametrize(
    ("session", "agent"),
    [(SESSION, AGENT), (SESSION, {**AGENT, "tree_after": "t2"}), (None, None), (OLDER, None)],
    ids=["stopped", "ended", "no session", "older log"],
)
def test_a_receipt_that_names_the_session_on_record_is_possible(
    session: JsonObject | None, agent: JsonObject | None
) -> None:
    assert told_of_agent(session, agent) is None


@pytest.mark.parametrize(
    ("session", "agent"),
    [(SESSION, None), (SESSION, {**AGENT, "session": "s2"}), (SESSION, {}), (None, AGENT), (OLDER, AGENT)],
    ids=["none", "another session", "empty", "no session", "older log"],
)
def test_a_receipt_that_names_another_agent_than_the_session_is_found(
    session: JsonObject | None, agent: JsonObject | None
) -> None:
    assert told_of_agent(session, agent) == "the receipt of a does not say which agent did the work in which session"
