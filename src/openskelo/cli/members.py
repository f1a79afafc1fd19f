"""Reading members of JSON documents whose shape is agreed but not typed: a wrong or missing member is simply empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openskelo.kernel.json import Json, JsonObject


def object_at(document: JsonObject, key: str) -> JsonObject:
    """The object under `key`; empty when there is none."""
    return as_object(document.get(key))


def list_at(document: JsonObject, key: str) -> Sequence[Json]:
    """The list under `key`; empty when there is none."""
    value = document.get(key)
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def objects_at(document: JsonObject, key: str) -> list[JsonObject]:
    """The objects in the list under `key`."""
    return [value for value in list_at(document, key) if isinstance(value, Mapping)]


def text_at(document: JsonObject, key: str) -> str:
    """The member `key` as text; empty when there is none."""
    value = document.get(key)
    return "" if value is None else str(value)


def as_object(value: Json) -> JsonObject:
    """`value` when it is an object, else an empty one."""
    if isinstance(value, Mapping):
        return value
    empty: dict[str, Json] = {}
    return empty
