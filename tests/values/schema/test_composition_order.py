"""The order of a form's fields survives being sorted."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical
from openskelo.values.schema import composition

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
    kept = orjson.loads(canonical.dumps(composition.mark_field_order(AS_WRITTEN)))
    assert _text(kept) != _text(composition.restore_field_order(kept))
    back: Any = composition.restore_field_order(kept)
    assert list(back["properties"]) == ["title", "body", "all"]
    assert _text(back["properties"]["body"]["properties"]) == '{"b":{},"a":true}'
    assert _text(back["properties"]["all"]["items"]["properties"]) == '{"y":{},"x":{}}'
    assert _text(back["$defs"]["one"]["properties"]) == '{"2":{},"1":{}}'
    assert back == composition.mark_field_order(AS_WRITTEN)


@pytest.mark.parametrize("schema", SORTED)
def test_a_sorted_form_stays_as_it_is(schema: JsonObject) -> None:
    assert (
        _text(composition.mark_field_order(schema)) == _text(schema) == _text(composition.restore_field_order(schema))
    )


def test_marking_twice_is_marking_once() -> None:
    once = composition.mark_field_order(AS_WRITTEN)
    assert _text(composition.mark_field_order(once)) == _text(once)


@pytest.mark.parametrize("said", [["z", "b"], ["b", 1, None], "b", {"b": 1}, [[]]])
def test_an_order_of_somebody_else_loses_no_field(said: Json) -> None:
    schema: JsonObject = {"properties": {"a": {}, "b": {}}, "x-order": said}
    found = composition.restore_field_order(schema)["properties"]
    assert found == {"a": {}, "b": {}}
