"""Schemas with cases and choices, taken apart."""

from __future__ import annotations

import pytest

from openskelo.kernel.json import JsonObject
from openskelo.providers import decoding_schema, schema_rewrites
from openskelo.values.schema import validator

_NUMBER: JsonObject = {"properties": {"args": {"type": "integer"}}, "required": ["args"]}


def _when(value: str, then: JsonObject) -> JsonObject:
    return {"if": {"properties": {"op": {"const": value}}, "required": ["op"]}, "then": then}


_STEP: JsonObject = {
    "type": "object",
    "properties": {"op": {"enum": ["add", "stop"]}, "args": {"type": ["integer", "null"]}},
    "required": ["op"],
    "additionalProperties": False,
    "allOf": [_when("add", _NUMBER), {"maxProperties": 2}],
}


def test_each_value_of_the_deciding_key_is_a_case() -> None:
    found = schema_rewrites.split_cases(_STEP)
    assert found == schema_rewrites.Cases(
        always={**_STEP, "allOf": [{"maxProperties": 2}]}, key="op", then={"add": _NUMBER, "stop": True}
    )
    assert found is not None
    for branch, value in zip(found.branches(), ({"op": "add", "args": 3}, {"op": "stop"}), strict=True):
        assert validator.compile(branch).check(value) == ()
        assert validator.compile(_STEP).check(value) == ()


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"allOf": []},
        {**_STEP, "required": []},
        {**_STEP, "properties": {"op": {"type": "string"}}},
        {**_STEP, "properties": {"op": {"enum": ["add", 3]}}},
        {**_STEP, "allOf": [{**_when("add", _NUMBER), "else": False}]},
        {**_STEP, "allOf": [{"if": {"required": ["op"]}, "then": _NUMBER}]},
        {**_STEP, "allOf": [{"if": {"properties": {"op": {"const": 3}}, "required": ["op"]}, "then": _NUMBER}]},
    ],
)
def test_other_conditions_are_no_cases(said: JsonObject) -> None:
    assert schema_rewrites.split_cases(said) is None


def test_a_choice_of_keys_is_a_branch_for_each() -> None:
    ports: JsonObject = {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}}
    said: JsonObject = {"properties": ports, "required": ["c"], "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert schema_rewrites.split_exclusive_keys(said) == [
        {"properties": {"a": {"type": "null"}, "c": {"type": "null"}}, "required": ["c", "a"]},
        {"properties": {"b": {"type": "null"}, "c": {"type": "null"}}, "required": ["c", "b"]},
    ]
    assert schema_rewrites.exclusive_keys({"properties": ports, "minProperties": 1, "maxProperties": 1}) == (
        "a",
        "b",
        "c",
    )
    for none in ({}, {"oneOf": said["oneOf"]}, {**said, "oneOf": [{"required": ["a"]}, {"type": "object"}]}):
        assert schema_rewrites.split_exclusive_keys(none) == []


def test_the_decoder_holds_each_case_to_its_own_arguments() -> None:
    held = validator.compile(decoding_schema.constrain(_STEP, 100))
    assert held.check({"op": "add", "args": 3}) == ()
    assert held.check({"op": "stop", "args": None}) == ()
    assert held.check({"op": "add", "args": None}) != ()
    assert held.check({"op": "add"}) != ()
