"""Rewrites a JSON Schema for constrained decoding: each value has the shape of the original and fits the token limit.

The decoder (llguidance inside llama.cpp) silently gives up on a schema with a keyword it does not know, so only known
ones pass. The keywords left out here (`uniqueItems`, `not`, `if`, `contains`, `patternProperties`, rarer formats …) are
checked later, against the original schema. Texts, lists and numbers without a limit get one, so that the answer is
complete before the tokens run out.

Two passes: the first measures how many texts the schema allows and how many characters are around them; the second
gives each text its share of the characters that are left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import schema_rewrites

#: How many items or free keys a value may have if the schema sets no limit.
_MAX_ITEMS = 8
_MAX_NUMBER = 10**9
_STEP = 1e-6
_MIN_TEXT = 16
_MAX_TEXT = 100_000
#: Characters per token, a cautious estimate; an English word is a token or two.
_CHARACTERS_PER_TOKEN = 2.5
#: After this many nested schemas, or this deep, anything is allowed.
_MAX_SCHEMAS = 500
_MAX_DEPTH = 16

_DATE = (
    r"[12][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    r"|02-(0[1-9]|1[0-9]|2[0-8]))"
)
#: Formats as patterns: every text they match is valid. The decoder's own formats allow more than the check does.
_PATTERNS = {
    "date": f"^{_DATE}$",
    "date-time": f"^{_DATE}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$",
    "time": "^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$",
    "email": r"^[a-z][a-z0-9]{0,15}([.][a-z0-9]{1,15})?@[a-z][a-z0-9]{0,15}[.][a-z]{2,6}$",
    "hostname": r"^[a-z][a-z0-9]{0,15}([.][a-z][a-z0-9]{0,15}){0,3}$",
    "uri": r"^https?://[a-z][a-z0-9]{0,15}([.][a-z][a-z0-9]{0,15}){1,3}(/[a-z0-9_-]{1,24}){0,4}$",
}
_FORMATS = frozenset({"ipv4", "ipv6", "uuid"})
_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")


def constrain(schema: JsonObject, max_tokens: int) -> JsonObject:
    """Return a schema for the decoder. Its values are valid under `schema`, as far as the decoder can ensure it, and
    take at most about `max_tokens`.
    """
    sizes = _Rewriter(schema, _MAX_TEXT)
    sizes.rewrite()
    return _Rewriter(schema, _text_share(sizes, max_tokens)).rewrite()


def _text_share(sizes: _Rewriter, max_tokens: int) -> int:
    """Return how long a text may be: the characters that are left, shared by all texts that could use more."""
    characters_left = max(0, int(max_tokens * _CHARACTERS_PER_TOKEN) - sizes.fixed)
    slots = sum(count for _, count in sizes.texts)
    for maximum, count in sorted(sizes.texts):
        if maximum * slots > characters_left:
            return max(_MIN_TEXT, characters_left // slots)
        characters_left -= maximum * count
        slots -= count
    return _MAX_TEXT


class _Rewriter:
    """One pass over a schema.

    `texts` collects the maximum length and the number of the texts that it allows, `fixed` counts the characters around
    them. The argument `count` is the number of times that a schema may occur in one value.
    """

    def __init__(self, root: JsonObject, max_text: int) -> None:
        self._root = root
        self._max_text = max_text
        self._names: dict[str, str] = {}
        self._definitions: dict[str, Json] = {}
        self._schemas = 0
        self._depth = 0
        self.texts: list[tuple[int, int]] = []
        self.fixed = 0

    def rewrite(self) -> JsonObject:
        """Return the rewritten schema, with its definitions."""
        rewritten = self._rewrite(self._root, 1)
        result: JsonObject = rewritten if isinstance(rewritten, Mapping) else {}
        if self._definitions:
            return {**result, "$defs": self._definitions}
        return result

    def _rewrite(self, schema: Json, count: int) -> Json:
        self._schemas += 1
        if not isinstance(schema, Mapping) or self._schemas > _MAX_SCHEMAS or self._depth > _MAX_DEPTH:
            if schema is False:
                return False
            return self._anything(count)
        self._depth += 1
        try:
            cases = schema_rewrites.split_cases(schema)
            if cases is not None:
                return self._any_branch(cases.branches(), count)
            return self._rewrite_flat(schema_rewrites.flatten(schema, self._root), count)
        finally:
            self._depth -= 1

    def _rewrite_flat(self, flat: JsonObject, count: int) -> Json:
        match flat:
            case {"$ref": str() as pointer}:
                return self._reference(pointer, count)
            case {"const": value}:
                return self._enum([value], flat, count)
            case {"enum": Sequence() as values}:
                return self._enum(values, flat, count)
            case {"anyOf": Sequence() as branches} | {"oneOf": Sequence() as branches}:
                key = "anyOf" if "anyOf" in flat else "oneOf"
                rest = {name: value for name, value in flat.items() if name != key}
                parts = [schema_rewrites.merge(rest, branch) for branch in branches if branch is not False]
                return self._any_branch(schema_rewrites.split_exclusive_keys(flat) or parts, count)
            case _ if choices := schema_rewrites.split_exclusive_keys(flat):
                return self._any_branch(choices, count)
            case _:
                return self._any_type(flat, count)

    def _any_branch(self, branches: Sequence[Json], count: int) -> Json:
        """Return a schema for any of the branches. A value matches one of them, so only the largest one counts."""
        fixed_before, texts = self.fixed, self.texts
        rewritten: list[Json] = []
        widest = (0, 0, list[tuple[int, int]]())
        for branch in branches:
            self.fixed, self.texts = 0, []
            rewritten.append(self._rewrite(branch, count))
            slots = sum(count for _, count in self.texts)
            widest = max(widest, (slots, self.fixed, self.texts), key=lambda size: size[0] * _MIN_TEXT + size[1])
        self.fixed, self.texts = fixed_before + widest[1], texts + widest[2]
        return self._any_of(rewritten)

    def _any_of(self, branches: Sequence[Json]) -> Json:
        possible = [branch for branch in branches if branch is not False]
        if not possible:
            return False
        if len(possible) == 1:
            return possible[0]
        return {"anyOf": possible}

    def _any_type(self, schema: JsonObject, count: int) -> Json:
        types = _types(schema)
        if not types:
            return self._anything(count)
        return self._any_of([self._typed(name, schema, count) for name in types])

    def _typed(self, name: str, schema: JsonObject, count: int) -> Json:
        match name:
            case "object":
                return self._object(schema, count)
            case "array":
                return self._array(schema, count)
            case "string":
                return self._string(schema, count)
            case "integer" | "number":
                self.fixed += count * 8
                if name == "integer":
                    return _integer(schema)
                return _number(schema)
            case _:
                self.fixed += count * 5
                return {"type": name}

    def _reference(self, pointer: str, count: int) -> Json:
        name = self._names.get(pointer)
        if name is None:  # named before it is rewritten, so that a schema may contain itself
            name = self._names[pointer] = f"d{len(self._names)}"
            self._definitions[name] = self._rewrite(schema_rewrites.resolve_reference(pointer, self._root), count)
        return {"$ref": f"#/$defs/{name}"}

    def _enum(self, values: Sequence[Json], schema: JsonObject, count: int) -> Json:
        types = _types(schema)
        allowed_values = [value for value in values if not types or any(_has_type(value, name) for name in types)]
        self.fixed += count * max((len(str(value)) + 2 for value in allowed_values), default=0)
        if allowed_values:
            return {"enum": allowed_values}
        return False

    def _object(self, schema: JsonObject, count: int) -> Json:
        required = [name for name in _list(schema.get("required")) if isinstance(name, str)]
        properties = _map(schema.get("properties"))
        names = {**properties, **{name: True for name in required if name not in properties}}
        self.fixed += sum(count * (len(name) + 4) for name in names)
        rewritten = {name: self._rewrite(value, count) for name, value in names.items()}
        result: dict[str, Json] = {
            "type": "object",
            "properties": {name: value for name, value in rewritten.items() if value is not False},
            "required": required,
            "additionalProperties": False,
        }
        extra = schema.get("additionalProperties", True)
        if isinstance(extra, Mapping) or (extra is True and not names):
            maximum = _read_count(schema, "maxProperties", len(names) + _MAX_ITEMS)
            minimum = _read_count(schema, "minProperties", 0)
            result |= {"maxProperties": max(minimum, min(maximum, len(names) + max(minimum, _MAX_ITEMS)))}
            result |= {"minProperties": minimum} if minimum else {}
            result["additionalProperties"] = self._rewrite(extra, count * _MAX_ITEMS)
            self.fixed += count * _MAX_ITEMS * 12
        return result

    def _array(self, schema: JsonObject, count: int) -> Json:
        first = _list(schema.get("prefixItems"))
        minimum = _read_count(schema, "minItems", 0)
        maximum = min(_read_count(schema, "maxItems", 10**6), max(minimum, len(first), _MAX_ITEMS))
        rest = schema.get("items", True)
        if rest is False:
            maximum = min(maximum, len(first))
        result: dict[str, Json] = {"type": "array", "minItems": minimum, "maxItems": maximum}
        if first:
            result["prefixItems"] = [self._rewrite(item, count) for item in first]
        if maximum > len(first):
            result["items"] = self._rewrite(rest, count * (maximum - len(first)))
        self.fixed += count * (maximum + 2)
        return result

    def _string(self, schema: JsonObject, count: int) -> Json:
        result: dict[str, Json] = {"type": "string"}
        minimum = _read_count(schema, "minLength", 0)
        maximum = _read_count(schema, "maxLength", _MAX_TEXT)
        pattern, form = schema.get("pattern"), schema.get("format")
        self.fixed += count * 2
        if isinstance(form, str) and form in _FORMATS and not isinstance(pattern, str):
            self.fixed += count * 40
            return {"type": "string", "format": form}
        if isinstance(form, str) and form in _PATTERNS and not isinstance(pattern, str):
            self.fixed += count * 24
            return {"type": "string", "pattern": _PATTERNS[form]}
        if isinstance(pattern, str):
            result["pattern"] = pattern
            # A pattern may need a minimum length; the share alone could allow no text at all.
            max_length = min(maximum, max(self._max_text, 256))
        else:
            max_length = min(maximum, self._max_text)
        self.texts.append((maximum, count))
        if minimum:
            result["minLength"] = minimum
        result["maxLength"] = max(minimum, max_length)
        return result

    def _anything(self, count: int) -> Json:
        """Return a schema for any value, two levels deep: without a limit the decoder might never stop."""
        plain: list[Json] = [self._string({}, count), _number({}), {"type": "boolean"}, {"type": "null"}]
        self._definitions["any"] = {
            "anyOf": [
                *plain,
                {"type": "array", "items": {"anyOf": plain}, "maxItems": _MAX_ITEMS},
                {"type": "object", "additionalProperties": {"anyOf": plain}, "maxProperties": _MAX_ITEMS},
            ]
        }
        return {"$ref": "#/$defs/any"}


def _integer(schema: JsonObject) -> JsonObject:
    low, high = _bounds(schema)
    minimum = maximum = None
    if low is not None:
        minimum = math.floor(low[0]) + 1 if low[1] else math.ceil(low[0])
    if high is not None:
        maximum = math.ceil(high[0]) - 1 if high[1] else math.floor(high[0])
    if minimum is None:
        minimum = -_MAX_NUMBER if maximum is None else min(-_MAX_NUMBER, maximum - _MAX_NUMBER)
    if maximum is None:
        maximum = max(_MAX_NUMBER, minimum + _MAX_NUMBER)
    result: dict[str, Json] = {"type": "integer", "minimum": minimum, "maximum": maximum}
    step = schema.get("multipleOf")
    if isinstance(step, int) and not isinstance(step, bool):
        result["multipleOf"] = step
    return result


def _number(schema: JsonObject) -> JsonObject:
    low, high = _bounds(schema)
    if low is not None and high is not None and low[0] == high[0]:
        return {"const": low[0]}
    if low is None:
        low = (-_MAX_NUMBER if high is None else min(-_MAX_NUMBER, high[0] - _MAX_NUMBER), False)
    if high is None:
        high = (max(_MAX_NUMBER, low[0] + _MAX_NUMBER), False)
    result: dict[str, Json] = {
        "type": "number",
        "exclusiveMinimum" if low[1] else "minimum": low[0],
        "exclusiveMaximum" if high[1] else "maximum": high[0],
    }
    step = schema.get("multipleOf")
    if isinstance(step, int | float) and not isinstance(step, bool):
        result["multipleOf"] = step
    elif high[0] - low[0] > 1000 * _STEP:
        result["multipleOf"] = _STEP  # without a step a fraction may have any number of digits
    return result


def _bounds(schema: JsonObject) -> tuple[tuple[float, bool] | None, tuple[float, bool] | None]:
    """Return the lower and the upper bound, each with whether the bound itself is excluded."""
    low = [
        (value, name != "minimum") for name in ("minimum", "exclusiveMinimum") if _is_number(value := schema.get(name))
    ]
    high = [
        (value, name != "maximum") for name in ("maximum", "exclusiveMaximum") if _is_number(value := schema.get(name))
    ]
    lows = cast("list[tuple[float, bool]]", low)
    highs = cast("list[tuple[float, bool]]", high)
    return max(lows, default=None), min(highs, key=lambda bound: (bound[0], not bound[1]), default=None)


def _types(schema: JsonObject) -> tuple[str, ...]:
    """Return the types that a schema names, else the type that its keywords apply to; empty if any type is possible."""
    type_value = schema.get("type")
    if isinstance(type_value, str):
        return (type_value,) if type_value in _TYPES else ()
    if isinstance(type_value, Sequence):
        return tuple(name for name in type_value if isinstance(name, str) and name in _TYPES)
    for name, keywords in _KEYWORDS_OF_TYPE.items():
        if not keywords.isdisjoint(schema):
            return (name,)
    return ()


_KEYWORDS_OF_TYPE: Mapping[str, frozenset[str]] = {
    "object": frozenset({"properties", "required", "additionalProperties", "minProperties", "maxProperties"}),
    "array": frozenset({"items", "prefixItems", "minItems", "maxItems"}),
    "string": frozenset({"pattern", "format", "minLength", "maxLength"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
}


def _has_type(value: Json, name: str) -> bool:
    match name:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "integer" | "number":
            is_number = isinstance(value, int) or (name == "number" and isinstance(value, float))
            return is_number and not isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, Sequence) and not isinstance(value, str)
        case _:
            return isinstance(value, Mapping)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _read_count(schema: JsonObject, key: str, default: int) -> int:
    value = schema.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return default


def _list(value: Json) -> Sequence[Json]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value
    return []


def _map(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
