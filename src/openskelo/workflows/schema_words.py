"""Words in a JSON Schema that check nothing: keywords and formats that nobody knows, most of them mistyped."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo.workflows import cursor, suggest

#: What JSON Schema (2020-12) knows; a port may use all of it.
KEYWORDS = frozenset(
    {"$schema", "$id", "$ref", "$defs", "$anchor", "$comment", "type", "enum", "const", "format", "pattern"}
    | {"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "items"}
    | {"prefixItems", "contains", "minContains", "maxContains", "uniqueItems", "minItems", "maxItems"}
    | {"minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {"minProperties", "maxProperties", "allOf", "anyOf", "oneOf", "not", "if", "then", "else"}
    | {"dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "contentEncoding"}
    | {"contentMediaType", "contentSchema", "title", "description", "default", "examples", "deprecated"}
    | {"readOnly", "writeOnly"}
)
_FORMATS = frozenset(
    {"date", "date-time", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6"}
    | {"uri", "uri-reference", "iri", "iri-reference", "uri-template", "uuid", "regex"}
    | {"json-pointer", "relative-json-pointer"}
)
#: Under which keywords there are schemas: one, a list of them, and some by name.
_ONE = frozenset(
    {"items", "contains", "additionalProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems"}
    | {"not", "if", "then", "else", "contentSchema"}
)
_SEVERAL = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})


def warn(found: cursor.Cursor, *, known: bool = False) -> None:
    """A warning at each such word in the schema; with `known` the outermost keywords have been looked at already."""
    todo = [found]
    for place in todo:  # grows while it is walked
        if not isinstance(place.value, Mapping):
            continue
        for key, value in place.value.items():
            spot = place.at(key, value)
            if key == "format":
                _warn_of_format(spot)
            elif key in _ONE:
                todo.append(spot)
            elif key in _SEVERAL and isinstance(value, list | tuple):
                todo += [spot.at(index, part) for index, part in enumerate(value)]
            elif key in _NAMED and isinstance(value, Mapping):
                todo += [spot.at(name, part) for name, part in value.items()]
            elif key not in KEYWORDS and not key.startswith(("x-", "$")) and not (known and place is found):
                hint = suggest.near(key, KEYWORDS, otherwise="write `x-…` for what is yours")
                spot.warn("SCHEMA_UNCHECKED", f"JSON Schema has no keyword {key[:60]!r}: it checks nothing", hint=hint)


def _warn_of_format(spot: cursor.Cursor) -> None:
    if isinstance(spot.value, str) and spot.value not in _FORMATS:
        hint = suggest.near(spot.value, _FORMATS, otherwise="use `pattern`")
        spot.warn("SCHEMA_UNCHECKED", f"there is no format {spot.value[:60]!r}: it checks nothing", hint=hint)
