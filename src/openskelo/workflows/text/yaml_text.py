"""YAML text to a JSON value and its positions, from the C parser's events.

Located from events and not by a composer: the depth is bounded before anything recurses, and every oddity of YAML
(tags, merge keys, keys that are no texts, aliases that loop or explode) is met where it stands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Protocol, cast

import yaml

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.structs import field, frozen, mutable
from openskelo.values import canonical
from openskelo.workflows.text.positions import Located, Position, TextError

MAX_DEPTH = 64
_MAX_NODES = 500_000
#: Hints for the most common mistakes, by a part of the parser's message.
_HINTS = (
    ("while parsing a flow", "close the bracket, or quote a text that contains one, such as 'integer[]'"),
    ("mapping values are not allowed", "quote a text that contains a colon and a space"),
    ("did not find expected key", "quote the whole text if it begins with a quote, and check the indentation"),
)

_CONSTANTS: dict[str, Json] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_NUMBER_STARTS = frozenset("0123456789+-.")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_LEADING_ZEROS = re.compile(r"[-+]?0[0-9]+\Z")
_HEX_OR_OCTAL = re.compile(r"0(?:x[0-9a-fA-F]+|o[0-7]+)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
_QUOTE = "quote it to make it a text"
# No longer number is in range: the largest double has 309 decimal or 342 octal digits.
_MAX_CHARACTERS = 350


class _Mark(Protocol):
    line: int
    column: int
    index: int


@mutable
class _Container:
    """A list or map that is not closed yet."""

    position: Position
    anchor: str | None
    entries: dict[str, Json] | None = None
    elements: list[Json] | None = None
    #: The key of the map whose value comes next.
    key: tuple[str, Position] | None = None


@mutable
class _Reader:
    text: str
    containers: list[_Container] = field(default_factory=list[_Container])
    anchors: dict[str, Located] = field(default_factory=dict[str, Located])
    open_anchors: set[str] = field(default_factory=set[str])
    result: Located | None = None
    documents: int = 0


def read(text: str) -> Located:
    """Return the one document of `text`; raise TextError at the first thing that cannot be JSON."""
    reader = _Reader(text=text)
    try:
        for event in _events(text):
            _handle_event(reader, event)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text) from None
    except yaml.YAMLError as error:
        raise TextError("YAML_INVALID", str(error).splitlines()[0], (1, 1)) from None
    if reader.result is None:
        raise TextError("EMPTY", "the file is empty", (1, 1))
    return reader.result


def _syntax_error(error: yaml.MarkedYAMLError, text: str) -> TextError:
    """Return the parser's error with its position, and with the character, which the parser does not name."""
    mark = error.problem_mark or error.context_mark
    place = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
    character = ""
    if mark is not None:
        lines = text.split("\n")[mark.line : mark.line + 1]
        character = "".join(lines)[mark.column : mark.column + 1]
    if character == "\t":
        return TextError("YAML_INVALID", "YAML does not allow a tab here", place, "indent with spaces")
    reasons = ", ".join(reason for reason in (error.context, error.problem) if reason)
    if character and "cannot start any token" in reasons:
        return TextError("YAML_INVALID", f"a value cannot begin with {character!r}", place, "quote the text")
    hint = next((hint for words, hint in _HINTS if words in reasons), None)
    return TextError("YAML_INVALID", reasons or "this is not YAML", place, hint)


def _events(text: str) -> Iterator[object]:
    parse = cast("Callable[..., Iterator[object]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType] - untyped stub
    return parse(text, Loader=yaml.CSafeLoader)


def _handle_event(reader: _Reader, event: object) -> None:
    match event:
        case yaml.ScalarEvent():
            _add_scalar(reader, event)
        case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
            _open_container(reader, event)
        case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
            _close_container(reader)
        case yaml.AliasEvent():
            _add_alias(reader, event)
        case yaml.DocumentStartEvent():
            reader.documents += 1
            if reader.documents > 1:
                raise TextError("MULTIPLE_DOCUMENTS", "a file must hold a single document", _place(event.start_mark))
        case _:
            pass  # start and end of the stream, end of the document


def _add_scalar(reader: _Reader, event: yaml.ScalarEvent) -> None:
    position = _position(event.start_mark)
    _refuse_tag(event, position)
    text: str = event.value
    is_quoted = bool(event.style)
    if _expects_key(reader):
        _add_key(reader, text, is_quoted, position)
        return
    value: Json | BadNumber = text if is_quoted else parse_scalar(text)
    if isinstance(value, BadNumber):
        raise TextError(value.code, value.message, (position.line, position.column), value.hint)
    if isinstance(value, str):
        _locate_text(reader, event, position)
    node = Located(value=value, position=position)
    if event.anchor is not None:
        reader.anchors[event.anchor] = node
    _add(reader, node)


def _add_key(reader: _Reader, text: str, quoted: bool, position: Position) -> None:
    place = (position.line, position.column)
    if not quoted:
        if text == "<<":
            raise TextError("MERGE_KEY", "merge keys (<<) are not supported", place, "write the keys out")
        value = parse_scalar(text)
        if not isinstance(value, str):
            raise TextError("KEY_NOT_TEXT", f"a key must be a text, not {text[:40] or 'empty'}", place, "quote it")
    top = reader.containers[-1]
    assert top.entries is not None  # noqa: S101 - `_expects_key` has checked it
    if text in top.entries:
        raise TextError("DUPLICATE_KEY", f"the key {text[:60]!r} appears twice in this map", place)
    top.key = (text, position)


def _open_container(reader: _Reader, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
    position = _position(event.start_mark)
    _refuse_tag(event, position)
    if _expects_key(reader):
        hint = "quote a text that begins with { or ["
        raise TextError(
            "KEY_NOT_TEXT", "a key must be a text, not a list or a map", (position.line, position.column), hint
        )
    if len(reader.containers) >= MAX_DEPTH:
        raise TextError("TOO_DEEP", f"nested deeper than {MAX_DEPTH} levels", (position.line, position.column))
    if event.anchor is not None:
        reader.anchors.pop(event.anchor, None)
        reader.open_anchors.add(event.anchor)
    container = _Container(position=position, anchor=event.anchor)
    if isinstance(event, yaml.MappingStartEvent):
        container.entries, position.keys, position.values = {}, {}, {}
    else:
        container.elements, position.items = [], []
    reader.containers.append(container)


def _close_container(reader: _Reader) -> None:
    container = reader.containers.pop()
    value: Json = container.entries if container.entries is not None else container.elements
    node = Located(value=value, position=container.position)
    if container.anchor is not None:
        reader.open_anchors.discard(container.anchor)
        reader.anchors[container.anchor] = node
    _add(reader, node)


def _add_alias(reader: _Reader, event: yaml.AliasEvent) -> None:
    place = _place(event.start_mark)
    name: str = event.anchor or ""
    if _expects_key(reader):
        raise TextError("KEY_NOT_TEXT", "a key must be a text, not an alias", place)
    if name in reader.open_anchors:
        raise TextError("ALIAS_LOOP", f"the alias *{name} is inside the value that it refers to", place)
    if name not in reader.anchors:
        raise TextError("ALIAS_UNKNOWN", f"there is no anchor &{name} before this alias", place)
    node = reader.anchors[name]
    if len(reader.containers) + node.position.depth > MAX_DEPTH:
        raise TextError("TOO_DEEP", f"nested deeper than {MAX_DEPTH} levels", place)
    _add(reader, node)
    if reader.containers[-1].position.nodes > _MAX_NODES:
        raise TextError("ALIAS_EXPLODES", f"aliases expand to more than {_MAX_NODES} values", place)


def _add(reader: _Reader, located: Located) -> None:
    if not reader.containers:
        reader.result = located
        return
    top = reader.containers[-1]
    top.position.nodes += located.position.nodes
    top.position.depth = max(top.position.depth, located.position.depth + 1)
    if top.elements is not None:
        top.elements.append(located.value)
        cast("list[Position]", top.position.items).append(located.position)
        return
    key, position = cast("tuple[str, Position]", top.key)
    cast("dict[str, Json]", top.entries)[key] = located.value
    cast("dict[str, Position]", top.position.keys)[key] = position
    cast("dict[str, Position]", top.position.values)[key] = located.position
    top.key = None


def _expects_key(reader: _Reader) -> bool:
    return bool(reader.containers) and reader.containers[-1].entries is not None and reader.containers[-1].key is None


def _refuse_tag(event: yaml.ScalarEvent | yaml.MappingStartEvent | yaml.SequenceStartEvent, position: Position) -> None:
    if event.tag is not None:
        tag = str(event.tag).removeprefix("tag:yaml.org,2002:")
        hint = "remove the tag; quote a value to make it a text"
        raise TextError("TAG", f"the tag {tag[:40]!r} is not supported", (position.line, position.column), hint)


def _locate_text(reader: _Reader, event: yaml.ScalarEvent, position: Position) -> None:
    """Note where the characters of a string begin, if the file spells them as they are."""
    start = cast("_Mark", event.start_mark)
    raw = reader.text[start.index : cast("_Mark", event.end_mark).index]
    if event.style == "|":
        _locate_block(raw, start, position)
        return
    skip = 1 if event.style in ("'", '"') else 0
    if raw[skip : len(raw) - skip] == event.value:
        position.text_line, position.text_column = start.line + 1, start.column + 1 + skip


def _locate_block(raw: str, start: _Mark, position: Position) -> None:
    for offset, line in enumerate(raw.split("\n")[1:], start=1):
        if line.strip():
            if offset == 1:  # empty first lines belong to the string and would shift it
                position.text_line = start.line + 2
                position.indent = position.text_column = len(line) - len(line.lstrip(" ")) + 1
            return


def _place(mark: object) -> tuple[int, int]:
    start = cast("_Mark", mark)
    return start.line + 1, start.column + 1


def _position(mark: object) -> Position:
    line, column = _place(mark)
    return Position(line=line, column=column)


@frozen
class BadNumber:
    """The error of a scalar that looks like a number and cannot be used as one."""

    code: str
    message: str
    hint: str


def parse_scalar(text: str) -> Json | BadNumber:
    """Return the value of an unquoted scalar, or why it cannot be used."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    return parse_number(text)


def parse_number(text: str) -> Json | BadNumber:
    """Return the number that `text` spells, the text itself when it is not a number, or why it cannot be used."""
    if _INTEGER.match(text):
        return _integer(text)
    if _LEADING_ZEROS.match(text):
        return BadNumber(
            code="NUMBER_AMBIGUOUS", message=f"{text[:40]} has leading zeros", hint="quote it to make it a text"
        )
    if _HEX_OR_OCTAL.match(text):
        if len(text) < _MAX_CHARACTERS:
            return _admit(int(text, 0), text)
        return _out_of_range(text)
    if _FLOAT.match(text):
        return _float(text)
    if _NOT_FINITE.match(text):
        return BadNumber(
            code="NUMBER_INVALID", message=f"{text} is not a JSON number", hint="quote it to make it a text"
        )
    return text


def _integer(text: str) -> Json | BadNumber:
    if len(text) < _MAX_CHARACTERS:
        return _admit(int(text), text)
    return _out_of_range(text)


def _admit(value: int, text: str) -> Json | BadNumber:
    try:
        return canonical.admit(value)
    except errors.InvalidInput as error:
        return BadNumber(code=error.code, message=f"{_shorten(text)}: {error.message}", hint=error.hint or "")


def _float(text: str) -> Json | BadNumber:
    value = float(text)
    if math.isfinite(value):
        return canonical.admit(value)
    return _out_of_range(text)


def _out_of_range(text: str) -> BadNumber:
    return BadNumber(code="NUMBER_RANGE", message=f"{_shorten(text)} is larger than any double", hint="use a string")


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "…"
