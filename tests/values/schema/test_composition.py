"""Schemas put together: a value keeps the whole exactly if its parts keep theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.values.schema import composition, validator

PERSON: JsonObject = {
    "$defs": {
        "p": {
            "type": "object",
            "required": ["email"],
            "properties": {"email": {"type": "string", "format": "email"}, "boss": {"$ref": "#/$defs/p"}},
        }
    },
    "$ref": "#/$defs/p",
}


def references(value: Json) -> Iterator[str]:
    match value:
        case Mapping():
            for key, inner in value.items():
                if key == "$ref" and isinstance(inner, str):
                    yield inner
                yield from references(inner)
        case list():
            for inner in value:
                yield from references(inner)
        case _:
            return


def test_definitions_move_to_the_top_and_what_only_refers_shows_what_it_means() -> None:
    person: JsonObject = {
        "type": "object",
        "required": ["email"],
        "properties": {"email": {"type": "string", "format": "email"}, "boss": {"$ref": "#/$defs/p"}},
    }
    assert composition.object_of({"n": {"type": "integer"}, "person": PERSON}, {"required": ["n"]}) == {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "person": person},
        "required": ["n"],
        "$defs": {"p": person},
    }


def test_a_list_of_what_refers_to_its_own_definitions_has_them_at_the_top() -> None:
    people = validator.compile(composition.array_of(PERSON))
    maybe = validator.compile(composition.array_of(PERSON, or_null=True))
    ada: Json = {"email": "ada@example.com", "boss": {"email": "bob@example.com"}}
    bad: Json = {"email": "ada@example.com", "boss": {}}
    kept = [[not one.check(value) for value in ([ada], [bad], [ada, None])] for one in (people, maybe)]
    assert kept == [[True, False, False], [True, False, True]]


def test_parts_without_references_stay_as_they_are() -> None:
    part: JsonObject = {"type": "string", "default": "x"}
    whole = composition.object_of({"a": part}, {"additionalProperties": False})
    assert whole == {"type": "object", "properties": {"a": part}, "additionalProperties": False}
    assert composition.property_of(whole, "a") is part


def test_definitions_of_one_name_are_kept_apart() -> None:
    def of(kind: str) -> JsonObject:
        return {"type": "array", "items": {"$ref": "#/$defs/p"}, "$defs": {"p": {"type": kind}}}

    assert composition.object_of({"a": of("string"), "b": of("integer")}, {}) == {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"$ref": "#/$defs/p"}},
            "b": {"type": "array", "items": {"$ref": "#/$defs/p2"}},
        },
        "$defs": {"p": {"type": "string"}, "p2": {"type": "integer"}},
    }


def test_what_is_said_beside_a_reference_is_kept() -> None:
    told: JsonObject = {
        "$defs": {"t": {"type": "string"}},
        "$ref": "#/$defs/t",
        "description": "a name",
        "default": "x",
    }
    narrow: JsonObject = {"$defs": {"t": {"type": "string"}}, "$ref": "#/$defs/t", "minLength": 3}
    assert composition.object_of({"a": told, "b": narrow}, {}) == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "description": "a name", "default": "x"},
            "b": {"$ref": "#/$defs/t2", "minLength": 3},
        },
        "$defs": {"t2": {"type": "string"}},
    }


def test_words_that_only_look_like_references_are_left_alone() -> None:
    part: JsonObject = {
        "properties": {"$ref": {"type": "string"}, "default": {"$ref": "#/properties/const"}, "const": {"enum": [1]}},
        "const": {"$ref": "#/nowhere"},
        "examples": [{"$id": "x"}],
    }
    assert composition.object_of({"a": part}, {}) == {
        "type": "object",
        "properties": {
            "a": {
                "properties": {
                    "$ref": {"type": "string"},
                    "default": {"$ref": "#/$defs/const"},
                    "const": {"$ref": "#/$defs/const"},
                },
                "const": {"$ref": "#/nowhere"},
                "examples": [{"$id": "x"}],
            }
        },
        "$defs": {"const": {"enum": [1]}},
    }


REFERRING: list[tuple[JsonObject, Json, Json]] = [
    (PERSON, {"email": "a@b.c", "boss": {"email": "d@e.f"}}, {"email": "a@b.c", "boss": {}}),
    ({"type": "array", "items": {"$anchor": "q", "type": "integer"}, "contains": {"$ref": "#q"}}, [1], ["a"]),
    ({"type": "object", "additionalProperties": {"$ref": "#"}}, {"a": {"b": {}}}, {"a": {"b": 1}}),
    (
        {
            "$id": "http://x/y",
            "$ref": "z",
            "$defs": {
                "a": {"$id": "z", "$defs": {"q": {"type": "string"}}, "$ref": "#/$defs/q"},
                "q": {"type": "integer"},
            },
        },
        "a",
        1,
    ),
    ({"$id": "urn:x", "$defs": {"q": {"type": "integer"}}, "$ref": "#/$defs/q"}, 1, "a"),
    ({"$defs": {"a/b c~": {"type": "integer"}}, "$ref": "#/$defs/a~1b%20c~0"}, 1, "a"),
    ({"x-shared": {"q": {"type": "integer"}}, "allOf": [{"$ref": "#/x-shared/q"}]}, 1, "a"),
    ({"allOf": [{"type": "integer"}, {"$ref": "#/allOf/0"}]}, 1, "a"),
    ({"$dynamicAnchor": "n", "type": "object", "additionalProperties": {"$dynamicRef": "#n"}}, {"a": {}}, {"a": 1}),
    ({"$defs": {"no": False}, "properties": {"a": {"$ref": "#/$defs/no"}}}, {}, {"a": 1}),
    (
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$ref": "#/$defs/a",
            "unevaluatedProperties": False,
            "$defs": {"a": {"properties": {"a": True}}},
        },
        {"a": 1},
        {"b": 1},
    ),
]


@pytest.mark.parametrize(("part", "right", "wrong"), REFERRING)
def test_references_mean_the_same_in_the_whole_and_out_of_it_again(part: JsonObject, right: Json, wrong: Json) -> None:
    whole = composition.object_of({"a": part, "b": part}, {})
    again = composition.property_of(whole, "b")
    both = composition.all_of([part, {}, part])
    told = [validator.compile(one).is_valid for one in (part, again, both)]
    assert [holds(right) for holds in told] == [True] * 3
    assert [holds(wrong) for holds in told] == [False] * 3
    held = validator.compile(whole).is_valid
    assert [held({"a": right, "b": right}), held({"a": wrong}), held({"b": wrong})] == [True, False, False]
    assert all(name.startswith("#/$defs/") for name in references(whole))


def test_a_part_of_a_written_form_brings_the_definitions_it_needs() -> None:
    form: JsonObject = {
        "properties": {"a": {"items": {"$ref": "#/$defs/x"}}, "b": {"$ref": "#/properties/a"}, "c": True},
        "$defs": {"x": {"type": "integer"}, "y": {"type": "string"}},
    }
    assert composition.property_of(form, "a") == {"items": {"$ref": "#/$defs/x"}, "$defs": {"x": {"type": "integer"}}}
    assert composition.property_of(form, "b") == composition.property_of(form, "a")
    assert [composition.property_of(form, "c"), composition.property_of(form, "d")] == [{}, {}]


def test_a_long_line_of_definitions_is_no_trouble() -> None:
    count = 3_000
    line: dict[str, Json] = {f"d{at}": {"properties": {"n": {"$ref": f"#/$defs/d{at + 1}"}}} for at in range(count)}
    part: JsonObject = {"$ref": "#/$defs/d0", "$defs": {**line, f"d{count}": {"type": "integer"}}}
    whole = composition.object_of({"a": part}, {})
    definitions = whole["$defs"]
    assert isinstance(definitions, Mapping)
    assert len(definitions) == count


def test_an_older_draft_is_refused_by_name() -> None:
    old: JsonObject = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}
    with pytest.raises(errors.InvalidInput, match="draft-07") as caught:
        composition.object_of({"a": old}, {})
    assert caught.value.code == "SCHEMA_INVALID"


def test_a_dynamic_reference_over_several_resources_cannot_be_part_of_a_whole() -> None:
    dynamic: JsonObject = {
        "$id": "http://x/y",
        "$dynamicAnchor": "n",
        "$defs": {"a": {"$id": "z", "$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}}},
        "$ref": "z",
    }
    validator.compile(dynamic)
    with pytest.raises(errors.InvalidInput, match="is not in the schema itself"):
        validator.compile(composition.object_of({"a": dynamic}, {}))


_names = st.sampled_from(["a", "b", "default", "$ref"])
_pointers = st.sampled_from(["#", "#/$defs/a", "#/$defs/b", "#/$defs/default", "#here", "#/$defs/here/properties/n"])
_leaves: st.SearchStrategy[Json] = st.one_of(
    st.booleans(),
    st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "object", "array"])}),
    st.fixed_dictionaries({"$ref": _pointers}, optional={"description": st.just("d"), "minimum": st.just(1)}),
    st.fixed_dictionaries({"enum": st.just([1, {"$ref": "#"}])}),
)


def _wider(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    keywords: dict[str, st.SearchStrategy[Json]] = {
        "properties": st.dictionaries(_names, inner, max_size=3),
        "items": inner,
        "anyOf": st.lists(inner, min_size=1, max_size=2),
        "unevaluatedProperties": st.booleans(),
        "$ref": _pointers,
    }
    return st.fixed_dictionaries({}, optional=keywords)


_schemas: st.SearchStrategy[Json] = st.recursive(_leaves, _wider, max_leaves=6)
_here: st.SearchStrategy[Json] = _schemas.map(lambda one: {"$anchor": "here", "properties": {"n": one}})
_definitions: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {"a": _schemas, "b": _schemas, "default": _schemas, "here": _here}
)
_parts: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {"$defs": _definitions},
    optional={"$ref": _pointers, "properties": st.dictionaries(_names, _schemas, max_size=3), "items": _schemas},
)
_values: st.SearchStrategy[Json] = st.recursive(
    st.sampled_from([0, 1, "x", {"$ref": "#"}]),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(_names, inner, max_size=3)),
    max_leaves=6,
)


def compiles(part: JsonObject) -> bool:
    try:
        validator.compile(part)
    except errors.InvalidInput:
        return False
    return True


@given(parts=st.fixed_dictionaries({"a": _parts, "b/c": _parts}), first=_values, second=_values)
def test_a_value_keeps_the_whole_exactly_if_its_parts_keep_theirs(
    parts: dict[str, JsonObject], first: Json, second: Json
) -> None:
    assume(all(map(compiles, parts.values())))
    values = {"a": first, "b/c": second}
    alone = {name: validator.compile(part).is_valid(values[name]) for name, part in parts.items()}
    whole = composition.object_of(parts, {})
    assert validator.compile(whole).is_valid(values) == all(alone.values())
    assert {
        name: validator.compile(composition.property_of(whole, name)).is_valid(values[name]) for name in parts
    } == alone
    assert validator.compile(composition.all_of(parts.values())).is_valid(first) == all(
        validator.compile(part).is_valid(first) for part in parts.values()
    )
