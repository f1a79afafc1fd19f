"""The schema that the decoder is given: only what it can hold, with an end to everything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import decoding_schema
from openskelo.values.schema import validator

NUMBER = {"type": "number", "minimum": -(10**9), "maximum": 10**9, "multipleOf": 1e-6}


def wrapped(inner: Json) -> JsonObject:
    return {"type": "object", "properties": {"v": inner}, "required": ["v"]}


def held(inner: Json, max_tokens: int = 1000) -> Json:
    """What becomes of a schema inside an object."""
    shaped = decoding_schema.constrain(wrapped(inner), max_tokens)
    assert shaped["additionalProperties"] is False
    properties = shaped["properties"]
    assert isinstance(properties, dict)
    return properties.get("v", "left out")


EXAMPLES: list[tuple[Json, Json]] = [
    ({"type": "boolean", "title": "t", "default": True}, {"type": "boolean"}),
    ({"type": "integer"}, {"type": "integer", "minimum": -(10**9), "maximum": 10**9}),
    (
        {"type": "integer", "exclusiveMinimum": 2, "maximum": 4.5, "multipleOf": 2},
        {"type": "integer", "minimum": 3, "maximum": 4, "multipleOf": 2},
    ),
    ({"type": "number"}, NUMBER),
    ({"type": "number", "minimum": 2, "maximum": 2}, {"const": 2}),
    ({"minimum": 0, "maximum": 1}, {"type": "number", "minimum": 0, "maximum": 1, "multipleOf": 1e-6}),
    ({"type": "string", "maxLength": 9, "minLength": 2}, {"type": "string", "minLength": 2, "maxLength": 9}),
    ({"type": "string", "pattern": "^a+$", "maxLength": 4}, {"type": "string", "pattern": "^a+$", "maxLength": 4}),
    ({"type": "string", "format": "uuid"}, {"type": "string", "format": "uuid"}),
    ({"enum": ["a", 1, None], "type": ["string", "null"]}, {"enum": ["a", None]}),
    ({"const": {"a": 1}}, {"enum": [{"a": 1}]}),
    (
        {"type": "array", "items": {"type": "null"}, "uniqueItems": True, "maxItems": 3},
        {"type": "array", "minItems": 0, "maxItems": 3, "items": {"type": "null"}},
    ),
    (
        {"items": {"type": "null"}, "minItems": 2},
        {"type": "array", "minItems": 2, "maxItems": 8, "items": {"type": "null"}},
    ),
    (
        {"type": "array", "prefixItems": [{"type": "null"}], "items": False},
        {"type": "array", "minItems": 0, "maxItems": 1, "prefixItems": [{"type": "null"}]},
    ),
    ({"type": ["boolean", "null"]}, {"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
    ({"oneOf": [{"type": "boolean"}, False]}, {"type": "boolean"}),
    ({"not": {"type": "string"}, "type": "null"}, {"type": "null"}),
    (
        {"allOf": [{"type": "integer", "minimum": 1}, {"minimum": 3, "maximum": 5}]},
        {"type": "integer", "minimum": 3, "maximum": 5},
    ),
    (
        {
            "type": "object",
            "properties": {"k": {"type": "null"}},
            "anyOf": [{"required": ["k"]}, {"properties": {"b": {"type": "null"}}}],
        },
        {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"k": {"type": "null"}},
                    "required": ["k"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {"k": {"type": "null"}, "b": {"type": "null"}},
                    "required": [],
                    "additionalProperties": False,
                },
            ]
        },
    ),
    (
        {"type": "object", "additionalProperties": {"type": "null"}, "minProperties": 1},
        {
            "type": "object",
            "properties": {},
            "required": [],
            "additionalProperties": {"type": "null"},
            "minProperties": 1,
            "maxProperties": 8,
        },
    ),
    (False, "left out"),
]


@pytest.mark.parametrize(("given_", "wanted"), EXAMPLES)
def test_a_schema_becomes_one_that_can_be_held(given_: Json, wanted: Json) -> None:
    assert held(given_) == wanted


def test_texts_share_the_tokens_that_there_are() -> None:
    two: JsonObject = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string", "maxLength": 3}},
    }
    short = decoding_schema.constrain(two, 100)["properties"]
    assert short == {
        "a": {"type": "string", "maxLength": 113},
        "b": {"type": "string", "maxLength": 113},
        "c": {"type": "string", "maxLength": 3},
    }


def test_a_reference_is_followed_and_a_circle_ends() -> None:
    tree: JsonObject = {
        "$ref": "#/$defs/tree",
        "$defs": {
            "tree": {"type": "object", "properties": {"next": {"$ref": "#/$defs/tree"}}},
            "round": {"$ref": "#/$defs/round"},
        },
    }
    assert decoding_schema.constrain(tree, 100) == {
        "$ref": "#/$defs/d0",
        "$defs": {
            "d0": {
                "type": "object",
                "properties": {"next": {"$ref": "#/$defs/d0"}},
                "required": [],
                "additionalProperties": False,
            }
        },
    }
    circle = decoding_schema.constrain({**tree, "$ref": "#/$defs/round"}, 100)
    assert circle["$ref"] == "#/$defs/d0"
    assert circle["$defs"]["d0"] == {"$ref": "#/$defs/any"}  # pyright: ignore[reportIndexIssue, reportOptionalSubscript, reportCallIssue, reportArgumentType] -- it is a map


_scalars = st.sampled_from(["string", "integer", "number", "boolean", "null", "object", "array"])
_schemas: st.SearchStrategy[Json] = st.recursive(
    st.one_of(
        st.booleans(),
        st.fixed_dictionaries({}, optional={"type": _scalars, "minLength": st.integers(0, 9)}),
        st.fixed_dictionaries({"$ref": st.sampled_from(["#", "#/properties/a", "#/nowhere", "elsewhere"])}),
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "allOf": st.lists(inner, min_size=1, max_size=3),
            "additionalProperties": inner,
            "enum": st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True),
            "not": inner,
        },
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from("abc"), _schemas, max_size=3))
def test_any_schema_ends_and_gives_a_valid_one(properties: dict[str, Json]) -> None:
    validator.compile(decoding_schema.constrain({"type": "object", "properties": properties}, 64))
