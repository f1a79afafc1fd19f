"""The schema that constrained decoding can hold: every value of it keeps the original's shape, and is short enough.

The decoder (llguidance inside llama.cpp) silently gives up on a schema with a keyword it does not know, so only known
ones pass. What is left out here (`uniqueItems`, `not`, `if`, `contains`, `patternProperties`, rarer formats …) is
found later, when the answer is checked against the original. What has no end (texts, lists, digits) is given one, so
that the answer is whole before the tokens run out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import cases, merging

#: How many items or free keys a value gets that may have any number of them.
_MOST_ITEMS = 8
_LARGEST = 10**9
_STEP = 1e-6
_SHORTEST_TEXT = 16
_LONGEST_TEXT = 100_000
#: Letters that a token stands for, cautiously; an English word is a token or two.
_LETTERS_PER_TOKEN = 2.5
#: Past this many places, or this deep, a schema is not followed further.
_MOST_PLACES = 500
_DEEPEST = 16

_DATE = (
    r"[12][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    r"|02-(0[1-9]|1[0-9]|2[0-8]))"
)
#: Formats as patterns of which every text is valid; the decoder's own are wider than the check.
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


def holdable(schema: JsonObject, max_tokens: int) -> JsonObject:
    """A schema for the decoder: its values are, as far as can be, those of `schema` that take at most `max_tokens`."""
    sizes = _Shaper(schema, _LONGEST_TEXT)
    sizes.whole()
    return _Shaper(schema, _share(sizes, max_tokens)).whole()


def _share(sizes: _Shaper, max_tokens: int) -> int:
    """How long a text may be: what is left of the tokens, shared by all texts that could use more."""
    left = max(0, int(max_tokens * _LETTERS_PER_TOKEN) - sizes.fixed)
    slots = sum(many for _, many in sizes.texts)
    for most, many in sorted(sizes.texts):
        if most * slots > left:
            return max(_SHORTEST_TEXT, left // slots)
        left -= most * many
        slots -= many
    return _LONGEST_TEXT


class _Shaper:
    """One pass over a schema. `texts` are the texts it allows (how long, how many), `fixed` the letters around them."""

    def __init__(self, root: JsonObject, longest: int) -> None:
        self._root = root
        self._longest = longest
        self._names: dict[str, str] = {}
        self._definitions: dict[str, Json] = {}
        self._places = 0
        self._depth = 0
        self.texts: list[tuple[int, int]] = []
        self.fixed = 0

    def whole(self) -> JsonObject:
        """The whole schema, with its definitions."""
        shaped = self._shape(self._root, 1)
        held: JsonObject = shaped if isinstance(shaped, Mapping) else {}
        return {**held, "$defs": self._definitions} if self._definitions else held

    def _shape(self, schema: Json, many: int) -> Json:
        self._places += 1
        if not isinstance(schema, Mapping) or self._places > _MOST_PLACES or self._depth > _DEEPEST:
            return False if schema is False else self._anything(many)
        self._depth += 1
        try:
            found = cases.of(schema)
            if found is not None:
                return self._widest(found.branches(), many)
            return self._shape_flat(merging.flat(schema, self._root), many)
        finally:
            self._depth -= 1

    def _shape_flat(self, flat: JsonObject, many: int) -> Json:
        match flat:
            case {"$ref": str() as pointer}:
                return self._reference(pointer, many)
            case {"const": value}:
                return self._one_of([value], flat, many)
            case {"enum": Sequence() as values}:
                return self._one_of(values, flat, many)
            case {"anyOf": Sequence() as branches} | {"oneOf": Sequence() as branches}:
                key = "anyOf" if "anyOf" in flat else "oneOf"
                rest = {name: value for name, value in flat.items() if name != key}
                parts = [merging.both(rest, one) for one in branches if one is not False]
                return self._widest(cases.choices(flat) or parts, many)
            case _ if choices := cases.choices(flat):
                return self._widest(choices, many)
            case _:
                return self._of_types(flat, many)

    def _widest(self, branches: Sequence[Json], many: int) -> Json:
        """Any of the branches. A value is of one of them only: what it takes is what the widest of them takes."""
        fixed, texts = self.fixed, self.texts
        shaped: list[Json] = []
        widest = (0, 0, list[tuple[int, int]]())
        for branch in branches:
            self.fixed, self.texts = 0, []
            shaped.append(self._shape(branch, many))
            slots = sum(many for _, many in self.texts)
            widest = max(widest, (slots, self.fixed, self.texts), key=lambda one: one[0] * _SHORTEST_TEXT + one[1])
        self.fixed, self.texts = fixed + widest[1], texts + widest[2]
        return self._either(shaped)

    def _either(self, branches: Sequence[Json]) -> Json:
        left = [one for one in branches if one is not False]
        return False if not left else left[0] if len(left) == 1 else {"anyOf": left}

    def _of_types(self, schema: JsonObject, many: int) -> Json:
        types = _types(schema)
        if not types:
            return self._anything(many)
        return self._either([self._of_type(name, schema, many) for name in types])

    def _of_type(self, name: str, schema: JsonObject, many: int) -> Json:
        match name:
            case "object":
                return self._object(schema, many)
            case "array":
                return self._array(schema, many)
            case "string":
                return self._text(schema, many)
            case "integer" | "number":
                self.fixed += many * 8
                return _integer(schema) if name == "integer" else _number(schema)
            case _:
                self.fixed += many * 5
                return {"type": name}

    def _reference(self, pointer: str, many: int) -> Json:
        name = self._names.get(pointer)
        if name is None:  # named before it is shaped: a schema that contains itself finds the name, and ends
            name = self._names[pointer] = f"d{len(self._names)}"
            self._definitions[name] = self._shape(merging.resolve(pointer, self._root), many)
        return {"$ref": f"#/$defs/{name}"}

    def _one_of(self, values: Sequence[Json], schema: JsonObject, many: int) -> Json:
        types = _types(schema)
        left = [value for value in values if not types or any(_is(value, name) for name in types)]
        self.fixed += many * max((len(str(value)) + 2 for value in left), default=0)
        return {"enum": left} if left else False

    def _object(self, schema: JsonObject, many: int) -> Json:
        required = [name for name in _list(schema.get("required")) if isinstance(name, str)]
        declared = _map(schema.get("properties"))
        names = {**declared, **{name: True for name in required if name not in declared}}
        self.fixed += sum(many * (len(name) + 4) for name in names)
        shaped = {name: self._shape(value, many) for name, value in names.items()}
        held: dict[str, Json] = {
            "type": "object",
            "properties": {name: value for name, value in shaped.items() if value is not False},
            "required": required,
            "additionalProperties": False,
        }
        extra = schema.get("additionalProperties", True)
        if isinstance(extra, Mapping) or (extra is True and not names):
            most = _count(schema, "maxProperties", len(names) + _MOST_ITEMS)
            least = _count(schema, "minProperties", 0)
            held |= {"maxProperties": max(least, min(most, len(names) + max(least, _MOST_ITEMS)))}
            held |= {"minProperties": least} if least else {}
            held["additionalProperties"] = self._shape(extra, many * _MOST_ITEMS)
            self.fixed += many * _MOST_ITEMS * 12
        return held

    def _array(self, schema: JsonObject, many: int) -> Json:
        first = _list(schema.get("prefixItems"))
        least = _count(schema, "minItems", 0)
        most = min(_count(schema, "maxItems", 10**6), max(least, len(first), _MOST_ITEMS))
        rest = schema.get("items", True)
        if rest is False:
            most = min(most, len(first))
        held: dict[str, Json] = {"type": "array", "minItems": least, "maxItems": most}
        if first:
            held["prefixItems"] = [self._shape(item, many) for item in first]
        if most > len(first):
            held["items"] = self._shape(rest, many * (most - len(first)))
        self.fixed += many * (most + 2)
        return held

    def _text(self, schema: JsonObject, many: int) -> Json:
        held: dict[str, Json] = {"type": "string"}
        least = _count(schema, "minLength", 0)
        most = _count(schema, "maxLength", _LONGEST_TEXT)
        pattern, form = schema.get("pattern"), schema.get("format")
        self.fixed += many * 2
        if isinstance(form, str) and form in _FORMATS and not isinstance(pattern, str):
            self.fixed += many * 40
            return {"type": "string", "format": form}
        if isinstance(form, str) and form in _PATTERNS and not isinstance(pattern, str):
            self.fixed += many * 24
            return {"type": "string", "pattern": _PATTERNS[form]}
        if isinstance(pattern, str):
            held["pattern"] = pattern
            # A pattern says itself how short its texts can be; the share alone could leave none.
            bound = min(most, max(self._longest, 256))
        else:
            bound = min(most, self._longest)
        self.texts.append((most, many))
        if least:
            held["minLength"] = least
        held["maxLength"] = max(least, bound)
        return held

    def _anything(self, many: int) -> Json:
        """Any value, two levels deep: the decoder would otherwise never have to stop."""
        plain: list[Json] = [self._text({}, many), _number({}), {"type": "boolean"}, {"type": "null"}]
        self._definitions["any"] = {
            "anyOf": [
                *plain,
                {"type": "array", "items": {"anyOf": plain}, "maxItems": _MOST_ITEMS},
                {"type": "object", "additionalProperties": {"anyOf": plain}, "maxProperties": _MOST_ITEMS},
            ]
        }
        return {"$ref": "#/$defs/any"}


def _integer(schema: JsonObject) -> JsonObject:
    low, high = _bounds(schema)
    least = None if low is None else math.floor(low[0]) + 1 if low[1] else math.ceil(low[0])
    most = None if high is None else math.ceil(high[0]) - 1 if high[1] else math.floor(high[0])
    least = (min(-_LARGEST, most - _LARGEST) if most is not None else -_LARGEST) if least is None else least
    most = max(_LARGEST, least + _LARGEST) if most is None else most
    held: dict[str, Json] = {"type": "integer", "minimum": least, "maximum": most}
    step = schema.get("multipleOf")
    if isinstance(step, int) and not isinstance(step, bool):
        held["multipleOf"] = step
    return held


def _number(schema: JsonObject) -> JsonObject:
    low, high = _bounds(schema)
    if low is not None and high is not None and low[0] == high[0]:
        return {"const": low[0]}
    low = (min(-_LARGEST, high[0] - _LARGEST) if high is not None else -_LARGEST, False) if low is None else low
    high = (max(_LARGEST, low[0] + _LARGEST), False) if high is None else high
    held: dict[str, Json] = {
        "type": "number",
        "exclusiveMinimum" if low[1] else "minimum": low[0],
        "exclusiveMaximum" if high[1] else "maximum": high[0],
    }
    step = schema.get("multipleOf")
    if isinstance(step, int | float) and not isinstance(step, bool):
        held["multipleOf"] = step
    elif high[0] - low[0] > 1000 * _STEP:
        held["multipleOf"] = _STEP  # else a fraction may have digits without end
    return held


def _bounds(schema: JsonObject) -> tuple[tuple[float, bool] | None, tuple[float, bool] | None]:
    """The lower and the upper bound, each with whether it is itself excluded."""
    low = [
        (value, name != "minimum") for name in ("minimum", "exclusiveMinimum") if _numeric(value := schema.get(name))
    ]
    high = [
        (value, name != "maximum") for name in ("maximum", "exclusiveMaximum") if _numeric(value := schema.get(name))
    ]
    lows = cast("list[tuple[float, bool]]", low)
    highs = cast("list[tuple[float, bool]]", high)
    return max(lows, default=None), min(highs, key=lambda one: (one[0], not one[1]), default=None)


def _types(schema: JsonObject) -> tuple[str, ...]:
    """The types a schema names, or the one its other keywords are about; empty when it could be anything."""
    named = schema.get("type")
    if isinstance(named, str):
        return (named,) if named in _TYPES else ()
    if isinstance(named, Sequence):
        return tuple(name for name in named if isinstance(name, str) and name in _TYPES)
    for name, words in _ABOUT.items():
        if not words.isdisjoint(schema):
            return (name,)
    return ()


_ABOUT: Mapping[str, frozenset[str]] = {
    "object": frozenset({"properties", "required", "additionalProperties", "minProperties", "maxProperties"}),
    "array": frozenset({"items", "prefixItems", "minItems", "maxItems"}),
    "string": frozenset({"pattern", "format", "minLength", "maxLength"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
}


def _is(value: Json, name: str) -> bool:
    match name:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "integer" | "number":
            whole = isinstance(value, int) or (name == "number" and isinstance(value, float))
            return whole and not isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, Sequence) and not isinstance(value, str)
        case _:
            return isinstance(value, Mapping)


def _numeric(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(schema: JsonObject, key: str, default: int) -> int:
    value = schema.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else []


def _map(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
