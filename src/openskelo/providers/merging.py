"""Several schemas as one: `allOf` and references taken apart, so that everything about a value is in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from openskelo.kernel.json import Json, JsonObject
from openskelo.values import pointer as pointers

#: How often a schema may lead to another before it is taken for a circle.
_LONGEST_WAY = 32
#: What says something about a value, beside a reference.
_SILENT = frozenset(
    {"$defs", "definitions", "$schema", "$id", "$anchor", "$comment", "title", "description"}
) | frozenset({"default", "examples", "deprecated", "readOnly", "writeOnly"})


def flat(schema: JsonObject, root: JsonObject) -> JsonObject:
    """`schema` without `allOf`, and without a reference unless it is nothing else."""
    for _ in range(_LONGEST_WAY):
        said = {key: value for key, value in schema.items() if key not in _SILENT}
        parts = said.pop("allOf", None)
        if isinstance(parts, Sequence) and not isinstance(parts, str):
            for part in parts:
                said = dict(both(said, part))
        elif "$ref" not in said or len(said) == 1:
            return said
        if len(said) > 1 and isinstance(pointer := said.get("$ref"), str):
            del said["$ref"]
            said = dict(both(said, resolve(pointer, root)))
        schema = said
    return {}


def both(one: JsonObject, other: Json) -> JsonObject:
    """A schema for what is valid under both, as far as keywords can be joined; the second's count where they cannot."""
    if not isinstance(other, Mapping):
        return one
    joined = dict(one)
    for key, value in other.items():
        joined[key] = _join(key, joined[key], value) if key in joined else value
    return joined


def _join(key: str, one: Json, other: Json) -> Json:
    match one, other:
        case (int() | float(), int() | float()) if key in _TIGHTER:
            return _TIGHTER[key](one, other)
        case (Mapping(), Mapping()) if key in ("properties", "$defs"):
            return {
                **one,
                **{name: {"allOf": [one[name], value]} if name in one else value for name, value in other.items()},
            }
        case (list() | tuple(), list() | tuple()) if key in ("required", "allOf"):
            return [*one, *(value for value in other if value not in one)]
        case (list() | tuple(), list() | tuple()) if key == "enum":
            return [value for value in one if value in other]
        case _:
            return other


_TIGHTER: Mapping[str, Callable[[float, float], float]] = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}


def resolve(pointer: str, root: JsonObject) -> Json:
    """What a reference into the schema itself leads to; True (anything) when it leads nowhere or in a circle."""
    for _ in range(_LONGEST_WAY):
        found = _at(pointer, root)
        if not (isinstance(found, Mapping) and isinstance(found.get("$ref"), str) and len(found) == 1):
            return found
        pointer = str(found["$ref"])
    return True


def _at(pointer: str, root: JsonObject) -> Json:
    if not pointer.startswith("#"):
        return True
    place: Json = root
    for part in pointer[1:].split("/")[1:]:
        name = pointers.name_of(part)
        if isinstance(place, Mapping) and name in place:
            place = place[name]
        elif isinstance(place, Sequence) and not isinstance(place, str) and name.isdigit() and int(name) < len(place):
            place = place[int(name)]
        else:
            return True
    return place
