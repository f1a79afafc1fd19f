"""The values of names by their annotations: `session: Session` stands for `Session()`.

Annotations hold expressions: the caller passes the function that evaluates them (`expressions.evaluate`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from openskelo.checks.sync_celery import rules
from openskelo.checks.sync_celery.analysis import abstract_values as av
from openskelo.checks.sync_celery.analysis.reading import Evaluate, Reading, begin_of

_OPTIONAL = frozenset({"typing.Optional", "typing.Annotated", "typing.Final", "typing.ClassVar", "typing.Required"})
_CONTAINERS = frozenset(
    {"List", "Sequence", "Iterable", "Iterator", "Collection", "Set", "FrozenSet", "Generator", "Tuple", "Deque"}
    | {"list", "tuple", "set", "frozenset", "deque", "MutableSequence"}
)


def instance_of(reading: Reading, node: ast.expr, evaluate: Evaluate, place: ast.AST | None = None) -> av.Values:
    """Return what a name with this annotation stands for."""
    place = place or node
    match node:
        case ast.Constant(value=str(text)):
            return _instance_of_text(reading, text, evaluate, place)
        case ast.BinOp(op=ast.BitOr()):
            return _known(instance_of(reading, part, evaluate, place) for part in (node.left, node.right))
        case ast.Subscript():
            return _generic(reading, node, evaluate, place)
        case ast.Constant():
            return av.UNKNOWN
        case _:
            return _instance_of_class(evaluate(reading, node), place)


def _instance_of_text(reading: Reading, text: str, evaluate: Evaluate, place: ast.AST) -> av.Values:
    try:
        parsed = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return av.UNKNOWN
    reading.for_types += 1
    values = instance_of(reading, parsed, evaluate, place)
    reading.for_types -= 1
    return frozenset(value._replace(for_types=True) if isinstance(value, av.External) else value for value in values)


def _generic(reading: Reading, node: ast.Subscript, evaluate: Evaluate, place: ast.AST) -> av.Values:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    owners = evaluate(reading, node.value)
    paths = {value.path for value in owners if isinstance(value, av.External)}
    if paths & _OPTIONAL:
        return instance_of(reading, parts[0], evaluate, place) if parts else av.UNKNOWN
    if "typing.Union" in paths:
        return _known(instance_of(reading, part, evaluate, place) for part in parts)
    if paths & {"typing.Type", "builtins.type"}:
        return evaluate(reading, parts[0]) if parts else av.UNKNOWN
    if any(path.rpartition(".")[2] in _CONTAINERS for path in paths):
        return av.items([_known(instance_of(reading, part, evaluate, place) for part in parts)], exact=False)
    for part in parts:
        instance_of(reading, part, evaluate, place)
    return _instance_of_class(owners, place)


def _instance_of_class(values: av.Values, place: ast.AST) -> av.Values:
    site = begin_of(place)
    found = list[av.Value]()
    for value in values:
        if isinstance(value, av.External) and not value.path.startswith(("typing.", "builtins.")):
            found.append(av.External(rules.canonical(f"{value.path}()"), site, for_types=value.for_types))
        elif isinstance(value, av.Class):
            found.append(av.Object(value.number, site))
    return frozenset(found) or av.UNKNOWN


def _known(parts: Iterable[av.Values]) -> av.Values:
    """Return all known values of `parts`."""
    joined = frozenset[av.Value]().union(*parts) - av.UNKNOWN
    return joined or av.UNKNOWN
