"""Schemas: draft 2020-12, offline, masked, bounded."""

from __future__ import annotations

import subprocess
import sys
import time
import types
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.values.schema import validator
from openskelo.values.schema.validator import Violation


def test_a_valid_value_has_no_violations() -> None:
    person = validator.compile({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]})
    assert person.check({"age": 3}) == ()


def test_violations_name_the_place_and_never_the_value() -> None:
    compiled = validator.compile(
        {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"type": "integer"}}, "k/~": {"const": 1}},
            "required": ["b"],
        }
    )
    assert sorted(compiled.check({"a": [1, "s3cret"], "k/~": "s3cret"}), key=lambda found: found.path) == [
        Violation(path="", message='"b" is a required property'),
        Violation(path="/a/1", message='the value is not of type "integer"'),
        Violation(path="/k~1~0", message="1 was expected"),
    ]


def test_alternatives_say_how_each_was_missed() -> None:
    compiled = validator.compile({"anyOf": [{"required": ["q"]}, {"properties": {"s": {"type": "integer"}}}]})
    (violation,) = compiled.check({"s": "s3cret"})
    assert '"q" is a required property; or /s the value is not of type "integer"' in violation.message
    assert "s3cret" not in violation.message


def test_every_value_that_an_enum_allows_is_named() -> None:
    words: list[Json] = ["GET", "HEAD", "OPTIONS", "POST", None, 5]
    listed = 'the value is not one of "GET", "HEAD", "OPTIONS", "POST", null or 5'
    assert validator.compile({"enum": words}).check("PSOT") == (Violation(path="", message=listed),)
    either = validator.compile({"anyOf": [{"enum": words}, {"type": "boolean"}]}).check("PSOT")
    assert listed in either[0].message
    many: list[Json] = [f"word {number}" for number in range(1000)]
    assert len(validator.compile({"enum": many}).check("PSOT")[0].message) < 100


def test_an_enum_that_allows_nothing_says_so() -> None:
    refused = "the value is refused, as any would be: the `enum` is empty"
    assert validator.compile({"enum": []}).check("GET") == (Violation(path="", message=refused),)


def test_at_most_twenty_violations_are_reported() -> None:
    found = validator.compile({"items": {"type": "integer"}}).check(["x"] * 1000)
    assert [violation.path for violation in found] == [f"/{index}" for index in range(20)]


def test_messages_are_short_even_when_the_schema_is_long() -> None:
    names: list[Json] = [f"property{index}" for index in range(1000)]
    value: dict[str, Json] = {cast(str, name): 1 for name in names}
    (violation,) = validator.compile({"additionalProperties": False}).check(value)
    assert len(violation.message) <= 500


def test_formats_are_asserted() -> None:
    assert validator.compile({"format": "email"}).check("nobody") == (
        Violation(path="", message='the value is not a "email"'),
    )


def test_the_same_schema_is_compiled_once_whatever_the_order_of_its_keys() -> None:
    first = validator.compile({"type": "string", "minLength": 2})
    assert validator.compile({"minLength": 2.0, "type": "string"}) is first


def test_values_in_other_containers_are_checked_as_json() -> None:
    compiled = validator.compile({"type": "object", "required": ["a"]})
    assert compiled.check(types.MappingProxyType({"a": 1})) == ()
    assert compiled.check(types.MappingProxyType({"b": 1})) == (
        Violation(path="", message='"a" is a required property'),
    )


@pytest.mark.parametrize("value", [object(), b"x", {1: 2}, "\ud800"])
def test_what_is_not_json_is_refused(value: object) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        validator.compile({"minLength": 1}).check(cast(Json, value))
    assert caught.value.code == "NOT_JSON"


def deep(levels: int) -> Json:
    value: Json = {}
    for _ in range(levels):
        value = {"not": value}
    return value


@pytest.mark.parametrize(
    "given_schema",
    [
        {"type": "strin"},
        {"properties": {"a": {"minimum": "x"}}},
        {"required": "a"},
        {"pattern": "("},
        {"pattern": "(?=a)b"},
        {"pattern": "a{1000}{1000}{1000}"},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "#/$defs/missing"},
        {"$schema": "https://example.com/unknown"},
        {"maximum": float("nan")},
        {"enum": ["x" * 300_000]},
        deep(100),
        deep(20_000),
        "string",
        3,
        None,
        [{}],
    ],
)
def test_what_is_no_schema_is_refused(given_schema: Json) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        validator.compile(cast("dict[str, Json]", given_schema))
    assert caught.value.code == "SCHEMA_INVALID"


def test_a_bad_schema_is_told_what_is_wrong_and_where() -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        validator.compile({"properties": {"a": {"minimum": "x"}}})
    assert '"x" is not of type "number" (at /properties/a/minimum)' in caught.value.message


def test_patterns_take_linear_time() -> None:
    started = time.process_time()
    assert len(validator.compile({"pattern": "^(a+)+$"}).check("a" * 50_000 + "b")) == 1
    assert time.process_time() - started < 1


def test_references_that_multiply_are_refused() -> None:
    definitions: dict[str, Json] = {"a0": {"type": "integer"}}
    for index in range(1, 40):
        definitions[f"a{index}"] = {"allOf": [{"$ref": f"#/$defs/a{index - 1}"}, {"$ref": f"#/$defs/a{index - 1}"}]}
    with pytest.raises(errors.InvalidInput) as caught:
        validator.compile({"$defs": definitions, "$ref": "#/$defs/a39"})
    assert caught.value.code == "SCHEMA_INVALID"


def test_a_long_chain_of_references_is_refused_before_it_can_exhaust_the_stack() -> None:
    definitions: dict[str, Json] = {f"a{index}": {"$ref": f"#/$defs/a{index + 1}"} for index in range(5000)}
    with pytest.raises(errors.InvalidInput) as caught:
        validator.compile({"$defs": {**definitions, "a5000": {}}, "$ref": "#/$defs/a0"})
    assert caught.value.code == "SCHEMA_INVALID"


def test_recursive_schemas_work() -> None:
    tree = validator.compile(
        {
            "$defs": {"a b": {"type": "object", "properties": {"next": {"$ref": "#/$defs/a%20b"}}}},
            "$ref": "#/$defs/a%20b",
        }
    )
    assert tree.check({"next": {"next": {}}}) == ()
    assert tree.check({"next": {"next": 1}}) == (
        Violation(path="/next/next", message='the value is not of type "object"'),
    )


def test_a_schema_that_recurs_in_many_ways_answers_quickly_about_a_deep_value() -> None:
    branch: Json = {"type": "array", "items": {"$ref": "#"}}
    compiled = validator.compile({"anyOf": [{"type": "integer"}, branch, branch]})
    value: Json = "x"
    for _ in range(40):
        value = [value]
    started = time.process_time()
    assert compiled.check(value) == (
        Violation(path="", message="the value does not match the schema; it nests too deeply to say where"),
    )
    assert time.process_time() - started < 1
    assert compiled.check([[["x"]]])[0].message.startswith("the value is not valid under any")


def test_data_in_a_schema_may_look_like_a_reference() -> None:
    assert validator.compile({"const": {"$ref": "https://example.com"}}).check({"$ref": "https://example.com"}) == ()
    assert len(validator.compile({"properties": {"$ref": {"type": "string"}}}).check({"$ref": 1})) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
KEYWORDS = st.sampled_from(
    ["type", "properties", "items", "enum", "const", "anyOf", "$ref", "not", "pattern", "minimum", "required", "if"]
)
SCHEMAS = st.recursive(
    st.booleans() | st.sampled_from(["string", "object", "#", "#/items", "^a"]) | st.integers(0, 3),
    lambda inner: st.dictionaries(KEYWORDS, inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=10,
)


@given(SCHEMAS, JSON)
def test_any_schema_and_any_value_give_violations_or_an_error_of_ours(given_schema: Json, value: Json) -> None:
    try:
        compiled = validator.compile(cast("dict[str, Json]", given_schema))
    except errors.InvalidInput:
        return
    assert all(violation.message for violation in compiled.check(value))


LOADED = """
import sys
from openskelo.values import canonical, regex, template
from openskelo.values.cel import expression
from openskelo.values.schema import validator
print(sorted({"cel_expr_python", "jsonschema_rs", "re2", "rfc8785"} & set(sys.modules)))
"""


def test_the_module_loads_no_engine_before_it_is_used() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


TOO_LARGE: list[tuple[dict[str, Json], Json]] = [
    ({"patternProperties": {f"^{n}x": {} for n in range(1900)}}, {str(n): 1 for n in range(300_000)}),
    ({"items": {"allOf": [{"type": "integer"}] * 1900}}, [1] * 300_000),
    ({"items": {"dependentRequired": {str(n): ["a"] for n in range(1900)}}}, [{"a": 1}] * 100_000),
]


# Found by an attacker: a viewer who had the server validate such a document stopped it for half a minute.
@pytest.mark.parametrize(("definition", "value"), TOO_LARGE)
def test_a_value_that_would_be_checked_for_minutes_is_not_valid(definition: dict[str, Json], value: Json) -> None:
    compiled = validator.compile(definition)
    assert compiled.is_valid(value) is False
    assert [found.message for found in compiled.check(value)] == ["the value is too large to be checked by this schema"]
    small = dict(list(value.items())[:9]) if isinstance(value, dict) else cast("list[Json]", value)[:9]
    assert (compiled.is_valid(small), compiled.check(small)) == (True, ())


def test_more_patterns_than_any_value_should_be_checked_against_are_no_schema() -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        validator.compile({"patternProperties": {f"^{n}x": {} for n in range(12_000)}})
    assert caught.value.code == "SCHEMA_INVALID"
