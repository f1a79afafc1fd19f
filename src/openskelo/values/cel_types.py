"""What a JSON Schema says about CEL types.

Types are written as CEL type signatures: `int`, `list<string>`, `map<string, dyn>`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from openskelo.values.fit import JsonSchema

#: The fields of an object that has no others, with the shapes of their values; None when it may have others.
Shape: TypeAlias = "tuple[tuple[str, Shape], ...] | None"

DYNAMIC = "dyn"

# `number` is not `double`: the JSON number 2 arrives as an int, 2.5 as a double, so only `dyn` holds for both.
_SCALARS = {"string": "string", "integer": "int", "boolean": "bool"}
_MAX_DEPTH = 8


def signature(schema: JsonSchema | None, room: int = _MAX_DEPTH) -> str:
    """The narrowest CEL type that holds every value of `schema`; `dyn` where CEL has no such type."""
    if not isinstance(schema, Mapping) or room == 0:
        return DYNAMIC
    kind = schema.get("type")
    if not isinstance(kind, str):
        return DYNAMIC
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind == "array":
        items = schema.get("items")
        element = signature(items, room - 1) if isinstance(items, Mapping) and "prefixItems" not in schema else DYNAMIC
        return f"list<{element}>"
    if kind == "object":
        return "map<string, dyn>"
    return DYNAMIC


def fields(name: str, schema: JsonSchema | None) -> dict[str, str]:
    """The dotted names under variable `name` whose type the schema fixes: always there, and of one type.

    CEL resolves `inputs.title` to a variable of that very name before it looks for a field, which is how fields of
    different types get checked without declaring messages.
    """
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return {}
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping) or not isinstance(required, list | tuple):
        return {}
    found: dict[str, str] = {}
    for key, value in properties.items():
        if key in required and key.isascii() and key.isidentifier() and isinstance(value, Mapping):
            kind = signature(value)
            if kind != DYNAMIC:
                found[f"{name}.{key}"] = kind
    return found


def shape(schema: JsonSchema | None, room: int = _MAX_DEPTH) -> Shape:
    """Which fields a value of `schema` can have, if the schema allows no others (`additionalProperties: false`)."""
    if not isinstance(schema, Mapping) or room == 0 or schema.get("type") != "object":
        return None
    properties = schema.get("properties", {})
    if (
        schema.get("additionalProperties") is not False
        or "patternProperties" in schema
        or not isinstance(properties, Mapping)
    ):
        return None
    return tuple(
        (key, shape(value, room - 1) if isinstance(value, Mapping) else None)
        for key, value in sorted(properties.items())
    )
