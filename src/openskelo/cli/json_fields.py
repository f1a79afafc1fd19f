"""Reads members of JSON documents; a missing member, or one of another type, is empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openskelo.kernel.json import Json, JsonObject


def object_at(document: JsonObject, key: str) -> JsonObject:
    """Return the object under `key`, or an empty one."""
    return as_object(document.get(key))


def list_at(document: JsonObject, key: str) -> Sequence[Json]:
    """Return the list under `key`, or an empty one."""
    value = document.get(key)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value
    return ()


def objects_at(document: JsonObject, key: str) -> list[JsonObject]:
    """Return the objects in the list under `key`."""
    return [value for value in list_at(document, key) if isinstance(value, Mapping)]


def text_at(document: JsonObject, key: str) -> str:
    """Return the member `key` as text, or an empty text."""
    value = document.get(key)
    return "" if value is None else str(value)


def as_object(value: Json) -> JsonObject:
    """Return `value` if it is an object, else an empty object."""
    if isinstance(value, Mapping):
        return value
    empty: dict[str, Json] = {}
    return empty
