"""A contract in few words: small models copy what they read, and a JSON Schema is full of words that are no answer."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import orjson

from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import cases
from openskelo.values import canonical

_SILENT = frozenset({"title", "default", "examples", "additionalProperties"})
_KNOWN: Mapping[str, frozenset[str]] = {
    "string": frozenset({"minLength", "maxLength", "pattern"}),
    "integer": frozenset({"minimum", "maximum"}),
    "number": frozenset({"minimum", "maximum"}),
    "boolean": frozenset(),
    "null": frozenset(),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "object": frozenset({"properties", "required"}),
}


class _Beyond(Exception):
    """The schema says something that a sketch cannot."""


def of(schema: JsonObject) -> str:
    """The schema as a sketch of a value that keeps it, or as it is where a sketch would not say everything."""
    return _of(orjson.dumps(schema))


@functools.lru_cache(maxsize=1024)
def _of(data: bytes) -> str:
    schema: JsonObject = orjson.loads(data)
    try:
        return _sketch(schema)
    except _Beyond:
        return canonical.dumps(schema).decode()


def _sketch(schema: Json) -> str:
    if not isinstance(schema, Mapping):
        raise _Beyond
    said = {key: value for key, value in schema.items() if key not in _SILENT}
    told = said.pop("description", None)
    aside = f" ({told})" if isinstance(told, str) and told else ""
    options = said.pop("enum", None)
    if isinstance(options, Sequence) and not isinstance(options, str) and said.keys() <= {"type"}:
        return " or ".join(canonical.dumps(option).decode() for option in options) + aside
    if not said and options is None:
        return f"anything{aside}"
    found = cases.of(said)
    if found is not None:
        return _cases(found) + aside
    branches = said.get("anyOf")
    if isinstance(branches, Sequence) and not isinstance(branches, str) and len(said) == 1:
        return " or ".join(_sketch(one) for one in branches) + aside
    chosen = cases.chosen(said)
    if chosen:
        aside = f" with exactly one of {', '.join(chosen)}{aside}"
        said = {key: value for key, value in said.items() if key not in ("oneOf", "minProperties", "maxProperties")}
    kind = said.pop("type", None)
    if not isinstance(kind, str) or kind not in _KNOWN or not said.keys() <= _KNOWN[kind]:
        raise _Beyond
    return _value(kind, said) + aside


def _value(kind: str, said: JsonObject) -> str:
    match kind:
        case "string":
            pattern = f" that matches {said['pattern']}" if "pattern" in said else ""
            return "text" + _range(said, "minLength", "maxLength", " characters") + pattern
        case "integer":
            return "whole number" + _range(said, "minimum", "maximum", "")
        case "number":
            return "number" + _range(said, "minimum", "maximum", "")
        case "boolean":
            return "true or false"
        case "null":
            return "null"
        case "array":
            items = _sketch(said["items"]) if "items" in said else "anything"
            return f"[list{_range(said, 'minItems', 'maxItems', ' entries')}, each: {items}]"
        case _:
            return _object(said)


def _cases(found: cases.Cases) -> str:
    """What holds in any case, then what each case adds, a line each."""
    key = canonical.dumps(found.key).decode()
    added = [
        f"\n- where {key} is {canonical.dumps(value).decode()}: {_sketch({'type': 'object', **then})}"
        for value, then in found.then.items()
        if isinstance(then, Mapping)
    ]
    return _sketch(found.always) + "".join(added) + "\n"


def _object(said: JsonObject) -> str:
    if "properties" not in said and "required" not in said:
        return "{any keys}"
    properties, required = said.get("properties"), said.get("required", ())
    if not isinstance(properties, Mapping) or not isinstance(required, Sequence):
        raise _Beyond
    parts = [
        f"{canonical.dumps(name).decode()}: {_sketch(held)}{'' if name in required else ' (may be left out)'}"
        for name, held in properties.items()
    ]
    return "{" + ", ".join(parts) + "}"


def _range(said: JsonObject, low: str, high: str, unit: str) -> str:
    least, most = said.get(low), said.get(high)
    if least is None and most is None:
        return ""
    if least == most:
        return f" of {least}{unit}"
    if least is None:
        return f" of at most {most}{unit}"
    return f" of at least {least}{unit}" if most is None else f" of {least} to {most}{unit}"
