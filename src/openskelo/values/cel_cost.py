"""An upper bound on the bytes that evaluating an expression may touch, computed from the sizes of its data beforehand.

The CEL library bounds iterations (10,000 in one evaluation) but not memory: `s.replace('', s)` squares a text, and
chained `map`s multiply one. So the tree is evaluated over sizes first, which costs a few steps for each of its nodes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

import orjson

from openskelo.frozen import frozen
from openskelo.values import cel_ast, cel_ranges

#: What one evaluation may touch, in bytes.
MAX_BYTES = 128 * 1024 * 1024
#: With fewer variables in its text, an expression that never multiplies cannot copy enough to matter.
_MANY_NAMES = 32
_UNKNOWN = object()


@frozen
class Cost:
    """`size`: how large the value may be; `work`: how much is touched to get it."""

    size: int
    work: int


def may_multiply(tree: cel_ast.Node) -> bool:
    """Whether the expression's cost can exceed a small multiple of its data: then it has to be measured each time."""
    names = 0
    for node in cel_ast.walk(tree):
        match node:
            case cel_ast.Comprehension() | cel_ast.Call(function="replace" | "join" | "format"):
                return True
            case cel_ast.Name():
                names += 1
            case _:
                pass
    return names >= _MANY_NAMES


class Meter:
    """Measures `tree` over one set of values (plain JSON), by the names that the expression has for them."""

    def __init__(self, tree: cel_ast.Node, values: Mapping[str, object]) -> None:
        self._tree = tree
        self._values = values
        # A variable of a comprehension may have the name of a declared one; such a name is then not looked up.
        comprehensions = [node for node in cel_ast.walk(tree) if isinstance(node, cel_ast.Comprehension)]
        self._hidden = {name for node in comprehensions for name in node.variables}

    def work(self) -> int:
        """The bytes that the evaluation may touch, at most."""
        sizes = {name: _size(value) for name, value in self._values.items()}
        return self._measure(self._tree, sizes).work

    def _measure(self, node: cel_ast.Node, sizes: Mapping[str, int]) -> Cost:
        match node:
            case cel_ast.Constant():
                return Cost(size=node.size, work=0)
            case cel_ast.Name():
                size = sizes.get(node.name, 1)
                return Cost(size=size, work=size)
            case cel_ast.Field():
                return self._measure_field(node, sizes)
            case cel_ast.Call():
                costs = [self._measure(argument, sizes) for argument in node.arguments]
                size = _call_size(node.function, [cost.size for cost in costs])
                return Cost(size=size, work=size + sum(cost.work for cost in costs))
            case cel_ast.Group():
                costs = [self._measure(item, sizes) for item in node.items]
                size = 1 + sum(1 + cost.size for cost in costs)
                return Cost(size=size, work=size + sum(cost.work for cost in costs))
            case cel_ast.Comprehension():
                return self._measure_comprehension(node, sizes)

    def _measure_field(self, node: cel_ast.Field, sizes: Mapping[str, int]) -> Cost:
        data = self._find(node)
        if data is not _UNKNOWN:
            size = _size(data)
            return Cost(size=size, work=size)
        inner = self._measure(node.operand, sizes)
        return Cost(size=1 if node.test else inner.size, work=inner.work)

    def _measure_comprehension(self, node: cel_ast.Comprehension, sizes: Mapping[str, int]) -> Cost:
        """The items together are no larger than the list, so a step is measured once with an empty item, times their
        number, and once with the whole list as its item: for costs, which are polynomials without negative terms, that
        is enough. No macro does more with the accumulator than to append the step's value to it.
        """
        items, initial = self._measure(node.items, sizes), self._measure(node.initial, sizes)
        count = min(self._count(node.items, items.size), cel_ranges.MAX_ITEMS)
        empty = {**sizes, node.accumulator: 0, **dict.fromkeys(node.variables, 0)}
        whole = {**empty, **dict.fromkeys(node.variables, items.size)}
        least, most = self._measure(node.step, empty), self._measure(node.step, whole)
        size = initial.size + count * least.size + most.size
        result = self._measure(node.result, {**sizes, node.accumulator: size})
        work = items.work + initial.work + count * least.work + most.work + size + result.work
        return Cost(size=result.size, work=work)

    def _count(self, node: cel_ast.Node, size: int) -> int:
        """How many items `node` has at most: exact for data and literals, else no more than it has bytes."""
        if isinstance(node, cel_ast.Group):
            return len(node.items)
        data = self._find(node)
        return len(cast("list[object]", data)) if isinstance(data, list | dict) else size

    def _find(self, node: cel_ast.Node) -> object:
        """The data that a chain of names and fields stands for, if it is one."""
        match node:
            case cel_ast.Name(name=name) if name not in self._hidden:
                return self._values.get(name, _UNKNOWN)
            case cel_ast.Field(operand=operand, field=field, test=False):
                data = self._find(operand)
                return cast("dict[str, object]", data).get(field, _UNKNOWN) if isinstance(data, dict) else _UNKNOWN
            case _:
                return _UNKNOWN


def _size(value: object) -> int:
    return len(orjson.dumps(value))


#: Functions and operators with a small result, whatever they are given.
_SMALL = re.compile(
    r"size|matches|contains|startsWith|endsWith|indexOf|lastIndexOf|bool|int|uint|double|type|timestamp|duration"
    r"|math\..*|_(==|!=|<|<=|>|>=|&&|\|\||-|\*|/|%)_|[!-]_|@in|@not_strictly_false"
)
#: Those with a result no larger than all they are given.
_NO_LARGER = re.compile(r"lowerAscii|upperAscii|trim|substring|charAt|reverse|dyn|_\+_|_\?_:_|_\[_\]")


def _call_size(function: str, sizes: list[int]) -> int:
    total = sum(sizes)
    if _SMALL.fullmatch(function):
        return 8
    if _NO_LARGER.fullmatch(function):
        return total
    match function, sizes:
        case "replace", [text, _, replacement, *_]:
            return text + (text + 1) * replacement
        case "join", [parts, separator]:
            return parts + parts * separator
        case "format", [text, *_]:
            # `%.1000f` writes some 1,300 digits for seven characters, `%b` 64 for one.
            return 200 * text + 64 * total
        case _:
            return 64 + 8 * total
