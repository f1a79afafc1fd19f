"""The order of a form's fields survives being sorted."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical, ordering

AS_WRITTEN: JsonObject = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "body": {"type": "object", "properties": {"b": {}, "a": True}},
        "all": {"type": "array", "items": {"properties": {"y": {}, "x": {}}}},
    },
    "$defs": {"one": {"properties": {"2": {}, "1": {}}}},
}
SORTED: tuple[JsonObject, ...] = (
    {},
    {"type": "object", "properties": {"a": {}, "b": {"properties": {}}}},
    {"properties": "none"},
)


def _text(value: Json) -> str:
    return orjson.dumps(value).decode()


def test_the_order_of_every_object_comes_back_after_sorting() -> None:
    kept = orjson.loads(canonical.dumps(ordering.marked(AS_WRITTEN)))
    assert _text(kept) != _text(ordering.restored(kept))
    back: Any = ordering.unmarked(kept)
    assert list(back["properties"]) == ["title", "body", "all"]
    assert _text(back["properties"]["body"]["properties"]) == '{"b":{},"a":true}'
    assert _text(back["properties"]["all"]["items"]["properties"]) == '{"y":{},"x":{}}'
    assert _text(back["$defs"]["one"]["properties"]) == '{"2":{},"1":{}}'
    assert back == AS_WRITTEN


@pytest.mark.parametrize("schema", SORTED)
def test_a_sorted_form_stays_as_it_is(schema: JsonObject) -> None:
    assert _text(ordering.marked(schema)) == _text(schema) == _text(ordering.restored(schema))


def test_marking_twice_is_marking_once() -> None:
    once = ordering.marked(AS_WRITTEN)
    assert _text(ordering.marked(once)) == _text(once)


@pytest.mark.parametrize("said", [["z", "b"], ["b", 1, None], "b", {"b": 1}, [[]]])
def test_an_order_of_somebody_else_loses_no_field(said: Json) -> None:
    schema: JsonObject = {"properties": {"a": {}, "b": {}}, "x-order": said}
    found = ordering.restored(schema)["properties"]
    assert found == {"a": {}, "b": {}}
