"""Whether one schema's values may be another's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openskelo.kernel.json import Json
from openskelo.values.schema import compatibility, validator
from openskelo.values.schema.validator import JsonSchema

STRING: JsonSchema = {"type": "string"}
NUMBER: JsonSchema = {"type": "number"}
INTEGER: JsonSchema = {"type": "integer"}


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ({}, STRING),
        (STRING, {}),
        (True, STRING),
        (INTEGER, NUMBER),
        (NUMBER, INTEGER),
        ({"type": ["string", "null"]}, STRING),
        ({"enum": ["a", "b"]}, {"enum": ["b", "c"]}),
        ({"const": 3}, NUMBER),
        ({"type": "array"}, {"type": "array", "items": STRING}),
        ({"anyOf": [STRING, INTEGER]}, {"anyOf": [{"type": "null"}, NUMBER]}),
        ({"type": "object"}, {"type": "object", "required": ["a"]}),
        ({"$ref": "#/$defs/a"}, STRING),
        ({"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"a": STRING}}),
    ],
)
def test_what_may_fit_passes(source: JsonSchema, target: JsonSchema) -> None:
    assert compatibility.find_conflict(source, target) is None


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        (STRING, NUMBER, "string cannot be number"),
        ({"type": ["string", "null"]}, {"type": "array"}, "null or string cannot be array"),
        ({"enum": ["a"]}, {"enum": ["b"]}, "the target allows none of the source's constants"),
        ({"const": "a"}, INTEGER, "string cannot be integer"),
        ({"const": 1.5}, INTEGER, "number cannot be integer"),
        ({"const": True}, INTEGER, "boolean cannot be integer"),
        ({"const": True}, {"const": 1}, "boolean cannot be integer"),
        (STRING, False, "no value is valid by a schema that is false"),
        ({"type": "array", "items": STRING}, {"type": "array", "items": NUMBER}, "items: string cannot be number"),
        ({"anyOf": [STRING, {"type": "null"}]}, {"anyOf": [NUMBER]}, "null or string cannot be number"),
        (
            {"type": "object", "properties": {"a": STRING}},
            {"type": "object", "properties": {"a": INTEGER}},
            "property 'a': string cannot be integer",
        ),
        (
            {"type": "object", "properties": {}, "additionalProperties": False},
            {"type": "object", "required": ["a"]},
            "property 'a' is required, and the source never has it",
        ),
        (
            {"type": "object", "required": ["a"]},
            {"type": "object", "additionalProperties": False},
            "property 'a' is always there, and the target does not allow it",
        ),
    ],
)
def test_what_cannot_fit_is_told_why(source: JsonSchema, target: JsonSchema, reason: str) -> None:
    assert compatibility.find_conflict(source, target) == reason


NAMES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
CONSTANTS: st.SearchStrategy[Json] = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from([0.5, "a", "b"])


def holder(part: JsonSchema) -> JsonSchema:
    return {"type": "object", "properties": {"p": part}, "required": ["p"]}


def either(parts: list[JsonSchema]) -> JsonSchema:
    return {"anyOf": parts}


def typed(names: list[str]) -> JsonSchema:
    return {"type": names}


def constant(value: Json) -> JsonSchema:
    return {"const": value}


def held(value: Json) -> Json:
    return {"p": value}


PLAIN = st.lists(NAMES, min_size=1, max_size=2, unique=True).map(typed) | CONSTANTS.map(constant)
SCHEMAS = st.recursive(
    PLAIN, lambda inner: st.lists(inner, min_size=1, max_size=2).map(either) | inner.map(holder), max_leaves=4
)
VALUES = CONSTANTS | CONSTANTS.map(held)


@given(SCHEMAS, SCHEMAS, VALUES)
def test_schemas_that_share_a_value_are_never_said_not_to_fit(
    source: JsonSchema, target: JsonSchema, value: Json
) -> None:
    if validator.compile(source).check(value) or validator.compile(target).check(value):
        return
    assert compatibility.find_conflict(source, target) is None


def test_schemas_that_nest_forever_end() -> None:
    deep: Json = {}
    for _ in range(60):
        deep = {"type": "array", "items": deep}
    assert isinstance(deep, dict)
    assert compatibility.find_conflict(deep, deep) is None
