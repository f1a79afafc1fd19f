"""Limits on what evaluating an expression may cost, beyond those of the CEL library.

The library stops after 10,000 iterations, but it bounds neither memory nor the order of iteration:

- `s.replace('', s)` squares a text, and chained `map`s multiply one. So before such an expression is evaluated, its
  tree is walked over the *sizes* of its data (`estimate_bytes`), which takes a few steps per node, and an evaluation
  that could touch more than `MAX_BYTES` is refused.
- Its `matches` holds the process for as long as a pattern takes, and a pattern may be data. So `rewrite` makes it a
  function of ours, which bounds the work of all matches of one evaluation (`values.regex`).
- It copies the list that a `map` macro builds once for each item, and iterates a map in the order of its hash table,
  which differs between processes. So `rewrite` wraps what a macro ranges over in a
  function of ours that counts the items and returns a map's keys in order. Authors cannot write the function's name.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import orjson

from openskelo import errors
from openskelo.structs import frozen
from openskelo.values import regex
from openskelo.values.cel import syntax_tree
from openskelo.values.cel.syntax_tree import ExprField

#: What one evaluation may touch, in bytes.
MAX_BYTES = 128 * 1024 * 1024
#: How many items a comprehension may range over.
MAX_ITEMS = 1000
#: The function that every range of a comprehension is wrapped in.
RANGE_FUNCTION = "@range"
#: The function that replaces `matches`.
MATCH_FUNCTION = "@matches"

# With fewer variables in its text, an expression that never multiplies cannot copy enough to matter; one that adds or
# collects values can do so with fewer.
_MANY_NAMES = 32
_MANY_NAMES_WHEN_GROWING = 3
# New nodes need ids of their own; the library numbers the nodes of a 4 KiB expression far below this.
_FIRST_NEW_ID = 1_000_000
_UNKNOWN = object()


class _Matching(threading.local):
    """The work that the matches of the evaluation in this thread have taken."""

    work = 0


_matching = _Matching()


def rewrite(serialised: bytes) -> bytes:
    """Return the serialised expression with the functions of this module in place of the library's."""
    limiter = _Rewriter()
    return syntax_tree.rewrite(serialised, {2: lambda checked: syntax_tree.rewrite(checked, {4: limiter.expression})})


def check_list_range(items: Sequence[object]) -> Sequence[object]:
    """Return `items`; raise ValueError if there are too many."""
    _check_count(len(items))
    return items


def check_map_range(items: Mapping[object, object]) -> list[object]:
    """Return the keys of `items` in order; raise ValueError if there are too many."""
    _check_count(len(items))
    # Keys of CEL maps may mix integers, booleans and text, which do not compare with each other.
    return sorted(items, key=lambda key: (type(key).__name__, cast(str, key)))


def begin_matching() -> None:
    """Let the matches of the evaluation that begins in this thread take `regex.MAX_WORK` together."""
    _matching.work = 0


def match(text: str, pattern: str) -> bool:
    """True if `pattern` occurs in `text`; raise ValueError if it is none, or if the evaluation matches too much."""
    try:
        compiled = regex.compile(pattern)
        _matching.work += compiled.work(text)
        if _matching.work > regex.MAX_WORK:
            raise ValueError("its patterns are matched against more text than is allowed")
        return compiled.search(text)
    except errors.InvalidInput as error:
        raise ValueError(error.message) from None


def _check_count(items: int) -> None:
    if items > MAX_ITEMS:
        raise ValueError(f"it ranges over {items} items, more than {MAX_ITEMS}")


class _Rewriter:
    """Rewrites serialised `Expr` messages, kind by kind; the numbers are the fields that hold expressions."""

    def __init__(self) -> None:
        self._new_ids = itertools.count(_FIRST_NEW_ID)

    def expression(self, data: bytes) -> bytes:
        call = syntax_tree.decode(syntax_tree.first_bytes(syntax_tree.decode(data), ExprField.CALL))
        if syntax_tree.first_text(call, 2) == "matches":
            operands = [*syntax_tree.all_bytes(call, 1), *syntax_tree.all_bytes(call, 3)]
            return self._new_call(MATCH_FUNCTION, [self.expression(operand) for operand in operands])
        rewriters: dict[int, Callable[[bytes], bytes]] = {
            ExprField.SELECT: self._select,
            ExprField.CALL: self._call,
            ExprField.LIST: self._list,
            ExprField.STRUCT: self._struct,
            ExprField.COMPREHENSION: self._comprehension,
        }
        return syntax_tree.rewrite(data, rewriters)

    def _select(self, data: bytes) -> bytes:
        return syntax_tree.rewrite(data, {1: self.expression})

    def _call(self, data: bytes) -> bytes:
        return syntax_tree.rewrite(data, {1: self.expression, 3: self.expression})

    def _list(self, data: bytes) -> bytes:
        return syntax_tree.rewrite(data, {1: self.expression})

    def _struct(self, data: bytes) -> bytes:
        return syntax_tree.rewrite(data, {2: self._struct_entry})

    def _struct_entry(self, data: bytes) -> bytes:
        return syntax_tree.rewrite(data, {3: self.expression, 4: self.expression})

    def _comprehension(self, data: bytes) -> bytes:
        return syntax_tree.rewrite(data, {2: self._range, **dict.fromkeys((4, 5, 6, 7), self.expression)})

    def _range(self, data: bytes) -> bytes:
        rewritten = self.expression(data)
        if any(field.number == ExprField.LIST for field in syntax_tree.decode(rewritten)):
            # A list literal is short and in order by itself. It is also what `cel.bind` expands to.
            return rewritten
        return self._new_call(RANGE_FUNCTION, [rewritten])

    def _new_call(self, function: str, arguments: Sequence[bytes]) -> bytes:
        name = syntax_tree.bytes_field(2, function.encode())
        call = syntax_tree.encode([name, *(syntax_tree.bytes_field(3, argument) for argument in arguments)])
        node_id = syntax_tree.integer_field(ExprField.ID, next(self._new_ids))
        return syntax_tree.encode([node_id, syntax_tree.bytes_field(ExprField.CALL, call)])


def may_multiply(tree: syntax_tree.Node) -> bool:
    """True if evaluating `tree` can touch more than a small multiple of its data, so that it has to be estimated.

    Even a text that is only added to itself grows: twenty times in one expression, and again in that of the next block.
    """
    names = 0
    is_growing = False
    for node in syntax_tree.walk(tree):
        match node:
            case syntax_tree.Comprehension() | syntax_tree.Call(function="replace" | "join" | "format"):
                return True
            case syntax_tree.Name():
                names += 1
            case syntax_tree.Call(function="_+_") | syntax_tree.Group():
                is_growing = True
            case _:
                pass
    return names >= (_MANY_NAMES_WHEN_GROWING if is_growing else _MANY_NAMES)


def estimate_bytes(tree: syntax_tree.Node, values: Mapping[str, object]) -> int:
    """Return an upper bound on the bytes that evaluating `tree` over `values` (plain JSON, by name) may touch."""
    sizes = {name: json_size(value) for name, value in values.items()}
    return _Estimator(tree, values).estimate(tree, sizes).work


@frozen
class _Cost:
    """A bound on what an expression may cost."""

    #: The size of a value.
    size: int
    #: The number of bytes that are touched to compute it.
    work: int


class _Estimator:
    """Computes upper bounds for the nodes of one tree over one set of values."""

    def __init__(self, tree: syntax_tree.Node, values: Mapping[str, object]) -> None:
        self._values = values
        # A variable of a comprehension may have the name of a declared one; such a name is then not looked up.
        comprehensions = [node for node in syntax_tree.walk(tree) if isinstance(node, syntax_tree.Comprehension)]
        self._hidden = {name for node in comprehensions for name in node.variables}

    def estimate(self, node: syntax_tree.Node, sizes: Mapping[str, int]) -> _Cost:
        match node:
            case syntax_tree.Constant():
                return _Cost(size=node.size, work=0)
            case syntax_tree.Name():
                size = sizes.get(node.name, 1)
                return _Cost(size=size, work=size)
            case syntax_tree.Field():
                return self._estimate_field(node, sizes)
            case syntax_tree.Call():
                costs = [self.estimate(argument, sizes) for argument in node.arguments]
                size = _call_size(node.function, [cost.size for cost in costs])
                return _Cost(size=size, work=size + sum(cost.work for cost in costs))
            case syntax_tree.Group():
                costs = [self.estimate(item, sizes) for item in node.items]
                size = 1 + sum(1 + cost.size for cost in costs)
                return _Cost(size=size, work=size + sum(cost.work for cost in costs))
            case syntax_tree.Comprehension():
                return self._estimate_comprehension(node, sizes)

    def _estimate_field(self, node: syntax_tree.Field, sizes: Mapping[str, int]) -> _Cost:
        data = self._find_data(node)
        if data is not _UNKNOWN:
            size = json_size(data)
            return _Cost(size=size, work=size)
        operand = self.estimate(node.operand, sizes)
        return _Cost(size=1 if node.test else operand.size, work=operand.work)

    def _estimate_comprehension(self, node: syntax_tree.Comprehension, sizes: Mapping[str, int]) -> _Cost:
        """Return the bound for all iterations together, without going through them.

        The items together are no larger than the list. So the step is estimated once with an empty item, times the
        number of items, and once with the whole list as its item: costs are polynomials without negative terms, for
        which that sum is an upper bound. No macro does more with the accumulator than to append the step's value.
        """
        items = self.estimate(node.items, sizes)
        initial = self.estimate(node.initial, sizes)
        count = min(self._max_items(node.items, items.size), MAX_ITEMS)
        with_empty_item = {**sizes, node.accumulator: 0, **dict.fromkeys(node.variables, 0)}
        with_whole_list = {**with_empty_item, **dict.fromkeys(node.variables, items.size)}
        step = self.estimate(node.step, with_empty_item)
        step_over_list = self.estimate(node.step, with_whole_list)
        size = initial.size + count * step.size + step_over_list.size
        result = self.estimate(node.result, {**sizes, node.accumulator: size})
        work = items.work + initial.work + count * step.work + step_over_list.work + size + result.work
        return _Cost(size=result.size, work=work)

    def _max_items(self, node: syntax_tree.Node, size: int) -> int:
        """Return how many items `node` has at most: exact for data and literals, else its size in bytes."""
        if isinstance(node, syntax_tree.Group):
            return len(node.items)
        data = self._find_data(node)
        if isinstance(data, list | dict):
            return len(cast("list[object]", data))
        return size

    def _find_data(self, node: syntax_tree.Node) -> object:
        """Return the data that a chain of names and fields refers to; `_UNKNOWN` if `node` is something else."""
        match node:
            case syntax_tree.Name(name=name) if name not in self._hidden:
                return self._values.get(name, _UNKNOWN)
            case syntax_tree.Field(operand=operand, field=field, test=False):
                data = self._find_data(operand)
                if isinstance(data, dict):
                    return cast("dict[str, object]", data).get(field, _UNKNOWN)
                return _UNKNOWN
            case _:
                return _UNKNOWN


def json_size(value: object) -> int:
    """Return how many bytes a plain JSON value takes as text."""
    return len(orjson.dumps(value))


#: Functions and operators whose result is small for any arguments.
_SMALL_RESULT = re.compile(
    r"size|matches|contains|startsWith|endsWith|indexOf|lastIndexOf|bool|int|uint|double|type|timestamp|duration"
    r"|math\..*|_(==|!=|<|<=|>|>=|&&|\|\||-|\*|/|%)_|[!-]_|@in|@not_strictly_false"
)
#: Functions and operators whose result is no larger than all arguments together.
_NO_LARGER_RESULT = re.compile(r"lowerAscii|upperAscii|trim|substring|charAt|reverse|dyn|_\+_|_\?_:_|_\[_\]")


def _call_size(function: str, sizes: list[int]) -> int:
    total = sum(sizes)
    if _SMALL_RESULT.fullmatch(function):
        return 8
    if _NO_LARGER_RESULT.fullmatch(function):
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
