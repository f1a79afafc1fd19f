"""Where each value of a document stands in its text: a tree of spots beside the tree of values."""

from __future__ import annotations

from openskelo.frozen import field, mutable

Path = tuple[str | int, ...]


@mutable
class Spot:
    """The place of one value; `line` and `column` count from 1.

    `text_line`, `text_column` are where the characters of a string begin in the file, when they stand there as they
    are (None with escapes or folding); `indent` is the column at which the following lines of a block text begin.
    """

    line: int
    column: int
    keys: dict[str, Spot] | None = None
    values: dict[str, Spot] | None = None
    items: list[Spot] | None = None
    text_line: int | None = None
    text_column: int = 1
    indent: int = 1
    nodes: int = 1
    depth: int = field(default=0)


def locate(root: Spot | None, path: Path) -> tuple[int, int]:
    """Line and column of the value under `path`, or of the nearest value around it."""
    spot = _walk(root, path)
    return (1, 1) if spot is None else (spot.line, spot.column)


def locate_key(root: Spot | None, path: Path) -> tuple[int, int]:
    """Line and column of the last key of `path`."""
    if not path:
        return locate(root, path)
    parent = _walk(root, path[:-1])
    key = path[-1]
    if parent is not None and parent.keys is not None and isinstance(key, str) and key in parent.keys:
        spot = parent.keys[key]
        return spot.line, spot.column
    return locate(root, path)


def locate_within(root: Spot | None, path: Path, position: tuple[int, int] | None) -> tuple[int, int]:
    """Line and column in the file of a position (from 1) inside the text under `path`; else of the text itself."""
    spot = _walk(root, path)
    if spot is None:
        return (1, 1)
    if position is None or spot.text_line is None:
        return spot.line, spot.column
    line, column = position
    first = spot.text_column if line == 1 else spot.indent
    return spot.text_line + line - 1, first + column - 1


def _walk(root: Spot | None, path: Path) -> Spot | None:
    spot = root
    for part in path:
        below = None if spot is None else _child(spot, part)
        if below is None:
            return spot
        spot = below
    return spot


def _child(spot: Spot, part: str | int) -> Spot | None:
    if isinstance(part, str):
        return None if spot.values is None else spot.values.get(part)
    if spot.items is None or part >= len(spot.items):
        return None
    return spot.items[part]
