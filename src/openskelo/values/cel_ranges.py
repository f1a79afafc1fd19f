"""Makes every comprehension of an expression range over at most 1,000 items, in an order that is always the same.

The library iterates a map in the order of its hash table, which differs from process to process, and copies the list
that a `map` macro builds once for each item. So the expression is rewritten: what a macro ranges over is wrapped in a
function of ours that counts the items and gives a map's keys in order. Authors cannot write its name.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from openskelo.values import cel_wire

FUNCTION = "@range"
#: How many items a comprehension may range over.
MAX_ITEMS = 1000

# Fields of `CheckedExpr` and `Expr`, and where the bodies of `Expr` hold expressions themselves.
_CHECKED_IN_ANY, _EXPRESSION_IN_CHECKED = 2, 4
_IDENTITY, _CALL, _LIST, _STRUCT, _COMPREHENSION = 2, 6, 7, 8, 9
_EXPRESSIONS_IN = {5: {1}, _CALL: {1, 3}, _LIST: {1}, _STRUCT: {2}, _COMPREHENSION: {2, 4, 5, 6, 7}}
_EXPRESSIONS_IN_ENTRY = {3, 4}
_RANGE_IN_COMPREHENSION = 2
# New nodes need ids of their own; the library numbers an expression of 4 KiB far below this.
_FIRST_IDENTITY = 1_000_000


def items_of_list(items: Sequence[object]) -> Sequence[object]:
    """`items`, unless they are too many."""
    _count(len(items))
    return items


def keys_of_map(items: Mapping[object, object]) -> list[object]:
    """The keys of `items` in order, unless they are too many."""
    _count(len(items))
    # CEL's maps may mix integers, booleans and text, which do not compare.
    return sorted(items, key=lambda key: (type(key).__name__, cast(str, key)))


def _count(items: int) -> None:
    if items > MAX_ITEMS:
        raise ValueError(f"it ranges over {items} items, more than {MAX_ITEMS}")


def bounded(serialised: bytes) -> bytes:
    """The serialised expression with all ranges wrapped."""
    identities = itertools.count(_FIRST_IDENTITY)
    message = cel_wire.decode(serialised)
    checked = cel_wire.decode(cel_wire.first(message, _CHECKED_IN_ANY))
    wrapped = cel_wire.encode(_replaced(checked, {_EXPRESSION_IN_CHECKED}, identities))
    return cel_wire.encode(
        cel_wire.nested(field.number, wrapped) if field.number == _CHECKED_IN_ANY else field for field in message
    )


def _replaced(message: cel_wire.Message, expressions: set[int], identities: Iterator[int]) -> Iterator[cel_wire.Field]:
    for field in message:
        if field.number in expressions and isinstance(field.content, bytes):
            yield cel_wire.nested(field.number, _expression(field.content, identities))
        else:
            yield field


def _expression(data: bytes, identities: Iterator[int]) -> bytes:
    return cel_wire.encode(
        cel_wire.nested(field.number, _body(field.number, field.content, identities))
        if field.number in _EXPRESSIONS_IN and isinstance(field.content, bytes)
        else field
        for field in cel_wire.decode(data)
    )


def _body(kind: int, data: bytes, identities: Iterator[int]) -> bytes:
    body = cel_wire.decode(data)
    if kind == _STRUCT:
        return cel_wire.encode(
            cel_wire.nested(field.number, _entry(field.content, identities))
            if field.number in _EXPRESSIONS_IN[_STRUCT] and isinstance(field.content, bytes)
            else field
            for field in body
        )
    fields = _replaced(body, _EXPRESSIONS_IN[kind], identities)
    return cel_wire.encode(_ranged(fields, identities) if kind == _COMPREHENSION else fields)


def _entry(data: bytes, identities: Iterator[int]) -> bytes:
    return cel_wire.encode(_replaced(cel_wire.decode(data), _EXPRESSIONS_IN_ENTRY, identities))


def _ranged(comprehension: Iterator[cel_wire.Field], identities: Iterator[int]) -> Iterator[cel_wire.Field]:
    for field in comprehension:
        if field.number == _RANGE_IN_COMPREHENSION and isinstance(field.content, bytes) and not _literal(field.content):
            call = cel_wire.encode([cel_wire.nested(2, FUNCTION.encode()), cel_wire.nested(3, field.content)])
            wrapped = [cel_wire.integer(_IDENTITY, next(identities)), cel_wire.nested(_CALL, call)]
            yield cel_wire.nested(_RANGE_IN_COMPREHENSION, cel_wire.encode(wrapped))
        else:
            yield field


def _literal(expression: bytes) -> bool:
    """Whether it is a list literal: in order by itself, and what `cel.bind` expands to."""
    return any(field.number == _LIST for field in cel_wire.decode(expression))
