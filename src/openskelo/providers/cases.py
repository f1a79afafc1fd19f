"""Schemas that say something else for each value of one key, or for each choice of a key, taken apart into branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openskelo.frozen import frozen
from openskelo.kernel.json import Json, JsonObject

_CHOOSING = frozenset({"oneOf", "minProperties", "maxProperties"})


@frozen
class Cases:
    """What holds in any case, the key whose value decides, and what holds beside for each of its values."""

    always: JsonObject
    key: str
    then: Mapping[str, Json]

    def branches(self) -> list[JsonObject]:
        """A schema for each case."""
        return [
            {"allOf": [self.always, {"properties": {self.key: {"const": value}}, "required": [self.key]}, then]}
            for value, then in self.then.items()
        ]


def of(schema: JsonObject) -> Cases | None:
    """The cases of a schema, by the texts that its deciding key may be; None when its conditions are no such thing."""
    parts = _list(schema.get("allOf"))
    found = [_case(part) for part in parts]
    keys = {one[0] for one in found if one is not None}
    if len(keys) != 1:
        return None
    (key,) = keys
    texts = _texts(schema, key)
    then: dict[str, Json] = dict.fromkeys(texts, True)
    left: list[Json] = []
    for part, one in zip(parts, found, strict=True):
        if one is None or then.get(one[1]) is not True:
            left.append(part)
        else:
            then[one[1]] = one[2]
    rest = {name: value for name, value in schema.items() if name != "allOf"}
    return Cases(always={**rest, "allOf": left} if left else rest, key=key, then=then) if texts else None


def chosen(schema: JsonObject) -> tuple[str, ...]:
    """The keys of which a value of the schema has exactly one; empty when it says no such thing."""
    properties, options = schema.get("properties"), _list(schema.get("oneOf"))
    if not isinstance(properties, Mapping):
        return ()
    if not options and schema.get("minProperties") == 1 and schema.get("maxProperties") == 1:
        return tuple(properties)
    names = [_needed(one) for one in options]
    return tuple(name for name in names if name is not None) if None not in names else ()


def choices(schema: JsonObject) -> list[JsonObject]:
    """A schema for each key that may be chosen, without the keys of the others; empty when none has to be."""
    names = chosen(schema)
    rest = {key: value for key, value in schema.items() if key not in _CHOOSING}
    properties, before = schema.get("properties"), _list(schema.get("required"))
    held: JsonObject = properties if isinstance(properties, Mapping) else {}
    return [
        {
            **rest,
            "properties": {key: value for key, value in held.items() if key == name or key not in names},
            "required": [*before, name],
        }
        for name in names
    ]


def _case(part: Json) -> tuple[str, str, Json] | None:
    """The key, its value and what follows, of `if` a key has a value `then` something."""
    match part:
        case {"if": {"properties": Mapping() as tested, "required": [str() as key]}, "then": then, **more}:
            condition = tested.get(key)
            if more or len(tested) != 1 or not isinstance(condition, Mapping) or set(condition) != {"const"}:
                return None
            value = condition["const"]
            return (key, value, then) if isinstance(value, str) else None
        case _:
            return None


def _texts(schema: JsonObject, key: str) -> list[str]:
    """What the deciding key may be; empty when that is not a list of texts, or the key may be absent."""
    properties = schema.get("properties")
    held = properties.get(key) if isinstance(properties, Mapping) else None
    values = _list(held.get("enum")) if isinstance(held, Mapping) and key in _list(schema.get("required")) else ()
    texts = [value for value in values if isinstance(value, str)]
    return texts if len(texts) == len(values) else []


def _needed(branch: Json) -> str | None:
    match branch:
        case {"required": [str() as name], **more} if not more:
            return name
        case _:
            return None


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()
