"""Fields of events from elsewhere hold what they are declared to hold."""

from __future__ import annotations

from typing import Any, cast

import pytest

from openskelo import structs
from openskelo.kernel import events
from openskelo.record import line_check
from openskelo.structs import replace
from tests.record import records

TOLD = records.events_of(records.ended().lines)


def test_every_field_of_every_event_type_can_be_checked() -> None:
    for cls in events.TYPES.values():
        wrong = cast("Any", cls)(**{field.name: object() for field in structs.fields(cls)})
        assert line_check.find_fault(wrong) is not None, cls


def test_true_events_have_no_fault() -> None:
    assert [line_check.find_fault(event) for event in TOLD] == [None] * len(TOLD)


@pytest.mark.parametrize(
    ("name", "value"),
    [("at", True), ("mode", "auto"), ("inputs", {"value": 1, "blob": 2}), ("by", None), ("parent", [])],
)
def test_a_wrong_value_is_named(name: str, value: object) -> None:
    changed = replace(cast("Any", TOLD[0]), **{name: value})
    said = line_check.find_fault(changed)
    assert said is not None
    assert said.startswith(f"`{name}` is not ")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"value": None}, True),
        ({"blob": "sha256:" + "0" * 64, "bytes": 3}, True),
        ({"blob": "sha256:" + "0" * 64, "bytes": -3}, False),
        ({"blob": "sha256:" + "G" * 64, "bytes": 3}, False),
        ({}, False),
        (None, False),
    ],
)
def test_stored_values_are_inline_or_named(value: object, expected: bool) -> None:
    assert line_check.is_stored(value) is expected
