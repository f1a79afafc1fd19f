"""The syntax tree of a compiled CEL expression, read from its serialised form (`cel.expr.CheckedExpr`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from openskelo.frozen import frozen
from openskelo.values import cel_wire


@frozen
class Constant:
    """A literal; `size` is the length of its text or bytes, 1 for anything else. `text` is None unless it is text."""

    size: int
    text: str | None = None


@frozen
class Name:
    """A variable: a declared one (perhaps dotted, `inputs.title`) or one of a comprehension."""

    name: str


@frozen
class Field:
    """`operand.field`, at `offset` characters into the text; a `test` only asks whether it is there."""

    operand: Node
    field: str
    test: bool
    offset: int


@frozen
class Call:
    """A function or operator; a method's target is its first argument."""

    function: str
    arguments: tuple[Node, ...]


@frozen
class Group:
    """A list or map literal; `items` are the elements, or the keys and values."""

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
#: Which fields of a value are read, and of them which; None: perhaps all of it.
Reads: TypeAlias = "dict[str, Reads] | None"


def read(data: bytes) -> Node:
    """The tree of the serialised expression `data` (an `Any` that holds the checked expression)."""
    message = cel_wire.decode(cel_wire.first(cel_wire.decode(data), 2))
    entries = [cel_wire.decode(entry) for entry in cel_wire.every(cel_wire.decode(cel_wire.first(message, 5)), 4)]
    offsets = {cel_wire.number(entry, 1): cel_wire.number(entry, 2) for entry in entries}
    return _Reader(offsets=offsets).node(cel_wire.first(message, 4))


def walk(node: Node) -> Iterator[Node]:
    """`node` and everything below it."""
    yield node
    for child in _children(node):
        yield from walk(child)


def free_names(node: Node) -> frozenset[str]:
    """The variables that `node` needs from outside: all it names but those of its own comprehensions."""
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


def reads(node: Node) -> dict[str, Reads]:
    """What `node` may read of each variable that it names."""
    found: dict[str, Reads] = {}
    _add_reads(node, found)
    return found


def _add_reads(node: Node, found: dict[str, Reads]) -> None:
    way: list[str] = []
    base = node
    while isinstance(base, Field):
        way.append(base.field)
        base = base.operand
    if not isinstance(base, Name):
        for child in _children(base):
            _add_reads(child, found)
        return
    known: Reads = found
    for part in (base.name, *reversed(way[1:])):
        known = known.setdefault(part, {})
        if known is None:
            return
    if way:
        known[way[0]] = None
    else:
        found[base.name] = None


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
    """Turns `Expr` messages into nodes; `offsets` are the places of nodes in the text, by the id of the node."""

    offsets: Mapping[int, int]

    def node(self, data: bytes) -> Node:
        message = cel_wire.decode(data)
        for field in message:
            if field.number >= 3 and isinstance(field.content, bytes):
                return self._content(field.number, cel_wire.decode(field.content), cel_wire.number(message, 2))
        return Constant(size=1)

    def _content(self, field: int, body: cel_wire.Message, identity: int) -> Node:
        match field:
            case 4:
                return Name(name=cel_wire.text(body, 1))
            case 5:
                operand = self.node(cel_wire.first(body, 1))
                offset = self.offsets.get(identity, 0)
                return Field(
                    operand=operand, field=cel_wire.text(body, 2), test=bool(cel_wire.number(body, 3)), offset=offset
                )
            case 6:
                return Call(function=cel_wire.text(body, 2), arguments=(*self._nodes(body, 1), *self._nodes(body, 3)))
            case 7:
                return Group(items=self._nodes(body, 1))
            case 8:
                entries = [cel_wire.decode(entry) for entry in cel_wire.every(body, 2)]
                return Group(
                    items=tuple(part for entry in entries for part in (*self._nodes(entry, 3), *self._nodes(entry, 4)))
                )
            case 9:
                return self._comprehension(body)
            case _:
                return _constant(body)

    def _nodes(self, body: cel_wire.Message, field: int) -> tuple[Node, ...]:
        return tuple(self.node(item) for item in cel_wire.every(body, field))

    def _comprehension(self, body: cel_wire.Message) -> Comprehension:
        names = [cel_wire.text(body, 1), cel_wire.text(body, 8)]
        return Comprehension(
            variables=tuple(name for name in names if name),
            items=self.node(cel_wire.first(body, 2)),
            accumulator=cel_wire.text(body, 3),
            initial=self.node(cel_wire.first(body, 4)),
            condition=self.node(cel_wire.first(body, 5)),
            step=self.node(cel_wire.first(body, 6)),
            result=self.node(cel_wire.first(body, 7)),
        )


def _constant(body: cel_wire.Message) -> Constant:
    for field in body:
        if isinstance(field.content, bytes):
            return Constant(size=len(field.content), text=field.content.decode() if field.number == 6 else None)
    return Constant(size=1)
