"""YAML text to a JSON value and its spots, from the C parser's events.

Built from events and not by a composer: the depth is bounded before anything recurses, and every oddity of YAML
(tags, merge keys, keys that are no texts, aliases that loop or explode) is met where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, cast

import yaml

from openskelo.frozen import field, frozen, mutable
from openskelo.kernel.json import Json
from openskelo.workflows import scalars, spots

DEEPEST = 64
MOST_NODES = 500_000


#: What has most often been meant where YAML reads something else, by words of the parser.
_HINTS = (
    ("while parsing a flow", "close the bracket, or quote a text that has one in it, such as 'integer[]'"),
    ("mapping values are not allowed", "quote a text that has a colon and a blank in it"),
    ("did not find expected key", "quote the whole of a text that begins with a quote, and look at the indentation"),
)


class Trouble(Exception):
    """The text cannot be read any further."""

    def __init__(self, code: str, message: str, place: tuple[int, int], hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place
        self.hint = hint


@frozen
class Built:
    """A value beside its spot."""

    value: Json
    spot: spots.Spot


class _Mark(Protocol):
    line: int
    column: int
    index: int


@mutable
class _Open:
    """A list or map whose end has not been met; `key` is the map's key that waits for its value."""

    spot: spots.Spot
    anchor: str | None
    entries: dict[str, Json] | None = None
    elements: list[Json] | None = None
    key: tuple[str, spots.Spot] | None = None


@mutable
class _State:
    text: str
    stack: list[_Open] = field(default_factory=list[_Open])
    anchors: dict[str, Built] = field(default_factory=dict[str, Built])
    open_anchors: set[str] = field(default_factory=set[str])
    result: Built | None = None
    documents: int = 0


def read(text: str) -> Built:
    """The one document of `text`; raises Trouble at the first thing that cannot be JSON."""
    state = _State(text=text)
    try:
        for event in _events(text):
            _take(state, event)
    except yaml.MarkedYAMLError as error:
        raise _invalid(error, text) from None
    except yaml.YAMLError as error:
        raise Trouble("YAML_INVALID", str(error).splitlines()[0], (1, 1)) from None
    if state.result is None:
        raise Trouble("EMPTY", "the file is empty", (1, 1))
    return state.result


def _invalid(error: yaml.MarkedYAMLError, text: str) -> Trouble:
    """What is wrong, and where; the parser's words do not say which character it stumbles over."""
    mark = error.problem_mark or error.context_mark
    place = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
    found = "" if mark is None else "".join(text.split("\n")[mark.line : mark.line + 1])[mark.column : mark.column + 1]
    if found == "\t":
        return Trouble("YAML_INVALID", "a tab, where YAML wants spaces", place, "indent with spaces")
    reasons = ", ".join(reason for reason in (error.context, error.problem) if reason)
    if found and "cannot start any token" in reasons:
        return Trouble("YAML_INVALID", f"{found!r} cannot begin a value here", place, "quote the text")
    hint = next((hint for words, hint in _HINTS if words in reasons), None)
    return Trouble("YAML_INVALID", reasons or "this is not YAML", place, hint)


def _events(text: str) -> Iterator[object]:
    parse = cast("Callable[..., Iterator[object]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType] - untyped stub
    return parse(text, Loader=yaml.CSafeLoader)


def _take(state: _State, event: object) -> None:
    match event:
        case yaml.ScalarEvent():
            _scalar(state, event)
        case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
            _start(state, event)
        case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
            _end(state)
        case yaml.AliasEvent():
            _alias(state, event)
        case yaml.DocumentStartEvent():
            state.documents += 1
            if state.documents > 1:
                raise Trouble("MULTIPLE_DOCUMENTS", "a file holds one document", _place(event.start_mark))
        case _:
            pass  # the stream's start and end, a document's end: nothing to keep


def _scalar(state: _State, event: yaml.ScalarEvent) -> None:
    spot = _spot(event.start_mark)
    _no_tag(event, spot)
    text: str = event.value
    quoted = bool(event.style)
    if _wants_key(state):
        _key(state, text, quoted, spot)
        return
    value: Json | scalars.Bad = text if quoted else scalars.plain(text)
    if isinstance(value, scalars.Bad):
        raise Trouble(value.code, value.message, (spot.line, spot.column), value.hint)
    if isinstance(value, str):
        _place_text(state, event, spot)
    built = Built(value=value, spot=spot)
    if event.anchor is not None:
        state.anchors[event.anchor] = built
    _add(state, built)


def _key(state: _State, text: str, quoted: bool, spot: spots.Spot) -> None:
    place = (spot.line, spot.column)
    if not quoted:
        if text == "<<":
            raise Trouble("MERGE_KEY", "merge keys (<<) are not supported", place, "write the keys out")
        value = scalars.plain(text)
        if not isinstance(value, str):
            raise Trouble(
                "KEY_NOT_TEXT", f"a key must be a text, and {text[:40] or 'this one'} is none", place, "quote it"
            )
    top = state.stack[-1]
    assert top.entries is not None  # noqa: S101 - `_wants_key` has looked
    if text in top.entries:
        raise Trouble("DUPLICATE_KEY", f"the key {text[:60]!r} stands here twice", place)
    top.key = (text, spot)


def _start(state: _State, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
    spot = _spot(event.start_mark)
    _no_tag(event, spot)
    if _wants_key(state):
        hint = "quote a text that begins with { or ["
        raise Trouble("KEY_NOT_TEXT", "a key must be a text, not a list or a map", (spot.line, spot.column), hint)
    if len(state.stack) >= DEEPEST:
        raise Trouble("TOO_DEEP", f"nested deeper than {DEEPEST} levels", (spot.line, spot.column))
    if event.anchor is not None:
        state.anchors.pop(event.anchor, None)
        state.open_anchors.add(event.anchor)
    opened = _Open(spot=spot, anchor=event.anchor)
    if isinstance(event, yaml.MappingStartEvent):
        opened.entries, spot.keys, spot.values = {}, {}, {}
    else:
        opened.elements, spot.items = [], []
    state.stack.append(opened)


def _end(state: _State) -> None:
    closed = state.stack.pop()
    value: Json = closed.entries if closed.entries is not None else closed.elements
    built = Built(value=value, spot=closed.spot)
    if closed.anchor is not None:
        state.open_anchors.discard(closed.anchor)
        state.anchors[closed.anchor] = built
    _add(state, built)


def _alias(state: _State, event: yaml.AliasEvent) -> None:
    place = _place(event.start_mark)
    name: str = event.anchor or ""
    if _wants_key(state):
        raise Trouble("KEY_NOT_TEXT", "a key must be a text, not an alias", place)
    if name in state.open_anchors:
        raise Trouble("ALIAS_LOOP", f"*{name} is inside of what it stands for", place)
    if name not in state.anchors:
        raise Trouble("ALIAS_UNKNOWN", f"nothing before this is marked &{name}", place)
    built = state.anchors[name]
    if len(state.stack) + built.spot.depth > DEEPEST:
        raise Trouble("TOO_DEEP", f"nested deeper than {DEEPEST} levels", place)
    _add(state, built)
    if state.stack[-1].spot.nodes > MOST_NODES:
        raise Trouble("ALIAS_EXPLODES", f"aliases make more than {MOST_NODES} values", place)


def _add(state: _State, built: Built) -> None:
    if not state.stack:
        state.result = built
        return
    top = state.stack[-1]
    top.spot.nodes += built.spot.nodes
    top.spot.depth = max(top.spot.depth, built.spot.depth + 1)
    if top.elements is not None:
        top.elements.append(built.value)
        cast("list[spots.Spot]", top.spot.items).append(built.spot)
        return
    key, spot = cast("tuple[str, spots.Spot]", top.key)
    cast("dict[str, Json]", top.entries)[key] = built.value
    cast("dict[str, spots.Spot]", top.spot.keys)[key] = spot
    cast("dict[str, spots.Spot]", top.spot.values)[key] = built.spot
    top.key = None


def _wants_key(state: _State) -> bool:
    return bool(state.stack) and state.stack[-1].entries is not None and state.stack[-1].key is None


def _no_tag(event: yaml.ScalarEvent | yaml.MappingStartEvent | yaml.SequenceStartEvent, spot: spots.Spot) -> None:
    if event.tag is not None:
        tag = str(event.tag).removeprefix("tag:yaml.org,2002:")
        hint = "leave the tag out; quote a value to make it a text"
        raise Trouble("TAG", f"the tag {tag[:40]!r} is not supported", (spot.line, spot.column), hint)


def _place_text(state: _State, event: yaml.ScalarEvent, spot: spots.Spot) -> None:
    """Note where the characters of a text begin, if they stand in the file as they are."""
    start = cast("_Mark", event.start_mark)
    raw = state.text[start.index : cast("_Mark", event.end_mark).index]
    if event.style == "|":
        _place_block(raw, start, spot)
        return
    skip = 1 if event.style in ("'", '"') else 0
    if raw[skip : len(raw) - skip] == event.value:
        spot.text_line, spot.text_column = start.line + 1, start.column + 1 + skip


def _place_block(raw: str, start: _Mark, spot: spots.Spot) -> None:
    for offset, line in enumerate(raw.split("\n")[1:], start=1):
        if line.strip():
            if offset == 1:  # empty first lines belong to the text and would shift it
                spot.text_line = start.line + 2
                spot.indent = spot.text_column = len(line) - len(line.lstrip(" ")) + 1
            return


def _place(mark: object) -> tuple[int, int]:
    known = cast("_Mark", mark)
    return known.line + 1, known.column + 1


def _spot(mark: object) -> spots.Spot:
    line, column = _place(mark)
    return spots.Spot(line=line, column=column)
