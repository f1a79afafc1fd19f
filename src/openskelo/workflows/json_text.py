"""JSON text to a value and its spots, without recursion, so that depth and duplicate keys are met where they stand."""

from __future__ import annotations

import json
import re
from typing import cast

from openskelo.frozen import field, mutable
from openskelo.kernel.json import Json
from openskelo.workflows import scalars, spots, yaml_text

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:(?P<mark>[\[\]{},:])|(?P<text>"(?:[^"\\\x00-\x1f]|\\.)*")"""
    r"""|(?P<word>[^\s\[\]{},:"]+)|(?P<bad>\S)|\Z)""",
    re.DOTALL,
)
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")


@mutable
class _Open:
    spot: spots.Spot
    entries: dict[str, Json] | None = None
    elements: list[Json] | None = None
    key: str | None = None
    wants: str = "first"


@mutable
class _State:
    text: str
    starts: list[int]
    line: int = 0
    stack: list[_Open] = field(default_factory=list[_Open])
    result: yaml_text.Built | None = None


def read(text: str) -> yaml_text.Built:
    """The JSON value of `text`; raises Trouble at the first thing wrong."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    state = _State(text=text, starts=starts)
    at = 0
    while True:
        token = _TOKEN.match(text, at)
        if token is None or token.lastgroup is None:
            break
        start = token.start(token.lastgroup)
        _piece(state, token.lastgroup, token.group(token.lastgroup), _spot(state, start))
        at = token.end()
    if state.stack or state.result is None:
        end = _spot(state, len(text))
        if not text.strip():
            raise yaml_text.Trouble("EMPTY", "the file is empty", (1, 1))
        raise yaml_text.Trouble("JSON_INVALID", "the text ends too early", (end.line, end.column))
    return state.result


def _spot(state: _State, index: int) -> spots.Spot:
    while state.line + 1 < len(state.starts) and state.starts[state.line + 1] <= index:
        state.line += 1
    return spots.Spot(line=state.line + 1, column=index - state.starts[state.line] + 1)


def _piece(state: _State, group: str, piece: str, spot: spots.Spot) -> None:
    if state.result is not None:
        raise _invalid("nothing may follow the value", spot)
    if group == "mark":
        _mark(state, piece, spot)
    elif group == "text":
        _text(state, piece, spot)
    elif group == "word":
        _value(state, yaml_text.Built(value=_word(piece, spot), spot=spot))
    else:
        raise _invalid("a text that is not closed, or a character that means nothing here", spot)


def _mark(state: _State, piece: str, spot: spots.Spot) -> None:
    top = state.stack[-1] if state.stack else None
    if piece in "[{":
        _expect_value(top, spot)
        if len(state.stack) >= yaml_text.DEEPEST:
            raise yaml_text.Trouble("TOO_DEEP", f"nested deeper than {yaml_text.DEEPEST} levels", _at(spot))
        opened = _Open(spot=spot)
        if piece == "{":
            opened.entries, spot.keys, spot.values = {}, {}, {}
        else:
            opened.elements, spot.items = [], []
        state.stack.append(opened)
    elif piece in "]}" and top is not None and (piece == "}") == (top.entries is not None):
        _close(state, top, spot)
    elif piece == "," and top is not None and top.wants == "comma":
        top.wants = "key" if top.entries is not None else "value"
    elif piece == ":" and top is not None and top.wants == "colon":
        top.wants = "value"
    else:
        raise _invalid(f"unexpected {piece!r}", spot)


def _close(state: _State, top: _Open, spot: spots.Spot) -> None:
    if top.wants not in ("first", "comma"):
        raise _invalid("something is missing before this", spot)
    state.stack.pop()
    value: Json = top.entries if top.entries is not None else top.elements
    _value(state, yaml_text.Built(value=value, spot=top.spot))


def _text(state: _State, piece: str, spot: spots.Spot) -> None:
    try:
        value = str(json.loads(piece))
    except ValueError:
        raise _invalid("a text with an escape that JSON does not know", spot) from None
    if _SURROGATE.search(value):
        raise yaml_text.Trouble("TEXT_INVALID", "a text with half a surrogate pair", _at(spot))
    top = state.stack[-1] if state.stack else None
    if top is not None and top.entries is not None and top.wants in ("first", "key"):
        if value in top.entries:
            raise yaml_text.Trouble("DUPLICATE_KEY", f"the key {value[:60]!r} stands here twice", _at(spot))
        top.key, top.wants = value, "colon"
        cast("dict[str, spots.Spot]", top.spot.keys)[value] = spot
        return
    if piece[1:-1] == value:
        spot.text_line, spot.text_column = spot.line, spot.column + 1
    _value(state, yaml_text.Built(value=value, spot=spot))


def _word(piece: str, spot: spots.Spot) -> Json:
    if piece in _WORDS:
        return _WORDS[piece]
    if not _NUMBER.match(piece):
        raise _invalid(f"{piece[:40]!r} is not JSON", spot)
    value = scalars.number(piece)
    if isinstance(value, scalars.Bad):
        raise yaml_text.Trouble(value.code, value.message, _at(spot), value.hint)
    return value


def _value(state: _State, built: yaml_text.Built) -> None:
    if not state.stack:
        state.result = built
        return
    top = state.stack[-1]
    if built.spot.values is None and built.spot.items is None:
        _expect_value(top, built.spot)
    if top.elements is not None:
        top.elements.append(built.value)
        cast("list[spots.Spot]", top.spot.items).append(built.spot)
    else:
        key = cast("str", top.key)
        cast("dict[str, Json]", top.entries)[key] = built.value
        cast("dict[str, spots.Spot]", top.spot.values)[key] = built.spot
    top.wants = "comma"


def _expect_value(top: _Open | None, spot: spots.Spot) -> None:
    if top is None or top.wants == "value" or (top.wants == "first" and top.elements is not None):
        return
    raise _invalid("a value stands where none may", spot)


def _at(spot: spots.Spot) -> tuple[int, int]:
    return spot.line, spot.column


def _invalid(message: str, spot: spots.Spot) -> yaml_text.Trouble:
    return yaml_text.Trouble("JSON_INVALID", message, _at(spot))
