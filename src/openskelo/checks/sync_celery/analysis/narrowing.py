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
        case ast.NamedExpr(target=ast.Name()):
            narrow(reading, test.target, truth=truth)
        case ast.Name():
            if truth:
                _narrow_name(reading, test, av.without_false)
        case ast.Compare(left=ast.Name() as name, ops=[op], comparators=[ast.Constant(value=None)]):
            if isinstance(op, ast.IsNot | ast.NotEq) is truth:
                _narrow_name(reading, name, av.without_none)
        case ast.Compare(
            left=ast.NamedExpr(target=ast.Name() as name), ops=[op], comparators=[ast.Constant(value=None)]
        ):
            if isinstance(op, ast.IsNot | ast.NotEq) is truth:
                _narrow_name(reading, name, av.without_none)
        case ast.Call(func=ast.Name(id="isinstance" | "callable"), args=[ast.Name() as name, *_]):
            if truth:
                _narrow_name(reading, name, av.without_none)
        case _:
            pass


def _narrow_name(reading: Reading, name: ast.Name, narrowed: Callable[[av.Values], av.Values]) -> None:
    values = reading.scope.find(name.id)
    if values is not None:
        reading.names()[name.id] = narrowed(values)
