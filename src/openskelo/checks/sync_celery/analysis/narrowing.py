"""Narrows the values of names by a test, where it is true and where it is not."""

from __future__ import annotations

import ast
from collections.abc import Callable

from openskelo.checks.sync_celery.analysis import abstract_values as av
from openskelo.checks.sync_celery.analysis.reading import Reading


def narrow(reading: Reading, test: ast.expr, *, truth: bool) -> None:
    """Take out of a name's values what they cannot be where the test is true (or not)."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            narrow(reading, test.operand, truth=not truth)
        case ast.BoolOp():
            if isinstance(test.op, ast.And) is truth:
                for part in test.values:
                    narrow(reading, part, truth=truth)
        case ast.Name() | ast.NamedExpr():
            if truth:
                _narrow_name(reading, test, av.without_false)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            _narrow_by_comparison(reading, left, op, right, truth=truth)
        case ast.Compare() if truth:
            for left, op, right in zip([test.left, *test.comparators], test.ops, test.comparators, strict=False):
                _narrow_by_comparison(reading, left, op, right, truth=True)
        case ast.Call(func=ast.Name(id="isinstance" | "callable"), args=[tested, *_]):
            if truth:
                _narrow_name(reading, tested, av.without_none)
        case _:
            pass


def _narrow_by_comparison(reading: Reading, left: ast.expr, op: ast.cmpop, right: ast.expr, *, truth: bool) -> None:
    if isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE):  # None has no order
        _narrow_name(reading, left, av.without_none)
        _narrow_name(reading, right, av.without_none)
        return
    positive = isinstance(op, ast.Is | ast.Eq | ast.In) is truth
    if isinstance(op, ast.In | ast.NotIn):
        if isinstance(right, ast.Tuple | ast.List | ast.Set) and any(map(_is_none, right.elts)) is not positive:
            _narrow_name(reading, left, av.without_none)
        return
    for name, other in ((left, right), (right, left)):
        if _is_none(other):
            _narrow_name(reading, name, av.only_none if positive else av.without_none)
        elif isinstance(other, ast.Constant) and positive:
            _narrow_name(reading, name, av.without_none)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _narrow_name(reading: Reading, node: ast.expr, narrowed: Callable[[av.Values], av.Values]) -> None:
    name = node.target if isinstance(node, ast.NamedExpr) else node
    values = reading.scope.find(name.id) if isinstance(name, ast.Name) else None
    if isinstance(name, ast.Name) and values is not None:
        reading.names = reading.names.set(name.id, narrowed(values))
