"""The values that a name may have while a module is read without running it.

A name has a set of values (`Values`), because branches may assign different ones. `UNKNOWN` is everything that the
analysis does not follow; it is never a reason for a finding.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

#: Containers in containers are followed so far.
MAX_DEPTH = 4
#: A name may stand for so many values; the rest is dropped, and the name is unknown as well.
_MAX_VALUES = 24


class Unknown(NamedTuple):
    """A value that the analysis does not follow."""

    kind: str = "unknown"


class Constant(NamedTuple):
    """A literal: None, a text, a number or a truth value."""

    value: object
    kind: str = "constant"


class External(NamedTuple):
    """Something of an imported module, by its dotted path: `requests.get`, `requests.Session().get`. `()` is a call."""

    path: str
    #: The line and column of the first call: the same object has the same site.
    site: tuple[int, int] = (0, 0)
    #: That call has set a time limit.
    limited: bool = False
    #: The name exists for the type checker only.
    for_types: bool = False


class Items(NamedTuple):
    """A list, tuple or set."""

    elements: tuple[frozenset[Value], ...]
    #: It has these elements in this order, else any number of such elements.
    exact: bool
    depth: int
    kind: str = "items"


class Table(NamedTuple):
    """A dict: values by literal key."""

    entries: tuple[tuple[object, frozenset[Value]], ...]
    #: It may have other keys as well.
    open: bool
    depth: int
    kind: str = "table"


class Partial(NamedTuple):
    """A `functools.partial`: the function, and the arguments it is called with first."""

    function: frozenset[Value]
    positional: tuple[frozenset[Value], ...]
    keywords: Table
    depth: int


class Function(NamedTuple):
    """A function of this module."""

    #: Its place in the functions of the analysis.
    number: int
    kind: str = "function"


class Class(NamedTuple):
    """A class of this module."""

    #: Its place in the classes of the analysis.
    number: int
    kind: str = "class"


class Parent(NamedTuple):
    """An instance as `super()` sees it: without what its class itself defines."""

    number: int
    kind: str = "parent"


class Object(NamedTuple):
    """An instance of a class of this module."""

    number: int
    site: tuple[int, int]
    kind: str = "object"


Value: TypeAlias = Unknown | Constant | External | Items | Table | Partial | Function | Class | Object | Parent
Values: TypeAlias = frozenset[Value]

UNKNOWN: Values = frozenset({Unknown()})
NONE: Values = frozenset({Constant(None)})
NOTHING: Values = frozenset[Value]()


def constant(value: object) -> Values:
    """Return the values of a literal."""
    if value is None or isinstance(value, str | int | float):
        return frozenset({Constant(value)})
    return UNKNOWN


def join(parts: Iterable[Values]) -> Values:
    """Return all values of `parts`; unknown if there is none."""
    joined = frozenset[Value]().union(*parts)
    if len(joined) > _MAX_VALUES:
        return frozenset([*sorted(joined, key=_order_of_keeping)[:_MAX_VALUES], Unknown()])
    return joined or UNKNOWN


def _order_of_keeping(value: Value) -> tuple[bool, str]:
    """Order values by what a rule may depend on: a number is dropped before None and all that is no literal."""
    return isinstance(value, Constant) and value.value is not None, repr(value)


def items(elements: Iterable[Values], *, exact: bool = True) -> Values:
    """Return a list or tuple of these elements; unknown if it is nested too deeply."""
    listed = tuple(elements)
    depth = 1 + max((depth_of(element) for element in listed), default=0)
    if depth > MAX_DEPTH:
        return UNKNOWN
    if not exact or len(listed) > _MAX_VALUES:
        listed, exact = ((join(listed),) if listed else ()), False
    return frozenset({Items(listed, exact, depth)})


def table(entries: Iterable[tuple[object, Values]], *, open: bool = False) -> Table:  # noqa: A002 -- of a set of keys
    """Return a dict; a later entry replaces an earlier one with the same key."""
    by_key = dict(entries)
    depth = 1 + max((depth_of(value) for value in by_key.values()), default=0)
    if depth > MAX_DEPTH or len(by_key) > 100:
        return Table((), True, 1)
    return Table(tuple(by_key.items()), open, depth)


def depth_of(values: Values) -> int:
    """Return how deeply containers are nested in these values."""
    return max((value.depth for value in values if isinstance(value, Items | Table | Partial)), default=0)


def elements_of(values: Values) -> Values:
    """Return what a loop over these values may see."""
    found = list[Values]()
    for value in values:
        if isinstance(value, Items):
            found.extend(value.elements)
        elif isinstance(value, Table):
            found.extend(constant(key) for key, _ in value.entries)
        elif not (isinstance(value, Constant) and value.value is None):
            found.append(UNKNOWN)
    return join(found)


def unpack(values: Values, count: int) -> list[Values]:
    """Return what `count` targets get when they are assigned these values together."""
    parts = list[list[Values]]([] for _ in range(count))
    for value in values:
        if isinstance(value, Items) and value.exact and len(value.elements) == count:
            for part, element in zip(parts, value.elements, strict=True):
                part.append(element)
        else:
            rest = elements_of(frozenset({value}))
            for part in parts:
                part.append(rest)
    return [join(part) for part in parts]


def may_be_none(values: Values) -> bool:
    """True if None is among the values, also as an element of a tuple."""
    return any(
        (isinstance(value, Constant) and value.value is None)
        or (isinstance(value, Items) and any(may_be_none(element) for element in value.elements))
        for value in values
    )


def without_none(values: Values) -> Values:
    """Return the values of a name that is known not to be None here."""
    return frozenset(value for value in values if not (isinstance(value, Constant) and value.value is None)) or UNKNOWN


def only_none(values: Values) -> Values:
    """Return the values of a name that is known to be None here."""
    return min(NONE, values)


def without_false(values: Values) -> Values:
    """Return the values of a name that is known to be true here."""
    return frozenset(value for value in values if not (isinstance(value, Constant) and not value.value)) or UNKNOWN
