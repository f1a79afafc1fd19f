"""Whether a value of one schema can be a value of another, as far as the schemas plainly say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, cast

from openskelo.kernel.json import Json, JsonObject

JsonSchema: TypeAlias = "JsonObject | bool"

_TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
# Schemas that nest or alternate further than this are taken to fit: the value itself is checked when it arrives.
_MAX_DEPTH = 16


def fits(source: JsonSchema, target: JsonSchema) -> str | None:
    """None when values of `source` may be values of `target`, else why they cannot.

    It speaks up only when it is sure: types without overlap, constants that the target does not list, items or
    properties that cannot fit, a required property that the source rules out. Whatever else the schemas say
    (`$ref`, patterns, bounds) is left to the check of the value.
    """
    return _fits(source, target, _MAX_DEPTH)


def _fits(source: JsonSchema, target: JsonSchema, room: int) -> str | None:
    if room == 0 or isinstance(source, bool) or isinstance(target, bool):
        return "nothing fits a schema that is false" if target is False and source is not False else None
    sources = _alternatives(source)
    targets = _alternatives(target)
    if sources is None or targets is None:
        return None
    why = None
    for one in sources:
        for other in targets:
            reason = _fits_plain(one, other, room - 1)
            if reason is None:
                return None
            why = why or reason
    if len(sources) * len(targets) == 1:
        return why
    return f"{_kinds(sources)} cannot be {_kinds(targets)}"


def _alternatives(schema: JsonObject) -> list[JsonObject] | None:
    """The plain schemas of which a value meets at least one; None when the schema is not that simple.

    `anyOf` and `oneOf` beside other keywords narrow each branch; the branch alone is a fair and wider stand-in.
    """
    if "$ref" in schema or "$dynamicRef" in schema:
        return None
    for keyword in ("anyOf", "oneOf"):
        branches = schema.get(keyword)
        if isinstance(branches, Sequence) and not isinstance(branches, str):
            found: list[JsonObject] = []
            for branch in branches:
                nested = _alternatives(branch) if isinstance(branch, Mapping) else None
                if nested is None:
                    return None
                found.extend(nested)
            return found or None
    return [schema]


def _fits_plain(source: JsonObject, target: JsonObject, room: int) -> str | None:
    reason = _fits_constants(source, target)
    if reason is not None:
        return reason
    have, want = _types(source), _types(target)
    common = _overlap(have, want)
    if not common:
        return f"{_names(have)} cannot be {_names(want)}"
    if common == frozenset({"array"}):
        return _fits_items(source, target, room)
    if common == frozenset({"object"}):
        return _fits_properties(source, target, room)
    return None


def _fits_constants(source: JsonObject, target: JsonObject) -> str | None:
    have, want = _constants(source), _constants(target)
    if have is not None and want is not None and not any(one == other for one in have for other in want):
        return "none of the source's constants is one of the target's"
    allowed = _with_integer(_types(target))
    if have is not None and not any(_type_of(constant) in allowed for constant in have):
        return f"{_names(map(_type_of, have))} cannot be {_names(_types(target))}"
    return None


def _fits_items(source: JsonObject, target: JsonObject, room: int) -> str | None:
    have, want = _schema(source.get("items")), _schema(target.get("items"))
    if have is None or want is None or have is False or "prefixItems" in source or "prefixItems" in target:
        return None
    reason = _fits(have, want, room)
    return reason and f"items: {reason}"


def _fits_properties(source: JsonObject, target: JsonObject, room: int) -> str | None:
    have, want = _properties(source), _properties(target)
    if source.get("additionalProperties") is False and "patternProperties" not in source:
        missing = [name for name in _required(target) if name not in have]
        if missing:
            return f"property {missing[0]!r} is required, and the source never has it"
    for name, expected in want.items():
        given = have.get(name)
        reason = None if given is None else _fits(given, expected, room)
        if reason is not None:
            return f"property {name!r}: {reason}"
    if target.get("additionalProperties") is False and "patternProperties" not in target:
        extra = [name for name in _required(source) if name not in want]
        if extra:
            return f"property {extra[0]!r} is always there, and the target does not allow it"
    return None


def _types(schema: JsonObject) -> frozenset[str]:
    constants = _constants(schema)
    if constants is not None:
        return frozenset(map(_type_of, constants))
    declared = schema.get("type")
    if isinstance(declared, str):
        return frozenset({declared}) & _TYPES or _TYPES
    if isinstance(declared, Sequence):
        return frozenset(name for name in declared if isinstance(name, str)) & _TYPES or _TYPES
    return _TYPES


def _overlap(have: frozenset[str], want: frozenset[str]) -> frozenset[str]:
    """The types that both sides allow; every integer is a number too."""
    return _with_integer(have) & _with_integer(want)


def _with_integer(types: frozenset[str]) -> frozenset[str]:
    return types | {"integer"} if "number" in types else types


def _constants(schema: JsonObject) -> Sequence[Json] | None:
    if "const" in schema:
        return (schema["const"],)
    listed = schema.get("enum")
    return listed if isinstance(listed, Sequence) and not isinstance(listed, str) and listed else None


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


def _schema(value: Json) -> JsonSchema | None:
    return value if isinstance(value, Mapping | bool) else None


def _properties(schema: JsonObject) -> Mapping[str, JsonSchema]:
    declared = schema.get("properties")
    if not isinstance(declared, Mapping):
        return {}
    return {name: cast(JsonSchema, value) for name, value in declared.items() if isinstance(value, Mapping | bool)}


def _required(schema: JsonObject) -> Sequence[str]:
    declared = schema.get("required")
    if not isinstance(declared, Sequence) or isinstance(declared, str):
        return ()
    return [name for name in declared if isinstance(name, str)]


def _kinds(schemas: Iterable[JsonObject]) -> str:
    return _names(frozenset[str]().union(*map(_types, schemas)))


def _names(types: Iterable[str]) -> str:
    ordered = sorted(set(types))
    return " or ".join(ordered) if len(ordered) < len(_TYPES) else "anything"
