"""Ports: the typed inputs and outputs of a block, and the inputs of a run.

An author writes `topic: string`, `tags: string[]?` (optional) or a map of JSON Schema keywords with a few keys of our
own (`from`, `default`, `required`, …). Each becomes a `definition.Port` with a JSON Schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, cast

import orjson

from openskelo import errors
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen, replace
from openskelo.values.schema import compatibility, composition, validator
from openskelo.workflows.text import cursor, problems

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")

#: The type names of the short form, with the schema of each.
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
#: Names of these types in other languages, for hints.
_FOREIGN_NAMES: Mapping[str, str] = {
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

#: The keywords of JSON Schema (2020-12); a port may use all of them.
SCHEMA_KEYWORDS = frozenset(
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
#: Keywords that hold one schema, a list of schemas, and schemas by name.
_ONE_SCHEMA = frozenset(
    {"items", "contains", "additionalProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems"}
    | {"not", "if", "then", "else", "contentSchema"}
)
_SCHEMA_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED_SCHEMAS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_OWN = frozenset({"required", "default", "description", "from", "transform", "kind"})
_KNOWN = SCHEMA_KEYWORDS | _OWN

Side = Literal["input", "output"]


@frozen
class Link:
    """A `from` of an input as written, with its `transform`."""

    source: cursor.Cursor
    transform: cursor.Cursor | None


@frozen
class Ports:
    """The ports of one side, and the `from` of inputs."""

    ports: tuple[definition.Port, ...] = ()
    links: Mapping[str, Link]
    #: Ports that declare no type.
    untyped: frozenset[str] = frozenset()


NONE = Ports(links={})


def read(section: cursor.Cursor | None, side: Side) -> Ports:
    """Return all ports of an `inputs` or `outputs` section."""
    fields = None if section is None else section.fields()
    if fields is None:
        return NONE
    ports: list[definition.Port] = []
    links: dict[str, Link] = {}
    untyped_names: list[str] = []
    for entry in fields:
        name = str(entry.path[-1])
        if not NAME.match(name):
            hint = "letters, digits, - and _, beginning with a letter or _"
            entry.key_problem("NAME_INVALID", f"{name[:80]!r} cannot be the name of a port", hint=hint)
            continue
        if isinstance(entry.value, str):
            port = _shorthand(name, entry, entry.value)
        elif not isinstance(entry.value, Mapping):
            entry.wrong_type("a type or a map", hint=f"for example {name}: string")
            continue
        else:
            port = _long(name, entry, side, links)
            if not (entry.value.keys() & (SCHEMA_KEYWORDS - _OWN)):
                untyped_names.append(name)
        ports.append(port)
    _check_together(fields.cursor, ports)
    return Ports(ports=tuple(ports), links=links, untyped=frozenset(untyped_names))


def by_name(ports: Iterable[definition.Port]) -> dict[str, definition.Port]:
    """Return the ports by name."""
    return {port.name: port for port in ports}


def _shorthand(name: str, entry: cursor.Cursor, text: str) -> definition.Port:
    word = text.strip()
    required = not word.endswith("?")
    word_schema = _word_schema(word.removesuffix("?"), entry)
    kind = cast("definition.PortKind", word.removesuffix("?")) if word.removesuffix("?") in _KINDS[1:] else "json"
    return definition.Port(name=name, schema=word_schema, kind=kind, required=required)


def _word_schema(word: str, entry: cursor.Cursor) -> JsonObject:
    schema = TYPES.get(word) if word in TYPES else _ARRAYS.get(word)
    if schema is None:
        hint = problems.did_you_mean(
            word, [*TYPES, *_ARRAYS], otherwise=f"types: {', '.join(TYPES)}, each also with []"
        )
        if word in ("file[]", "artifact[]"):
            hint = "lists of files are not supported; use string[]"
        if (own_name := _FOREIGN_NAMES.get(word.casefold().removesuffix("[]"))) is not None:
            hint = f"did you mean {own_name + ('[]' if word.endswith('[]') else '')!r}?"
        entry.problem("TYPE_UNKNOWN", f"there is no type {word[:60]!r}", hint=hint)
        return {}
    return schema


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
    elif (transform := fields.get("transform")) is not None:
        transform.key_problem("MISSING_KEY", "`transform` needs a `from` next to it")
    own_schema, kind, optional = _schema(fields)
    required = True if not optional else None
    return definition.Port(
        name=name,
        schema=own_schema,
        kind=kind,
        required=_required(fields, required),
        has_default="default" in fields,
        default=_default(fields, own_schema),
        description=fields.text("description"),
    )


def _required(fields: cursor.Fields, otherwise: bool | None) -> bool:
    place = fields.get("required")
    if place is not None and isinstance(place.value, list | tuple):
        place = None  # the `required` of JSON Schema: a list of properties
    required = None if place is None else place.flag()
    if required is not None:
        return required
    return otherwise is not None and "default" not in fields


def _schema(fields: cursor.Fields) -> tuple[JsonObject, definition.PortKind, bool]:
    """Return the port's schema without our own keys, its kind, and whether its type ends with `?`."""
    rest: dict[str, Json] = {key: value for key, value in fields.value.items() if key not in _OWN}
    inner = fields.value.get("required")
    if isinstance(inner, list | tuple):
        rest["required"] = inner
    kind = fields.choice("kind", _KINDS, "json")
    optional = False
    type_field = fields.get("type")
    if type_field is not None and isinstance(type_field.value, str):
        word = type_field.value.removesuffix("?")
        optional = type_field.value.endswith("?")
        del rest["type"]
        rest = {**_word_schema(word, type_field), **rest}
        kind = word if word in _KINDS[1:] else kind
    if rest.keys() - {"type"} or not isinstance(rest.get("type", ""), str):
        if not _compiles(fields.cursor, rest):
            rest = {}
        warn_unknown_keywords(fields.cursor, outermost=False)
    return rest, cast("definition.PortKind", kind), optional


def _compiles(place: cursor.Cursor, own: JsonObject) -> bool:
    """True if a port's schema can be used, by itself and in its block's contract; else report a Problem."""
    try:
        validator.compile(own)
        validator.compile(composition.object_of({str(place.path[-1]): own}, {}))
    except errors.InvalidInput as error:
        place.problem(error.code, error.message, hint=error.hint)
        return False
    return True


def _check_together(place: cursor.Cursor, ports: Sequence[definition.Port]) -> None:
    """Report ports that are valid one by one, but too long together for one contract."""
    if sum(len(orjson.dumps(port.schema)) for port in ports) < validator.MAX_BYTES // 4:  # a definition may be copied
        return
    try:
        validator.compile(composition.object_of({port.name: port.schema for port in ports}, {}))
    except errors.InvalidInput as error:
        place.problem(error.code, f"{place.name} together: {error.message}", hint=error.hint)


def _default(fields: cursor.Fields, own: JsonObject) -> Json:
    place = fields.get("default")
    if place is None:
        return None
    check_default(place, own)
    return place.value


def check_default(place: cursor.Cursor, own: JsonObject) -> None:
    """Report a default that its own schema refuses."""
    try:
        violations = validator.compile(own).check(place.value)
    except errors.InvalidInput:
        return  # reported at the schema
    for violation in violations[:1]:
        where = f" at {violation.path}" if violation.path else ""
        place.problem("DEFAULT_INVALID", f"the default does not fit the port{where}: {violation.message}")


def warn_unknown_keywords(schema: cursor.Cursor, *, outermost: bool = True) -> None:
    """Warn at each keyword and format in a schema that JSON Schema does not have and therefore does not check.

    Most of them are mistyped. Without `outermost` the keywords of the schema itself are taken as checked already.
    """
    places = [schema]
    for place in places:  # grows while it is walked
        if not isinstance(place.value, Mapping):
            continue
        for key, value in place.value.items():
            content = place.at(key, value)
            if key == "format":
                _warn_unknown_format(content)
            elif key in _ONE_SCHEMA:
                places.append(content)
            elif key in _SCHEMA_LISTS and isinstance(value, list | tuple):
                places += [content.at(index, item) for index, item in enumerate(value)]
            elif key in _NAMED_SCHEMAS and isinstance(value, Mapping):
                places += [content.at(name, item) for name, item in value.items()]
            elif key not in SCHEMA_KEYWORDS and not key.startswith(("x-", "$")) and (outermost or place is not schema):
                hint = problems.did_you_mean(key, SCHEMA_KEYWORDS, otherwise="begin your own keywords with `x-`")
                message = f"JSON Schema has no keyword {key[:60]!r}: it checks nothing"
                content.warn("SCHEMA_UNCHECKED", message, hint=hint)


def _warn_unknown_format(place: cursor.Cursor) -> None:
    if isinstance(place.value, str) and place.value not in _FORMATS:
        hint = problems.did_you_mean(place.value, _FORMATS, otherwise="use `pattern`")
        place.warn("SCHEMA_UNCHECKED", f"there is no format {place.value[:60]!r}: it checks nothing", hint=hint)


# -- inputs of a run --------------------------------------------------------------------------------------------------
#
# Inputs that the file declares, and inputs that its ports need.


_ALL_OF = "allOf"
#: How many different schemas one undeclared input may combine; beyond that it has to be declared.
_MAX_SCHEMAS = 50


class Inputs:
    """Collects inputs while edges are read; afterwards `ports` returns them, declared ones first."""

    __slots__ = ("_declared", "_inputs", "_section", "_used")

    def __init__(self, section: cursor.Cursor | None) -> None:
        self._section = section
        declared_ports = read(section, "input")
        for link in declared_ports.links.values():
            link.source.key_problem("UNKNOWN_KEY", "an input of the workflow has no `from`")
        self._inputs: dict[str, definition.Port] = by_name(declared_ports.ports)
        self._declared = None if section is None else frozenset(self._inputs)
        self._used: set[str] = set()

    def named(self, name: str, target: definition.Port, place: cursor.Cursor, *, typed: bool) -> definition.Port | None:
        """Return the input of a `from: inputs.NAME`, added if the file declares no inputs; None after a Problem."""
        self._used.add(name)
        if self._declared is not None and name in self._declared:
            return self._inputs[name]
        if self._declared is not None:
            hint = problems.did_you_mean(name, self._declared, otherwise="declare it under the file's `inputs`")
            place.problem("UNKNOWN_INPUT", f"the workflow has no input {name[:80]!r}", hint=hint)
            return None
        if not NAME.match(name):
            place.problem("NAME_INVALID", f"{name[:80]!r} cannot be the name of an input")
            return None
        wanted_port = replace(
            target,
            name=name,
            schema=target.schema if typed else {},
            kind=target.kind if typed else "json",
            required=target.required and not target.has_default,
            has_default=False,
            default=None,
        )
        return self._merge(wanted_port, place)

    def unbound(self, port: definition.Port, place: cursor.Cursor) -> definition.Port | None:
        """Return the input for a port without a source; None after a Problem."""
        self._used.add(port.name)
        if self._declared is not None and port.name in self._declared:
            return self._fitting(self._inputs[port.name], port, place)
        if self._declared is not None and port.name not in self._inputs:
            hint = "write `from:` on the port, or declare the input"
            place.warn(
                "INPUT_UNDECLARED", f"{port.name!r} has no source, so it becomes an input of the workflow", hint=hint
            )
        return self._merge(port, place)

    def ports(self, report: problems.Report) -> tuple[definition.Port, ...]:
        """Return all inputs, after all of the file is read; warn about declared ones that no block uses."""
        self._check_run_reads(report)
        for name in self._declared or ():
            if name not in self._used and self._section is not None:
                self._section.at(name, None).warn("INPUT_UNUSED", f"no block uses the input {name!r}")
        return tuple(self._inputs.values())

    def use(self, name: str) -> definition.Port | None:
        """Return an existing input, for an output that passes it on."""
        self._used.add(name)
        return self._inputs.get(name)

    def names(self) -> tuple[str, ...]:
        return tuple(self._inputs)

    def _check_run_reads(self, report: problems.Report) -> None:
        """Mark inputs that expressions read as `run.inputs.NAME` as used, and report unknown ones."""
        for read in report.run_reads:
            if read.name is None:
                self._used.update(self._inputs)
            elif read.name in self._inputs:
                self._used.add(read.name)
            else:
                hint = problems.did_you_mean(read.name, self._inputs, otherwise="declare it under the file's `inputs`")
                message = f"the workflow has no input {read.name[:80]!r}"
                report.error_within(read.path, "UNKNOWN_INPUT", message, read.position, hint=hint)

    def _fitting(self, found: definition.Port, port: definition.Port, place: cursor.Cursor) -> definition.Port | None:
        why = None if found.schema == port.schema else compatibility.find_conflict(found.schema, port.schema)
        if why is not None:
            place.problem("TYPE_MISMATCH", f"inputs.{port.name} does not fit this port: {why}")
            return None
        return found

    def _merge(self, wanted: definition.Port, place: cursor.Cursor) -> definition.Port | None:
        existing = self._inputs.get(wanted.name)
        if existing is None:
            self._inputs[wanted.name] = wanted
            return wanted
        merged_port = _combine(existing, wanted)
        if merged_port is None:
            hint = "use two inputs with `from: inputs.NAME`, or declare the input"
            place.problem("INPUT_CONFLICT", f"two ports need different types of inputs.{wanted.name}", hint=hint)
            return None
        self._inputs[wanted.name] = merged_port
        return merged_port


def _combine(known: definition.Port, wanted: definition.Port) -> definition.Port | None:
    """Return one input for two ports, whose values are valid for both; None if there are none."""
    if "json" not in (known.kind, wanted.kind) and known.kind != wanted.kind:
        return None
    new_schema = _combine_schemas(known.schema, wanted.schema)
    if new_schema is None:
        return None
    return replace(
        known,
        schema=new_schema,
        kind=known.kind if known.kind != "json" else wanted.kind,
        required=known.required or wanted.required,
        description=known.description or wanted.description,
    )


def _combine_schemas(known: JsonObject, wanted: JsonObject) -> JsonObject | None:
    """Return the schema of values that are valid by both; None if there are none, or too many schemas to combine."""
    if known == wanted or not wanted:
        return known
    if not known:
        return wanted
    so_far = known.get(_ALL_OF)
    # A schema with references is kept as one part, because they only mean something inside it.
    can_extend = isinstance(so_far, list) and len(known) == 1 and composition.is_self_contained(known)
    parts = cast("list[JsonObject]", so_far) if can_extend else [known]
    if wanted in parts:
        return known
    if len(parts) == _MAX_SCHEMAS or any(_are_disjoint(part, wanted) for part in parts):
        return None
    return composition.all_of([*parts, wanted])


def _are_disjoint(first: JsonObject, second: JsonObject) -> bool:
    """True if no value can be valid by both schemas."""
    return (
        compatibility.find_conflict(first, second) is not None
        and compatibility.find_conflict(second, first) is not None
    )
