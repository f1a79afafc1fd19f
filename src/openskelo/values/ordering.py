"""The order in which an author wrote the fields of a form, said by the schema itself: canonical JSON sorts names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

from openskelo.kernel.json import Json, JsonObject

_Change: TypeAlias = "Callable[[JsonObject], JsonObject]"
#: A list of names beside `properties`; a validator takes it for an annotation.
KEYWORD = "x-order"
#: Keywords that hold schemas by name, and those that hold one.
_NAMED = ("properties", "$defs")
_ONE = ("items",)


def marked(schema: JsonObject) -> JsonObject:
    """The schema, with its own order said wherever sorting would lose it; an order that is said already stays."""
    found = _inside(schema, marked)
    names = list(_properties(found))
    if KEYWORD in found or names == sorted(names):
        return found
    return {**found, KEYWORD: cast("list[Json]", names)}


def restored(schema: JsonObject) -> JsonObject:
    """The schema with its properties in the order that it says, as far as it says one."""
    found = _inside(schema, restored)
    said, properties = found.get(KEYWORD), _properties(found)
    if not isinstance(said, list) or not properties:
        return found
    first = [name for name in said if isinstance(name, str) and name in properties]
    return {**found, "properties": {name: properties[name] for name in dict.fromkeys((*first, *properties))}}


def unmarked(schema: JsonObject) -> JsonObject:
    """The schema as people write it: in its order, without a word about it."""
    found = _inside(restored(schema), unmarked)
    return {name: part for name, part in found.items() if name != KEYWORD}


def _inside(schema: JsonObject, change: _Change) -> JsonObject:
    found: dict[str, Json] = dict(schema)
    for keyword in _NAMED:
        named = found.get(keyword)
        if isinstance(named, Mapping):
            found[keyword] = {name: change(one) if isinstance(one, Mapping) else one for name, one in named.items()}
    for keyword in _ONE:
        one = found.get(keyword)
        if isinstance(one, Mapping):
            found[keyword] = change(one)
    return found


def _properties(schema: JsonObject) -> JsonObject:
    found = schema.get("properties")
    return found if isinstance(found, Mapping) else {}
