"""Whether a person's answer can have given a node other items: only a foreach, and before any of its work."""

from __future__ import annotations

from typing import Any

import pytest

from openskelo.kernel import definition, events
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
