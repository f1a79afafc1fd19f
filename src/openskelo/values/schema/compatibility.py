"""Compare two JSON Schemas without a value: can a value of one be a value of the other?

This runs when a file is loaded, to find wires between ports that can never work. It reports a conflict only when it is
certain, because a false alarm would refuse a workflow that works: types without overlap, constants that the target does
not list, items or properties that conflict, a required property that the source rules out. Everything else (`$ref`,
patterns, bounds) is left to the check of the value at run time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, cast

from openskelo.kernel.json import Json, JsonObject

JsonSchema: TypeAlias = "JsonObject | bool"

_TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
# Schemas that nest or alternate further than this are taken to fit: the value itself is checked when it arrives.
_MAX_DEPTH = 16


def find_conflict(source: JsonSchema, target: JsonSchema) -> str | None:
    """Return why no value of `source` can be a value of `target`; None when one may be."""
    return _find_conflict(source, target, _MAX_DEPTH)


def _find_conflict(source: JsonSchema, target: JsonSchema, room: int) -> str | None:
    if room == 0 or isinstance(source, bool) or isinstance(target, bool):
        if target is False and source is not False:
            return "no value is valid by a schema that is false"
        return None
    sources = _alternatives(source)
    targets = _alternatives(target)
    if sources is None or targets is None:
        return None
    reasons: list[str] = []
    for one_source in sources:
        for one_target in targets:
            reason = _plain_conflict(one_source, one_target, room - 1)
            if reason is None:
                return None
            reasons.append(reason)
    if len(reasons) == 1:
        return reasons[0]
    return f"{_type_names_of(sources)} cannot be {_type_names_of(targets)}"


def _alternatives(schema: JsonObject) -> list[JsonObject] | None:
    """Return plain schemas of which a value meets at least one; None when the schema is not that simple.

    Other keywords beside `anyOf` and `oneOf` would narrow each branch. Ignoring them is safe: it only misses conflicts.
    """
    if "$ref" in schema or "$dynamicRef" in schema:
        return None
    for keyword in ("anyOf", "oneOf"):
        branches = schema.get(keyword)
        if isinstance(branches, Sequence) and not isinstance(branches, str):
            alternatives: list[JsonObject] = []
            for branch in branches:
                inner_branches = _alternatives(branch) if isinstance(branch, Mapping) else None
                if inner_branches is None:
                    return None
                alternatives.extend(inner_branches)
            return alternatives or None
    return [schema]


def _plain_conflict(source: JsonObject, target: JsonObject, room: int) -> str | None:
    reason = _constants_conflict(source, target)
    if reason is not None:
        return reason
    source_types, target_types = _types(source), _types(target)
    # Every integer is a number too.
    common = _with_integer(source_types) & _with_integer(target_types)
    if not common:
        return f"{_type_names(source_types)} cannot be {_type_names(target_types)}"
    if common == frozenset({"array"}):
        return _items_conflict(source, target, room)
    if common == frozenset({"object"}):
        return _properties_conflict(source, target, room)
    return None


def _constants_conflict(source: JsonObject, target: JsonObject) -> str | None:
    source_constants, target_constants = _constants(source), _constants(target)
    if source_constants is None:
        return None
    if target_constants is not None and not any(constant in target_constants for constant in source_constants):
        return "the target allows none of the source's constants"
    target_types = _with_integer(_types(target))
    if not any(_type_of(constant) in target_types for constant in source_constants):
        return f"{_type_names(map(_type_of, source_constants))} cannot be {_type_names(_types(target))}"
    return None


def _items_conflict(source: JsonObject, target: JsonObject, room: int) -> str | None:
    source_items, target_items = _as_schema(source.get("items")), _as_schema(target.get("items"))
    if source_items is None or source_items is False or target_items is None:
        return None
    if "prefixItems" in source or "prefixItems" in target:
        return None
    reason = _find_conflict(source_items, target_items, room)
    return reason and f"items: {reason}"


def _properties_conflict(source: JsonObject, target: JsonObject, room: int) -> str | None:
    source_properties, target_properties = _properties(source), _properties(target)
    if _is_closed(source):
        missing = [name for name in _required(target) if name not in source_properties]
        if missing:
            return f"property {missing[0]!r} is required, and the source never has it"
    for name, target_property in target_properties.items():
        if name not in source_properties:
            continue
        reason = _find_conflict(source_properties[name], target_property, room)
        if reason is not None:
            return f"property {name!r}: {reason}"
    if _is_closed(target):
        extra = [name for name in _required(source) if name not in target_properties]
        if extra:
            return f"property {extra[0]!r} is always there, and the target does not allow it"
    return None


def _types(schema: JsonObject) -> frozenset[str]:
    constants = _constants(schema)
    if constants is not None:
        return frozenset(map(_type_of, constants))
    type_value = schema.get("type")
    if isinstance(type_value, str):
        return frozenset({type_value}) & _TYPES or _TYPES
    if isinstance(type_value, Sequence):
        return frozenset(name for name in type_value if isinstance(name, str)) & _TYPES or _TYPES
    return _TYPES


def _is_closed(schema: JsonObject) -> bool:
    """True if an object can have no other properties than the declared ones."""
    return schema.get("additionalProperties") is False and "patternProperties" not in schema


def _with_integer(types: frozenset[str]) -> frozenset[str]:
    return types | {"integer"} if "number" in types else types


def _constants(schema: JsonObject) -> Sequence[Json] | None:
    if "const" in schema:
        return (schema["const"],)
    constants = schema.get("enum")
    if isinstance(constants, Sequence) and not isinstance(constants, str) and constants:
        return constants
    return None


def _type_of(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case Mapping():
            return "object"
        case _:
            return "array"


def _as_schema(value: Json) -> JsonSchema | None:
    return value if isinstance(value, Mapping | bool) else None


def _properties(schema: JsonObject) -> Mapping[str, JsonSchema]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: cast(JsonSchema, value) for name, value in properties.items() if isinstance(value, Mapping | bool)}


def _required(schema: JsonObject) -> Sequence[str]:
    required_names = schema.get("required")
    if not isinstance(required_names, Sequence) or isinstance(required_names, str):
        return ()
    return [name for name in required_names if isinstance(name, str)]


def _type_names_of(schemas: Iterable[JsonObject]) -> str:
    return _type_names(frozenset[str]().union(*map(_types, schemas)))


def _type_names(types: Iterable[str]) -> str:
    names = sorted(set(types))
    if len(names) < len(_TYPES):
        return " or ".join(names)
    return "anything"
