"""Checks that need nothing but the value."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.kernel.json import Json
from tests.executors import workshop
from tests.executors.ops import bench


def check(root: Path, checker: str, value: Json, **more: Json) -> bench.Done:
    return bench.perform(workshop.project(root), "verify", {"checker_id": checker, "input_ref": value, **more})


RULES: Json = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("value", "more", "verdict"),
    [
        ({"n": 1}, {}, {"ok": True}),
        ('{"n": 1}', {"parse": True}, {"ok": True}),
        (
            {"n": "1"},
            {},
            {
                "ok": False,
                "reason": "it does not keep the schema",
                "problems": ['/n: the value is not of type "integer"'],
            },
        ),
        ('{"n": 1', {"parse": True}, None),
        (7, {"parse": True}, {"ok": False, "reason": "it is not a text that could be JSON"}),
    ],
)
def test_json_schema(tmp_path: Path, value: Json, more: dict[str, Json], verdict: Json) -> None:
    done = check(tmp_path, "json_schema", value, schema=RULES, **more)
    if verdict is None:
        assert isinstance(done.value, dict)
        assert (done.value["ok"], str(done.value["reason"]).startswith("not valid JSON")) == (False, True)
    else:
        assert done.value == verdict


@pytest.mark.parametrize(
    ("value", "more", "ok"),
    [
        ("abc", {"pattern": "b"}, True),
        ("abc", {"pattern": "b", "full": True}, False),
        ("abc", {"pattern": "a.c", "full": True}, True),
        ("abc", {"pattern": "b", "negate": True}, False),
        ("abc", {"pattern": "x", "negate": True}, True),
        (5, {"pattern": "5"}, False),
    ],
)
def test_regex(tmp_path: Path, value: Json, more: dict[str, Json], ok: bool) -> None:
    done = check(tmp_path, "regex", value, **more)
    assert (done.holds, done.failure) == (ok, None)


@pytest.mark.parametrize(
    ("value", "expected", "ok"),
    [
        (1, 1.0, True),
        (1, "1", False),
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}, True),
        (None, None, True),
        (True, 1, False),
        ([1, 2], [2, 1], False),
    ],
)
def test_equals(tmp_path: Path, value: Json, expected: Json, ok: bool) -> None:
    assert check(tmp_path, "equals", value, expected=expected).holds is ok


@pytest.mark.parametrize(
    ("checker", "more", "code"),
    [
        ("regex", {"pattern": "(?=x)"}, "REGEX_INVALID"),
        ("regex", {}, "ARGS_INVALID"),
        ("regex", {"pattern": "x", "flags": "i"}, "ARGS_INVALID"),
        ("json_schema", {"schema": {"type": "nothing"}}, "SCHEMA_INVALID"),
        ("equals", {}, "ARGS_INVALID"),
        ("nobody", {}, "CHECKER_UNKNOWN"),
    ],
)
def test_a_check_that_cannot_be_made_is_a_failure_that_is_not_retried(
    tmp_path: Path, checker: str, more: dict[str, Json], code: str
) -> None:
    done = check(tmp_path, checker, "x", **more)
    assert done.failure is not None
    assert (done.code, done.failure.retryable, done.failure.denied, done.holds) == (code, False, False, None)
