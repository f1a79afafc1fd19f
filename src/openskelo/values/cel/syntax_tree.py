"""The syntax tree of a compiled CEL expression, read from its serialised form (`cel.expr.CheckedExpr`).

The library does not show the tree, but it serialises a compiled expression as protobuf messages whose format is stable
by design. The few lines at the end of this module read and write that wire format; the protobuf package would be a
heavy dependency for six small messages.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from openskelo.structs import frozen


@frozen
class Constant:
    """A literal."""

    #: The length of its text or bytes, 1 for other types.
    size: int
    #: None unless it is text.
    text: str | None = None


@frozen
class Name:
    """A variable: a declared one (perhaps dotted, `inputs.title`) or one of a comprehension."""

    name: str


@frozen
class Field:
    """`operand.field`, or `has(operand.field)`."""

    operand: Node
    field: str
    #: It is `has(operand.field)`.
    test: bool
    #: Its place in the text, in characters.
    offset: int


@frozen
class Call:
    """A function or operator; a method's target is its first argument."""

    function: str
    arguments: tuple[Node, ...]


@frozen
class Group:
    """A list or map literal."""

    #: The elements, or the keys and values.
    items: tuple[Node, ...]


@frozen
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
#: The fields that are read of a value, with the fields that are read of those; None when all of it may be read.
Reads: TypeAlias = "dict[str, Reads] | None"


class ExprField(enum.IntEnum):
    """The field numbers of the message `Expr`: its id, and one field for each kind of node."""

    ID = 2
    CONSTANT = 3
    NAME = 4
    SELECT = 5
    CALL = 6
    LIST = 7
    STRUCT = 8
    COMPREHENSION = 9


def read(serialised: bytes) -> Node:
    """Return the tree of a serialised expression (an `Any` message that holds a `CheckedExpr`)."""
    checked_fields = decode(first_bytes(decode(serialised), 2))
    source_info = decode(first_bytes(checked_fields, 5))
    offsets: dict[int, int] = {}
    for entry in all_bytes(source_info, 4):
        node_id_and_offset = decode(entry)
        offsets[first_integer(node_id_and_offset, 1)] = first_integer(node_id_and_offset, 2)
    return _Reader(offsets=offsets).node(first_bytes(checked_fields, 4))


def walk(node: Node) -> Iterator[Node]:
    """Yield `node` and every node below it."""
    yield node
    for child in _children(node):
        yield from walk(child)


def free_names(node: Node) -> frozenset[str]:
    """Return the variables that `node` needs from outside: all it names except those of its own comprehensions."""
    match node:
        case Name(name=name):
            return frozenset({name})
        case Comprehension():
            inside = free_names(node.condition) | free_names(node.step)
            after = free_names(node.result) - {node.accumulator}
            outside = free_names(node.items) | free_names(node.initial)
            return outside | after | (inside - {*node.variables, node.accumulator})
        case _:
            return frozenset[str]().union(*map(free_names, _children(node)))


def find_reads(node: Node) -> dict[str, Reads]:
    """Return what `node` may read of each variable that it names."""
    reads: dict[str, Reads] = {}
    _add_reads(node, reads)
    return reads


def _add_reads(node: Node, reads: dict[str, Reads]) -> None:
    fields: list[str] = []  # from the last to the first: `a.b.c` is Field(Field(a, b), c)
    base = node
    while isinstance(base, Field):
        fields.append(base.field)
        base = base.operand
    if not isinstance(base, Name):
        for child in _children(base):
            _add_reads(child, reads)
        return
    *parents, last = (base.name, *reversed(fields))
    inner = reads
    for part in parents:
        deeper = inner.setdefault(part, {})
        if deeper is None:  # another part of the expression reads all of it
            return
        inner = deeper
    inner[last] = None


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


@frozen
class _Reader:
    """Turns `Expr` messages into nodes."""

    #: The positions of nodes in the text, by the id of the node.
    offsets: Mapping[int, int]

    def node(self, data: bytes) -> Node:
        message = decode(data)
        node_id = first_integer(message, ExprField.ID)
        for field in message:
            if field.number >= ExprField.CONSTANT and isinstance(field.content, bytes):
                return self._node_of_kind(field.number, decode(field.content), node_id)
        return Constant(size=1)

    def _node_of_kind(self, kind: int, body: Message, node_id: int) -> Node:
        match kind:
            case ExprField.NAME:
                return Name(name=first_text(body, 1))
            case ExprField.SELECT:
                return Field(
                    operand=self.node(first_bytes(body, 1)),
                    field=first_text(body, 2),
                    test=bool(first_integer(body, 3)),
                    offset=self.offsets.get(node_id, 0),
                )
            case ExprField.CALL:
                target, arguments = self._nodes(body, 1), self._nodes(body, 3)
                return Call(function=first_text(body, 2), arguments=(*target, *arguments))
            case ExprField.LIST:
                return Group(items=self._nodes(body, 1))
            case ExprField.STRUCT:
                items: list[Node] = []
                for entry in map(decode, all_bytes(body, 2)):
                    items += [*self._nodes(entry, 3), *self._nodes(entry, 4)]
                return Group(items=tuple(items))
            case ExprField.COMPREHENSION:
                return self._comprehension(body)
            case _:
                return _constant(body)

    def _nodes(self, body: Message, number: int) -> tuple[Node, ...]:
        return tuple(self.node(item) for item in all_bytes(body, number))

    def _comprehension(self, body: Message) -> Comprehension:
        names = [first_text(body, 1), first_text(body, 8)]
        return Comprehension(
            variables=tuple(name for name in names if name),
            items=self.node(first_bytes(body, 2)),
            accumulator=first_text(body, 3),
            initial=self.node(first_bytes(body, 4)),
            condition=self.node(first_bytes(body, 5)),
            step=self.node(first_bytes(body, 6)),
            result=self.node(first_bytes(body, 7)),
        )


def _constant(body: Message) -> Constant:
    for field in body:
        if isinstance(field.content, bytes):
            is_text = field.number == 6
            return Constant(size=len(field.content), text=field.content.decode() if is_text else None)
    return Constant(size=1)


# The protobuf wire format, as far as serialised expressions use it.

_VARINT, _FIXED64, _BYTES = 0, 1, 2


class WireField(NamedTuple):
    """One field of a message: its number, its wire type, and its content (bytes if it has a length, else an int)."""

    number: int
    wire_type: int
    content: int | bytes


Message: TypeAlias = "list[WireField]"


def decode(data: bytes) -> Message:
    """Return the fields of the message `data`, in wire order."""
    message: Message = []
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        wire_type = tag & 7
        if wire_type == _VARINT:
            content, at = _read_varint(data, at)
        elif wire_type == _BYTES:
            length, at = _read_varint(data, at)
            content = data[at : at + length]
            at += length
        else:
            width = 8 if wire_type == _FIXED64 else 4
            content = int.from_bytes(data[at : at + width], "little")
            at += width
        message.append(WireField(tag >> 3, wire_type, content))
    return message


def encode(message: Iterable[WireField]) -> bytes:
    """Return the wire form of `message`."""
    parts: list[bytes] = []
    for field in message:
        parts.append(_varint(field.number << 3 | field.wire_type))
        if isinstance(field.content, bytes):
            parts += [_varint(len(field.content)), field.content]
        elif field.wire_type == _VARINT:
            parts.append(_varint(field.content))
        else:
            parts.append(field.content.to_bytes(8 if field.wire_type == _FIXED64 else 4, "little"))
    return b"".join(parts)


def rewrite(data: bytes, rewriters: Mapping[int, Callable[[bytes], bytes]]) -> bytes:
    """Return the message `data` with the content of fields replaced by what the rewriter of their number returns."""
    fields: list[WireField] = []
    for field in decode(data):
        if field.number in rewriters and isinstance(field.content, bytes):
            fields.append(bytes_field(field.number, rewriters[field.number](field.content)))
        else:
            fields.append(field)
    return encode(fields)


def bytes_field(number: int, content: bytes) -> WireField:
    """Return a field that holds text, bytes or a message."""
    return WireField(number, _BYTES, content)


def integer_field(number: int, content: int) -> WireField:
    """Return a field that holds an unsigned integer."""
    return WireField(number, _VARINT, content)


def all_bytes(message: Message, number: int) -> list[bytes]:
    """Return the contents of all fields `number` that have a length."""
    return [field.content for field in message if field.number == number and isinstance(field.content, bytes)]


def first_bytes(message: Message, number: int) -> bytes:
    """Return the content of the first field `number`, or b"" without one."""
    return next(iter(all_bytes(message, number)), b"")


def first_text(message: Message, number: int) -> str:
    """Return the text in the first field `number`, or "" without one."""
    return first_bytes(message, number).decode()


def first_integer(message: Message, number: int) -> int:
    """Return the integer in the first field `number`, or 0 without one."""
    contents = (field.content for field in message if field.number == number)
    return next((content for content in contents if isinstance(content, int)), 0)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _varint(value: int) -> bytes:
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)
