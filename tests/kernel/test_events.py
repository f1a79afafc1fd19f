"""Facts on their way to the log and back."""

from __future__ import annotations

import typing

import pytest

from openskelo.kernel import events
from openskelo.structs import replace


def test_every_kind_of_event_has_one_stored_name() -> None:
    assert set(events.NAMES) == set(typing.get_args(events.Event))
    assert {events.TYPES[name]: name for name in events.TYPES} == events.NAMES


def test_what_is_not_there_is_not_stored() -> None:
    started = events.AttemptStarted(at=1, node="a", visit=1, attempt=1)
    assert events.encode(started) == {"node": "a", "visit": 1, "attempt": 1}
    item = replace(started, item=0)
    assert events.encode(item) == {"node": "a", "visit": 1, "attempt": 1, "item": 0}


def test_names_of_two_words_are_written_in_camel_case_and_read_back() -> None:
    asked = events.ApprovalRequested(
        at=5,
        approval_id="x",
        node="a",
        visit=1,
        tool={"id": "t", "name": "approval", "args": {}},
        digest="d",
        prompt="?",
        form={},
        approvers=("nora",),
        expires_at=9,
    )
    data = events.encode(asked)
    assert (data["approvalId"], data["expiresAt"]) == ("x", 9)
    assert events.decode("approval.requested", data, 5) == asked
    assert events.decode("approval.requested", {**data, "approvers": ["nora"]}, 5) == asked


def test_an_unknown_type_is_a_key_error_and_wrong_fields_are_a_type_error() -> None:
    with pytest.raises(KeyError):
        events.decode("run.exploded", {}, 1)
    with pytest.raises(TypeError):
        events.decode("attempt.due", {"node": "a"}, 1)
    with pytest.raises(TypeError):
        events.decode("run.recovered", {"why": "x"}, 1)
