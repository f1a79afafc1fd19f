"""Values given on the command line: `k=v`, `k=@file` and whole JSON files, read by the schema they must fit."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from openskelo import errors, files
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical, outside

#: What a file of JSON holds: anything, but a text only in quotes.
_JSON_FILE: JsonObject = {"type": ["object", "array", "number", "boolean", "null"]}
#: How objects, lists and strings begin, and what is nothing but a number.
#: So much is read of a file of values: what has no end, such as a device, is not read until there is no memory.
_LARGEST_BYTES = 256 * 1024 * 1024
_LIKE_JSON = re.compile(r"""\s*([{\["]|-?\d[\d.]*([eE][+-]?\d*)?\s*$)""")


def of_run(ports: Iterable[definition.Port], pairs: Iterable[str], file: str | None) -> dict[str, Json]:
    """The inputs of a run: those of the file, then the pairs, which win."""
    values = from_file(file) if file else {}
    values.update(from_pairs(pairs, {port.name: port.schema for port in ports}))
    return values


def from_file(file: str) -> dict[str, Json]:
    """The JSON object in `file`; `-` is standard input."""
    text = sys.stdin.buffer.read() if file == "-" else _read(Path(file))
    value = outside.loads(text)
    if not isinstance(value, Mapping):
        raise errors.InvalidInput(
            f"{file} holds {kind_of(value)}, not an object", code="INPUT_INVALID", hint='write {"name": value, …}'
        )
    return dict(value)


def from_pairs(pairs: Iterable[str], schemas: Mapping[str, JsonObject]) -> dict[str, Json]:
    """`k=v` pairs; the schema of `k`, where known, says whether `v` is text or JSON."""
    values: dict[str, Json] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise errors.InvalidInput(
                f"{pair!r} is not of the form name=value", code="USAGE", hint="for example topic=bees"
            )
        if name in values:
            raise errors.InvalidInput(f"{name} is given twice", code="USAGE")
        values[name] = _value(name, text, schemas.get(name, {}))
    return values


def contexts(pairs: Iterable[str]) -> dict[str, Json]:
    """`k=v` and `k=@file` pairs: texts, and of a file that ends in `.json`, as of the project's own, its value."""
    listed = list(pairs)
    schemas: dict[str, JsonObject] = {}
    for name, _, text in (pair.partition("=") for pair in listed):
        is_file = text.startswith("@") and not text.startswith("@@")
        schemas[name] = _JSON_FILE if is_file and text.endswith(".json") else {"type": "string"}
    return from_pairs(listed, schemas)


def parse(name: str, text: str, schema: JsonObject) -> Json:
    """`text` as a value that `schema` asks for: as it is when a string is wanted, else JSON."""
    if wants_text(schema):
        return canonical.admit(text)
    try:
        return outside.loads(text)
    except errors.InvalidInput as error:
        if error.code != "JSON_INVALID":
            raise errors.InvalidInput(f"{name}: {error.message}", code=error.code, hint=error.hint) from error
        if _takes_text(text, schema):
            return canonical.admit(text)
        raise errors.InvalidInput(
            f"{name}: {error.message}", code="INPUT_INVALID", hint=f"{name} wants {describe(schema)}, written as JSON"
        ) from error


def wants_text(schema: JsonObject) -> bool:
    """Whether only strings fit."""
    choices = schema.get("enum")
    if isinstance(choices, list | tuple) and choices:
        return all(isinstance(choice, str) for choice in choices)
    return schema.get("type") == "string"


def describe(schema: JsonObject) -> str:
    """The type a schema asks for, in a word or two."""
    choices = schema.get("enum")
    if isinstance(choices, list | tuple):
        return "one of " + ", ".join(map(str, choices)) if choices else "no value (the enum is empty)"
    wanted = schema.get("type")
    if wanted == "array":
        items = schema.get("items")
        inner = describe(items) if isinstance(items, Mapping) and items else ""
        return f"{inner}[]" if inner else "array"
    if isinstance(wanted, list | tuple):
        return " or ".join(map(str, wanted))
    return str(wanted) if wanted else "any JSON"


def kind_of(value: Json) -> str:
    """What a JSON value is, in a word."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case Mapping():
            return "an object"
        case _:
            return "a list"


def _value(name: str, text: str, schema: JsonObject) -> Json:
    if text.startswith("@@"):
        return parse(name, text[1:], schema)
    if not text.startswith("@"):
        return parse(name, text, schema)
    data = _read(Path(text[1:]))
    try:
        return parse(name, data.decode(), schema)
    except UnicodeDecodeError as error:
        raise errors.InvalidInput(f"{name}: {text[1:]} is not UTF-8 text", code="INPUT_INVALID") from error


def _takes_text(text: str, schema: JsonObject) -> bool:
    """Whether what is not JSON is meant as a text: where any JSON fits, what begins like JSON is a broken document."""
    wanted = schema.get("type")
    if wanted is None:
        return not _LIKE_JSON.match(text)
    return isinstance(wanted, list | tuple) and "string" in wanted


def _read(path: Path) -> bytes:
    try:
        data = files.read_given(path, _LARGEST_BYTES)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise errors.InvalidInput(f"cannot read {path}: {reason}", code="FILE_UNREADABLE") from error
    if len(data) > _LARGEST_BYTES:
        raise errors.InvalidInput(f"{path} is larger than {_LARGEST_BYTES} bytes", code="FILE_TOO_LARGE")
    return data
