"""Rewrites of a JSON Schema for a decoder that knows only plain keywords; they keep its meaning as far as possible.

- `flatten` merges `allOf` and references, so that all keywords about a value are in one object.
- `split_cases` turns conditions on one key (`if` it has a value `then` ...) into a schema for each of its values.
- `split_exclusive_keys` turns "exactly one of these keys" into a schema for each key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen
from openskelo.values import json_pointer

#: Keywords that `split_exclusive_keys` replaces.
_EXCLUSIVE_KEYWORDS = frozenset({"oneOf", "minProperties", "maxProperties"})
#: How many references are followed before they count as circular.
_MAX_REFERENCES = 32
#: Keywords that do not constrain a value.
_ANNOTATIONS = frozenset(
    {"$defs", "definitions", "$schema", "$id", "$anchor", "$comment", "title", "description"}
) | frozenset({"default", "examples", "deprecated", "readOnly", "writeOnly"})


@frozen
class Cases:
    """A schema with conditions on one key."""

    #: The schema that holds in all cases.
    always: JsonObject
    #: The key with the conditions.
    key: str
    #: For each value of the key, the schema that holds in addition.
    then: Mapping[str, Json]

    def branches(self) -> list[JsonObject]:
        """Return a schema for each case."""
        return [
            {"allOf": [self.always, {"properties": {self.key: {"const": value}}, "required": [self.key]}, then]}
            for value, then in self.then.items()
        ]


@frozen
class _Condition:
    """If `key` has `value`, the schema `then` holds."""

    key: str
    value: str
    then: Json


def split_cases(schema: JsonObject) -> Cases | None:
    """Return the cases of a schema whose `allOf` has conditions on the values of one key; None for other schemas."""
    parts = _list(schema.get("allOf"))
    conditions = [_read_condition(part) for part in parts]
    keys = {condition.key for condition in conditions if condition is not None}
    if len(keys) != 1:
        return None
    (key,) = keys
    values = _allowed_values(schema, key)
    if not values:
        return None
    then: dict[str, Json] = dict.fromkeys(values, True)
    unconditional: list[Json] = []
    for part, condition in zip(parts, conditions, strict=True):
        if condition is None or then.get(condition.value) is not True:
            unconditional.append(part)
        else:
            then[condition.value] = condition.then
    always = {name: value for name, value in schema.items() if name != "allOf"}
    if unconditional:
        always["allOf"] = unconditional
    return Cases(always=always, key=key, then=then)


def _read_condition(part: Json) -> _Condition | None:
    """Return the condition `if` a key has a text `then` a schema holds; None for anything else."""
    match part:
        case {"if": {"properties": Mapping() as tested_properties, "required": [str() as key]}, "then": then, **more}:
            test = tested_properties.get(key)
            if more or len(tested_properties) != 1 or not isinstance(test, Mapping) or set(test) != {"const"}:
                return None
            value = test["const"]
            if isinstance(value, str):
                return _Condition(key=key, value=value, then=then)
            return None
        case _:
            return None


def _allowed_values(schema: JsonObject, key: str) -> list[str]:
    """Return the values of a required key with an `enum` of texts; empty for any other key."""
    properties = schema.get("properties")
    rule = properties.get(key) if isinstance(properties, Mapping) else None
    if not isinstance(rule, Mapping) or key not in _list(schema.get("required")):
        return []
    values = _list(rule.get("enum"))
    texts = [value for value in values if isinstance(value, str)]
    return texts if len(texts) == len(values) else []


def exclusive_keys(schema: JsonObject) -> tuple[str, ...]:
    """Return the keys of which a value must have exactly one; empty if the schema has no such rule."""
    properties, options = schema.get("properties"), _list(schema.get("oneOf"))
    if not isinstance(properties, Mapping):
        return ()
    if not options and schema.get("minProperties") == 1 and schema.get("maxProperties") == 1:
        return tuple(properties)
    names = [_required_key(option) for option in options]
    if None not in names:
        return tuple(name for name in names if name is not None)
    return ()


def split_exclusive_keys(schema: JsonObject) -> list[JsonObject]:
    """Return a schema for each exclusive key, without the other ones; empty if the schema has none."""
    names = exclusive_keys(schema)
    rest = {key: value for key, value in schema.items() if key not in _EXCLUSIVE_KEYWORDS}
    required = _list(schema.get("required"))
    properties = schema.get("properties")
    rules: JsonObject = properties if isinstance(properties, Mapping) else {}
    return [
        {
            **rest,
            "properties": {key: value for key, value in rules.items() if key == name or key not in names},
            "required": [*required, name],
        }
        for name in names
    ]


def _required_key(option: Json) -> str | None:
    match option:
        case {"required": [str() as name], **more} if not more:
            return name
        case _:
            return None


def flatten(schema: JsonObject, root: JsonObject) -> JsonObject:
    """Return `schema` without annotations and `allOf`, and without `$ref` unless that is its only keyword.

    A schema with circular references becomes `{}`, which allows anything.
    """
    for _ in range(_MAX_REFERENCES):
        flat = {key: value for key, value in schema.items() if key not in _ANNOTATIONS}
        parts = flat.pop("allOf", None)
        if isinstance(parts, Sequence) and not isinstance(parts, str):
            for part in parts:
                flat = dict(merge(flat, part))
        elif "$ref" not in flat or len(flat) == 1:
            return flat
        if len(flat) > 1 and isinstance(pointer := flat.get("$ref"), str):
            del flat["$ref"]
            flat = dict(merge(flat, resolve_reference(pointer, root)))
        schema = flat
    return {}


def merge(first: JsonObject, second: Json) -> JsonObject:
    """Return a schema for values that are valid under both schemas.

    Where two keywords cannot be merged, the second one counts.
    """
    if not isinstance(second, Mapping):
        return first
    result = dict(first)
    for key, value in second.items():
        result[key] = _merge_keyword(key, result[key], value) if key in result else value
    return result


def _merge_keyword(key: str, first: Json, second: Json) -> Json:
    match first, second:
        case (int() | float(), int() | float()) if key in _TIGHTER:
            return _TIGHTER[key](first, second)
        case (Mapping(), Mapping()) if key in ("properties", "$defs"):
            common_names = {
                name: {"allOf": [first[name], value]} if name in first else value for name, value in second.items()
            }
            return {**first, **common_names}
        case (list() | tuple(), list() | tuple()) if key in ("required", "allOf"):
            return [*first, *(value for value in second if value not in first)]
        case (list() | tuple(), list() | tuple()) if key == "enum":
            return [value for value in first if value in second]
        case _:
            return second


_TIGHTER: Mapping[str, Callable[[float, float], float]] = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}


def resolve_reference(pointer: str, root: JsonObject) -> Json:
    """Return the schema in `root` that a reference points to; True (anything) for a missing or circular one."""
    for _ in range(_MAX_REFERENCES):
        target = _read_pointer(pointer, root)
        if not (isinstance(target, Mapping) and isinstance(target.get("$ref"), str) and len(target) == 1):
            return target
        pointer = str(target["$ref"])
    return True


def _read_pointer(pointer: str, root: JsonObject) -> Json:
    if not pointer.startswith("#"):
        return True
    value: Json = root
    for part in pointer[1:].split("/")[1:]:
        name = json_pointer.name_of(part)
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, Sequence) and not isinstance(value, str) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return True
    return value


def _list(value: Json) -> Sequence[Json]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value
    return ()
