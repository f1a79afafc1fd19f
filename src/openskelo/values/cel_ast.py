"""Reads the syntax tree of a checked CEL expression from its serialised form (`cel.expr.CheckedExpr`).

The library compiles and evaluates but does not show the tree, and the protobuf package would be a heavy dependency for
seven small messages; their wire format is stable by design.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A literal; `size` is the length of its text or bytes, 1 for anything else. `text` is None unless it is text."""

    size: int
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A variable: a declared one (perhaps dotted, `inputs.title`) or one of a comprehension."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """`operand.field`; a `test` only asks whether it is there."""

    operand: Node
    field: str
    test: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function or operator; a method's target is its first argument."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A list or map literal; `items` are the elements, or the keys and values."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comprehension:
    """A macro (`all`, `map`, `cel.bind`, …) after expansion."""

    variables: tuple[str, ...]
    items: Node
    accumulator: str
    initial: Node
    condition: Node
    step: Node
    result: Node


Node: TypeAlias = "Constant | Name | Field | Call | Group | Comprehension"

_Message: TypeAlias = "list[tuple[int, int | bytes]]"


def read(data: bytes) -> Node:
    """The tree of the serialised expression `data` (an `Any` that holds the checked expression)."""
    return _node(_one(_fields(_one(_fields(data), 2)), 4))


def walk(node: Node) -> Iterator[Node]:
    """`node` and everything below it."""
    yield node
    for child in _children(node):
        yield from walk(child)


def _children(node: Node) -> tuple[Node, ...]:
    match node:
        case Constant() | Name():
            return ()
        case Field():
            return (node.operand,)
        case Call():
            return node.arguments
        case Group():
            return node.items
        case Comprehension():
            return (node.items, node.initial, node.condition, node.step, node.result)


def _node(data: bytes) -> Node:
    message = _fields(data)
    for field, content in message:
        if field < 3 or isinstance(content, int):
            continue
        body = _fields(content)
        match field:
            case 3:
                return _constant(body)
            case 4:
                return Name(name=_text(body, 1))
            case 5:
                return Field(operand=_node(_one(body, 1)), field=_text(body, 2), test=bool(_number(body, 3)))
            case 6:
                targets = [_node(item) for item in _all(body, 1)]
                arguments = [_node(item) for item in _all(body, 3)]
                return Call(function=_text(body, 2), arguments=(*targets, *arguments))
            case 7:
                return Group(items=tuple(_node(item) for item in _all(body, 1)))
            case 8:
                entries = [_fields(item) for item in _all(body, 2)]
                parts = [part for entry in entries for number in (3, 4) for part in _all(entry, number)]
                return Group(items=tuple(_node(part) for part in parts))
            case 9:
                return _comprehension(body)
            case _:
                continue
    return Constant(size=1)


def _constant(body: _Message) -> Constant:
    for field, content in body:
        if isinstance(content, bytes):
            return Constant(size=len(content), text=content.decode() if field == 6 else None)
    return Constant(size=1)


def _comprehension(body: _Message) -> Comprehension:
    names = [_text(body, 1), _text(body, 8)]
    return Comprehension(
        variables=tuple(name for name in names if name),
        items=_node(_one(body, 2)),
        accumulator=_text(body, 3),
        initial=_node(_one(body, 4)),
        condition=_node(_one(body, 5)),
        step=_node(_one(body, 6)),
        result=_node(_one(body, 7)),
    )


def _fields(data: bytes) -> _Message:
    """The fields of a protobuf message in wire order: number and content (an int for varints and fixed widths)."""
    found: _Message = []
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        match tag & 7:
            case 0:
                content, at = _varint(data, at)
            case 2:
                length, at = _varint(data, at)
                content = data[at : at + length]
                at += length
            case kind:
                width = 8 if kind == 1 else 4
                content = int.from_bytes(data[at : at + width], "little")
                at += width
        found.append((tag >> 3, content))
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _all(message: _Message, field: int) -> list[bytes]:
    return [content for number, content in message if number == field and isinstance(content, bytes)]


def _one(message: _Message, field: int) -> bytes:
    return next(iter(_all(message, field)), b"")


def _text(message: _Message, field: int) -> str:
    return _one(message, field).decode()


def _number(message: _Message, field: int) -> int:
    return next((content for number, content in message if number == field and isinstance(content, int)), 0)
