"""What built-in checkers and transforms compile when they run: a pattern, a schema, a template. A mistake is a Problem
before any run, as all three are literals: no ref is ever looked for in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import pattern, refs, schema, template
from openskelo.workflows import cursor, scope


def check(target: str, given: JsonObject, place: cursor.Cursor) -> None:
    """Compile what the built-in `target` would compile of the arguments `given`, which are written at `place`."""
    name, compiles = _COMPILED.get(target, ("", None))
    if compiles is None or name not in given:
        return
    value = given[name]
    if isinstance(value, Mapping) and refs.LITERAL in value:
        value = value[refs.LITERAL]
    try:
        compiles(value)
    except errors.InvalidInput as error:
        scope.report(place.at(name, value), error)


def _pattern(value: Json) -> None:
    if isinstance(value, str):
        pattern.compile(value)


def _schema(value: Json) -> None:
    if isinstance(value, Mapping):
        schema.compile(value)


def _template(value: Json) -> None:
    if isinstance(value, str):
        template.compile(value, {"values": None})


#: The argument that each built-in compiles, and how; a value of another type is a Problem already.
_COMPILED: Mapping[str, tuple[str, Callable[[Json], None]]] = MappingProxyType(
    {"regex": ("pattern", _pattern), "json_schema": ("schema", _schema), "template": ("template", _template)}
)
