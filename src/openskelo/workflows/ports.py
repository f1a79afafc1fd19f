"""Ports: `topic: string`, `tags: string[]?` or a map of JSON Schema keywords, to typed openings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, cast

import orjson

from openskelo import errors
from openskelo.frozen import frozen
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import composition, schema
from openskelo.workflows import cursor, schema_words, suggest

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")

#: The words that stand for a type, with the schema of each.
TYPES: Mapping[str, JsonObject] = {
    "string": {"type": "string"},
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "object": {"type": "object"},
    "array": {"type": "array"},
    "null": {"type": "null"},
    "json": {},
    "file": {"type": "string"},
    "artifact": {"type": "string"},
}
_ARRAYS: Mapping[str, JsonObject] = {
    f"{name}[]": {"type": "array", "items": dict(element)} if element else {"type": "array"}
    for name, element in TYPES.items()
    if name not in ("file", "artifact")
}
#: What other languages call these types.
_ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("text", "str", "date", "datetime", "url", "uri", "markdown"), "string"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("int", "long"), "integer"),
    **dict.fromkeys(("list", "tuple"), "array"),
    **dict.fromkeys(("dict", "map", "record", "struct"), "object"),
    **dict.fromkeys(("any", "unknown"), "json"),
    "bool": "boolean",
    "path": "file",
}
_KINDS = ("json", "file", "artifact")

_OWN = frozenset({"required", "default", "description", "from", "transform", "kind"})
_KNOWN = schema_words.KEYWORDS | _OWN

Side = Literal["input", "output"]


@frozen
class Link:
    """A `from` as written, with where it stands."""

    source: cursor.Cursor
    transform: cursor.Cursor | None


@frozen
class Ports:
    """The ports of one side, and the links that inputs carry. `untyped` are those that give no type of their own."""

    ports: tuple[definition.Port, ...] = ()
    links: Mapping[str, Link]
    untyped: frozenset[str] = frozenset()


NONE = Ports(links={})


def read(found: cursor.Cursor | None, side: Side) -> Ports:
    """All ports under `inputs` or `outputs`."""
    fields = None if found is None else found.fields()
    if fields is None:
        return NONE
    ports: list[definition.Port] = []
    links: dict[str, Link] = {}
    untyped: list[str] = []
    for entry in fields:
        name = str(entry.path[-1])
        if not NAME.match(name):
            hint = "letters, digits, - and _, beginning with a letter or _"
            entry.key_problem("NAME_INVALID", f"{name[:80]!r} cannot name a port", hint=hint)
            continue
        if isinstance(entry.value, str):
            port = _shorthand(name, entry, entry.value)
        elif not isinstance(entry.value, Mapping):
            entry.wrong_type("a type or a map", hint=f"for example {name}: string")
            continue
        else:
            port = _long(name, entry, side, links)
            if not (entry.value.keys() & (schema_words.KEYWORDS - _OWN)):
                untyped.append(name)
        ports.append(port)
    _check_together(fields.cursor, ports)
    return Ports(ports=tuple(ports), links=links, untyped=frozenset(untyped))


def by_name(ports: Iterable[definition.Port]) -> dict[str, definition.Port]:
    """The ports under their names."""
    return {port.name: port for port in ports}


def _shorthand(name: str, entry: cursor.Cursor, text: str) -> definition.Port:
    word = text.strip()
    required = not word.endswith("?")
    known = _word_schema(word.removesuffix("?"), entry)
    kind = cast("definition.PortKind", word.removesuffix("?")) if word.removesuffix("?") in _KINDS[1:] else "json"
    return definition.Port(name=name, schema=known, kind=kind, required=required)


def _word_schema(word: str, entry: cursor.Cursor) -> JsonObject:
    found = TYPES.get(word) if word in TYPES else _ARRAYS.get(word)
    if found is None:
        hint = suggest.near(word, [*TYPES, *_ARRAYS], otherwise=f"types: {', '.join(TYPES)}, each also with []")
        if word in ("file[]", "artifact[]"):
            hint = "a list of files is not checked; use string[]"
        if (meant := _ELSEWHERE.get(word.casefold().removesuffix("[]"))) is not None:
            hint = f"did you mean {meant + ('[]' if word.endswith('[]') else '')!r}?"
        entry.problem("TYPE_UNKNOWN", f"there is no type {word[:60]!r}", hint=hint)
        return {}
    return found


def _long(name: str, entry: cursor.Cursor, side: Side, links: dict[str, Link]) -> definition.Port:
    fields = entry.fields(_KNOWN)
    if fields is None:
        return definition.Port(name=name, schema={})
    if side == "output":
        for key in ("from", "transform"):
            if (extra := fields.get(key)) is not None:
                extra.key_problem("UNKNOWN_KEY", f"an output port has no `{key}`", hint="links belong to input ports")
    elif (source := fields.get("from")) is not None:
        links[name] = Link(source=source, transform=fields.get("transform"))
    elif (lonely := fields.get("transform")) is not None:
        lonely.key_problem("MISSING_KEY", "`transform` needs a `from` beside it")
    own, kind, optional = _schema(fields)
    required = True if not optional else None
    return definition.Port(
        name=name,
        schema=own,
        kind=kind,
        required=_required(fields, required),
        has_default="default" in fields,
        default=_default(fields, own),
        description=fields.text("description"),
    )


def _required(fields: cursor.Fields, otherwise: bool | None) -> bool:
    found = fields.get("required")
    if found is not None and isinstance(found.value, list | tuple):
        found = None  # JSON Schema's own `required`, of an object's properties
    given = None if found is None else found.flag()
    if given is not None:
        return given
    return otherwise is not None and "default" not in fields


def _schema(fields: cursor.Fields) -> tuple[JsonObject, definition.PortKind, bool]:
    """The port's schema without what belongs to the port; its kind; whether its type ended in `?`."""
    rest: dict[str, Json] = {key: value for key, value in fields.value.items() if key not in _OWN}
    inner = fields.value.get("required")
    if isinstance(inner, list | tuple):
        rest["required"] = inner
    kind = fields.choice("kind", _KINDS, "json")
    optional = False
    named = fields.get("type")
    if named is not None and isinstance(named.value, str):
        word = named.value.removesuffix("?")
        optional = named.value.endswith("?")
        del rest["type"]
        rest = {**_word_schema(word, named), **rest}
        kind = word if word in _KINDS[1:] else kind
    if rest.keys() - {"type"} or not isinstance(rest.get("type", ""), str):
        if not _compiles(fields.cursor, rest):
            rest = {}
        schema_words.warn(fields.cursor, known=True)
    return rest, cast("definition.PortKind", kind), optional


def _compiles(place: cursor.Cursor, own: JsonObject) -> bool:
    """Whether a port's schema can be used, by itself and as a part of its block's contract; a Problem where not."""
    try:
        schema.compile(own)
        schema.compile(composition.composed({str(place.path[-1]): own}, {}))
    except errors.InvalidInput as error:
        place.problem(error.code, error.message, hint=error.hint)
        return False
    return True


def _check_together(place: cursor.Cursor, ports: Sequence[definition.Port]) -> None:
    """The ports of a side are one contract, and each fits into it; together they may be too long for a schema."""
    if sum(len(orjson.dumps(port.schema)) for port in ports) < schema.MAX_BYTES // 4:  # parts may be there twice
        return
    try:
        schema.compile(composition.composed({port.name: port.schema for port in ports}, {}))
    except errors.InvalidInput as error:
        place.problem(error.code, f"{place.name} together: {error.message}", hint=error.hint)


def _default(fields: cursor.Fields, own: JsonObject) -> Json:
    found = fields.get("default")
    if found is None:
        return None
    check_value(found, own)
    return found.value


def check_value(found: cursor.Cursor, own: JsonObject) -> None:
    """A default that its own schema refuses is a Problem."""
    try:
        violations = schema.compile(own).check(found.value)
    except errors.InvalidInput:
        return  # reported where the schema stands
    for violation in violations[:1]:
        where = f" at {violation.path}" if violation.path else ""
        found.problem("DEFAULT_INVALID", f"the default does not fit the port{where}: {violation.message}")
