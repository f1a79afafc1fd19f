"""Read JSON text as a value with positions, token by token and without recursion.

The `json` module gives no positions, and takes the last of duplicate keys. Here depth, duplicate keys and numbers out
of range are refused at their position. `_Container.expects` is the reader of the open list or map.
"""

from __future__ import annotations

import json
import re
from typing import cast

from openskelo.kernel.json import Json
from openskelo.structs import field, mutable
from openskelo.workflows.text import yaml_text
from openskelo.workflows.text.positions import Located, Position, TextError

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:(?P<mark>[\[\]{},:])|(?P<text>"(?:[^"\\\x00-\x1f]|\\.)*")"""
    r"""|(?P<word>[^\s\[\]{},:"]+)|(?P<bad>\S)|\Z)""",
    re.DOTALL,
)
_CONSTANTS: dict[str, Json] = {"true": True, "false": False, "null": None}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")


@mutable
class _Container:
    position: Position
    entries: dict[str, Json] | None = None
    elements: list[Json] | None = None
    key: str | None = None
    expects: str = "first"


@mutable
class _Reader:
    text: str
    line_starts: list[int]
    line: int = 0
    containers: list[_Container] = field(default_factory=list[_Container])
    result: Located | None = None


def read(text: str) -> Located:
    """Return the JSON value of `text`; raise TextError at the first thing that is wrong."""
    line_starts = [0, *(newline.end() for newline in re.finditer("\n", text))]
    reader = _Reader(text=text, line_starts=line_starts)
    at = 0
    while True:
        token = _TOKEN.match(text, at)
        if token is None or token.lastgroup is None:
            break
        start = token.start(token.lastgroup)
        _handle_token(reader, token.lastgroup, token.group(token.lastgroup), _position(reader, start))
        at = token.end()
    if reader.containers or reader.result is None:
        end = _position(reader, len(text))
        if not text.strip():
            raise TextError("EMPTY", "the file is empty", (1, 1))
        raise TextError("JSON_INVALID", "the text ends too early", (end.line, end.column))
    return reader.result


def _position(reader: _Reader, index: int) -> Position:
    while reader.line + 1 < len(reader.line_starts) and reader.line_starts[reader.line + 1] <= index:
        reader.line += 1
    return Position(line=reader.line + 1, column=index - reader.line_starts[reader.line] + 1)


def _handle_token(reader: _Reader, group: str, piece: str, position: Position) -> None:
    if reader.result is not None:
        raise _invalid("nothing may follow the value", position)
    if group == "mark":
        _handle_mark(reader, piece, position)
    elif group == "text":
        _handle_text(reader, piece, position)
    elif group == "word":
        _add_value(reader, Located(value=_parse_word(piece, position), position=position))
    else:
        raise _invalid("an unclosed string, or a character that JSON does not allow here", position)


def _handle_mark(reader: _Reader, piece: str, position: Position) -> None:
    top = reader.containers[-1] if reader.containers else None
    if piece in "[{":
        _expect_value(top, position)
        if len(reader.containers) >= yaml_text.MAX_DEPTH:
            raise TextError("TOO_DEEP", f"nested deeper than {yaml_text.MAX_DEPTH} levels", _at(position))
        container = _Container(position=position)
        if piece == "{":
            container.entries, position.keys, position.values = {}, {}, {}
        else:
            container.elements, position.items = [], []
        reader.containers.append(container)
    elif piece in "]}" and top is not None and (piece == "}") == (top.entries is not None):
        _close_container(reader, top, position)
    elif piece == "," and top is not None and top.expects == "comma":
        top.expects = "key" if top.entries is not None else "value"
    elif piece == ":" and top is not None and top.expects == "colon":
        top.expects = "value"
    else:
        raise _invalid(f"unexpected {piece!r}", position)


def _close_container(reader: _Reader, top: _Container, position: Position) -> None:
    if top.expects not in ("first", "comma"):
        raise _invalid("something is missing before this", position)
    reader.containers.pop()
    value: Json = top.entries if top.entries is not None else top.elements
    _add_value(reader, Located(value=value, position=top.position))


def _handle_text(reader: _Reader, piece: str, position: Position) -> None:
    try:
        value = str(json.loads(piece))
    except ValueError:
        raise _invalid("a string with an escape that JSON does not have", position) from None
    if _SURROGATE.search(value):
        raise TextError("TEXT_INVALID", "a string with half a surrogate pair", _at(position))
    top = reader.containers[-1] if reader.containers else None
    if top is not None and top.entries is not None and top.expects in ("first", "key"):
        if value in top.entries:
            raise TextError("DUPLICATE_KEY", f"the key {value[:60]!r} appears twice in this object", _at(position))
        top.key, top.expects = value, "colon"
        cast("dict[str, Position]", top.position.keys)[value] = position
        return
    if piece[1:-1] == value:
        position.text_line, position.text_column = position.line, position.column + 1
    _add_value(reader, Located(value=value, position=position))


def _parse_word(piece: str, position: Position) -> Json:
    if piece in _CONSTANTS:
        return _CONSTANTS[piece]
    if not _NUMBER.match(piece):
        raise _invalid(f"{piece[:40]!r} is not JSON", position)
    value = yaml_text.parse_number(piece)
    if isinstance(value, yaml_text.BadNumber):
        raise TextError(value.code, value.message, _at(position), value.hint)
    return value


def _add_value(reader: _Reader, located: Located) -> None:
    if not reader.containers:
        reader.result = located
        return
    top = reader.containers[-1]
    if located.position.values is None and located.position.items is None:
        _expect_value(top, located.position)
    if top.elements is not None:
        top.elements.append(located.value)
        cast("list[Position]", top.position.items).append(located.position)
    else:
        key = cast("str", top.key)
        cast("dict[str, Json]", top.entries)[key] = located.value
        cast("dict[str, Position]", top.position.values)[key] = located.position
    top.expects = "comma"


def _expect_value(top: _Container | None, position: Position) -> None:
    if top is None or top.expects == "value" or (top.expects == "first" and top.elements is not None):
        return
    raise _invalid("a value is not allowed here", position)


def _at(position: Position) -> tuple[int, int]:
    return position.line, position.column


def _invalid(message: str, position: Position) -> TextError:
    return TextError("JSON_INVALID", message, _at(position))
