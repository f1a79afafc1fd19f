"""Schemas for the structured output of an API: never stricter than the author's schema.

Some APIs forbid all keys that an object's schema does not name. An object that may have any keys would always come back
empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from openskelo.kernel.json import Json, JsonObject

_MAPS_OF_SCHEMAS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_LISTS_OF_SCHEMAS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLE_SCHEMAS = frozenset({"items", "additionalProperties", "contains", "not", "if", "then", "else"})
#: A schema without any of these allows values of any type.
_TYPE_KEYWORDS = frozenset({"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"})


def unchanged(schema: JsonObject) -> JsonObject:
    """Return the schema unchanged."""
    return schema


def only_closed(schema: JsonObject) -> JsonObject | None:
    """Return the schema; None if a part of it allows keys or types that it does not name."""
    if any(_is_open(part) for part in _subschemas(schema)):
        return None
    return schema


def explicitly_open(schema: JsonObject) -> JsonObject:
    """Return the schema with an explicit `additionalProperties` in every object that may have any keys."""
    result: dict[str, Json] = {key: _open_parts(key, value) for key, value in schema.items()}
    if _has_any_keys(schema) and "additionalProperties" not in schema:
        result["additionalProperties"] = True
    return result


def _is_open(schema: Json) -> bool:
    """True if the schema allows keys or types that it does not name."""
    if not isinstance(schema, Mapping):
        return schema is True
    return _has_any_keys(schema) or _TYPE_KEYWORDS.isdisjoint(schema)


def _has_any_keys(schema: JsonObject) -> bool:
    types = schema.get("type")
    if types != "object" and not (isinstance(types, Sequence) and not isinstance(types, str) and "object" in types):
        return False
    additional = schema.get("additionalProperties")
    if additional is None:
        return not schema.get("properties")
    return additional is not False


def _subschemas(schema: Json) -> Iterator[Json]:
    """Yield the schema and all schemas in it, without `additionalProperties: false`."""
    yield schema
    if not isinstance(schema, Mapping):
        return
    for key, value in schema.items():
        if key in _MAPS_OF_SCHEMAS and isinstance(value, Mapping):
            parts: Sequence[Json] = tuple(value.values())
        elif key in _LISTS_OF_SCHEMAS and isinstance(value, Sequence) and not isinstance(value, str):
            parts = value
        elif key in _SINGLE_SCHEMAS and isinstance(value, Mapping):
            parts = (value,)
        else:
            parts = ()
        for part in parts:
            yield from _subschemas(part)


def _open_parts(key: str, value: Json) -> Json:
    if key in _MAPS_OF_SCHEMAS and isinstance(value, Mapping):
        return {name: explicitly_open(part) if isinstance(part, Mapping) else part for name, part in value.items()}
    if key in _LISTS_OF_SCHEMAS and isinstance(value, Sequence) and not isinstance(value, str):
        return [explicitly_open(part) if isinstance(part, Mapping) else part for part in value]
    if key in _SINGLE_SCHEMAS and isinstance(value, Mapping):
        return explicitly_open(value)
    return value
