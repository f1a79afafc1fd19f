"""A schema as an API's own structured output holds it: never tighter than it was meant, or not at all.

Some APIs close every object that does not say otherwise. One that may have any keys would always come back empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config

_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_LISTED = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLE = frozenset({"items", "additionalProperties", "contains", "not", "if", "then", "else"})
#: A schema without any of these says nothing about what kind of value it is for.
_TELLING = frozenset({"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"})


def held(kind: config.Kind, schema: JsonObject) -> JsonObject | None:
    """What is sent as the schema of the answer; None where the API cannot hold it, and the prompt alone has to do."""
    match kind:
        case "openai":
            return _opened(schema)
        case "anthropic":
            return None if any(map(_is_free, _all(schema))) else schema
        case _:
            return schema


def _is_free(schema: Json) -> bool:
    """Whether it allows keys, or kinds of values, that it does not name."""
    if not isinstance(schema, Mapping):
        return schema is True
    return _has_any_keys(schema) or _TELLING.isdisjoint(schema)


def _has_any_keys(schema: JsonObject) -> bool:
    types = schema.get("type")
    if types != "object" and not (isinstance(types, Sequence) and not isinstance(types, str) and "object" in types):
        return False
    others = schema.get("additionalProperties")
    return not schema.get("properties") if others is None else others is not False


def _all(schema: Json) -> Iterator[Json]:
    """A schema and all that it is made of; what closes an object is no part."""
    yield schema
    if not isinstance(schema, Mapping):
        return
    for key, value in schema.items():
        if key in _BY_NAME and isinstance(value, Mapping):
            parts: Sequence[Json] = tuple(value.values())
        elif key in _LISTED and isinstance(value, Sequence) and not isinstance(value, str):
            parts = value
        elif key in _SINGLE and isinstance(value, Mapping):
            parts = (value,)
        else:
            parts = ()
        for part in parts:
            yield from _all(part)


def _opened(schema: JsonObject) -> JsonObject:
    """The same schema, in which objects that may have any keys say so themselves."""
    said: dict[str, Json] = {key: _inside(key, value) for key, value in schema.items()}
    if _has_any_keys(schema) and "additionalProperties" not in schema:
        said["additionalProperties"] = True
    return said


def _inside(key: str, value: Json) -> Json:
    if key in _BY_NAME and isinstance(value, Mapping):
        return {name: _opened(part) if isinstance(part, Mapping) else part for name, part in value.items()}
    if key in _LISTED and isinstance(value, Sequence) and not isinstance(value, str):
        return [_opened(part) if isinstance(part, Mapping) else part for part in value]
    return _opened(value) if key in _SINGLE and isinstance(value, Mapping) else value
