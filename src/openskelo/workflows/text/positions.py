"""The position of each value of a document in its text: a tree of positions beside the tree of values."""

from __future__ import annotations

from openskelo.kernel.json import Json
from openskelo.structs import frozen, mutable

Path = tuple[str | int, ...]


@mutable
class Position:
    """The position of one value, and of the values in it; lines and columns count from 1."""

    line: int
    column: int
    #: The positions of the keys of a map.
    keys: dict[str, Position] | None = None
    #: The positions of the values of a map.
    values: dict[str, Position] | None = None
    #: The positions of the items of a list.
    items: list[Position] | None = None
    #: The line where the characters of a string begin, so that a fault inside it can be located; None if the file
    #: spells the string differently (escapes, folding).
    text_line: int | None = None
    #: The column where they begin.
    text_column: int = 1
    #: The column at which the following lines of a block string begin.
    indent: int = 1
    #: The number of values in this one, aliases included.
    nodes: int = 1
    #: The depth of the values in this one.
    depth: int = 0


@frozen
class Located:
    """A value with its position."""

    value: Json
    position: Position


class TextError(Exception):
    """The text cannot be read any further; `place` is the line and column."""

    def __init__(self, code: str, message: str, place: tuple[int, int], hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place
        self.hint = hint


def locate(root: Position | None, path: Path) -> tuple[int, int]:
    """Return line and column of the value at `path`, or of the nearest value around it."""
    position = _find(root, path)
    if position is None:
        return (1, 1)
    return (position.line, position.column)


def locate_key(root: Position | None, path: Path) -> tuple[int, int]:
    """Return line and column of the last key of `path`."""
    if not path:
        return locate(root, path)
    parent = _find(root, path[:-1])
    key = path[-1]
    if parent is not None and parent.keys is not None and isinstance(key, str) and key in parent.keys:
        position = parent.keys[key]
        return position.line, position.column
    return locate(root, path)


def locate_within(root: Position | None, path: Path, inside: tuple[int, int] | None) -> tuple[int, int]:
    """Return line and column in the file of a place (from 1) inside the string at `path`; else of the string."""
    position = _find(root, path)
    if position is None:
        return (1, 1)
    if inside is None or position.text_line is None:
        return position.line, position.column
    line, column = inside
    first = position.text_column if line == 1 else position.indent
    return position.text_line + line - 1, first + column - 1


def _find(root: Position | None, path: Path) -> Position | None:
    position = root
    for part in path:
        below = None if position is None else _child(position, part)
        if below is None:
            return position
        position = below
    return position


def _child(position: Position, part: str | int) -> Position | None:
    if isinstance(part, str):
        if position.values is None:
            return None
        return position.values.get(part)
    if position.items is None or part >= len(position.items):
        return None
    return position.items[part]
