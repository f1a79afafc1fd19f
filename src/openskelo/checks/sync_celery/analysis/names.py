"""The values of the names of a scope at one point of the code: an immutable map.

Each branch begins with the map of the code before it, changes it, and the maps are merged where the branches meet. With
dicts that is a copy of all names for each branch, so a module of 20,000 branches takes minutes. Here a map is a tree of
tuples: changing a name copies one path of the tree, and two maps share what neither has changed, which `merge` skips.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from openskelo.checks.sync_celery.analysis import abstract_values as av

_BITS = 5
_WIDTH = 1 << _BITS
_MASK = _WIDTH - 1
#: A node has values as its leaves (at height 0), or nodes; None for what is not there.
_Node: TypeAlias = tuple["_Node | av.Values | None", ...]
_EMPTY: _Node = (None,) * _WIDTH


class Names:
    """An immutable map from names to values.

    All maps of a scope share `numbers`: the place of each name in the tree, whose digits are the way from the root.
    """

    __slots__ = ("height", "numbers", "root")

    def __init__(self, numbers: dict[str, int], root: _Node = _EMPTY, height: int = 0) -> None:
        self.numbers = numbers
        self.root = root
        self.height = height

    def get(self, name: str) -> av.Values | None:
        """Return what a name stands for; None if it is not in the map."""
        number = self.numbers.get(name)
        if number is None or number >> _BITS * (self.height + 1):
            return None
        node = self.root
        for height in range(self.height, 0, -1):
            child = cast("_Node | None", node[number >> _BITS * height & _MASK])
            if child is None:
                return None
            node = child
        return cast("av.Values | None", node[number & _MASK])

    def set(self, name: str, values: av.Values | None) -> Names:
        """Return a map in which the name stands for these values; None takes it out."""
        number = self.numbers.setdefault(name, len(self.numbers))
        raised = self
        while number >> _BITS * (raised.height + 1):
            raised = raised.raised()
        root = _changed(raised.root, raised.height, number, values)
        return Names(self.numbers, root, raised.height)

    def update(self, values: Mapping[str, av.Values]) -> Names:
        """Return a map with these names as well."""
        updated = self
        for name, value in values.items():
            updated = updated.set(name, value)
        return updated

    def merge(self, other: Names) -> Names:
        """Return what names stand for where two branches meet; this very map if the other adds nothing."""
        first, second = self, other
        while first.height < second.height:
            first = first.raised()
        while second.height < first.height:
            second = second.raised()
        root = _merged(first.root, second.root, first.height)
        return self if root is self.root else Names(self.numbers, root, first.height)

    def items(self) -> Iterator[tuple[str, av.Values]]:
        """Yield each name and what it stands for."""
        for name in self.numbers:
            values = self.get(name)
            if values is not None:
                yield name, values

    def raised(self) -> Names:
        """Return the same map in a tree that is higher by one node."""
        root: _Node = (self.root, *_EMPTY[1:])
        return Names(self.numbers, root, self.height + 1)


def merge_all(maps: Sequence[Names]) -> Names:
    """Return what names stand for where these branches meet; there must be one at least.

    Neighbours are merged first: they differ least.
    """
    merged = list(maps)
    while len(merged) > 1:
        pairs = [first.merge(second) for first, second in zip(merged[::2], merged[1::2], strict=False)]
        merged = [*pairs, merged[-1]] if len(merged) % 2 else pairs
    return merged[0]


def _changed(node: _Node | None, height: int, number: int, values: av.Values | None) -> _Node:
    node = node or _EMPTY
    place = number >> _BITS * height & _MASK
    child = _changed(cast("_Node | None", node[place]), height - 1, number, values) if height else values
    return (*node[:place], child, *node[place + 1 :])


def _merged(first: _Node, second: _Node, height: int) -> _Node:
    if first is second:
        return first
    merged: list[_Node | av.Values | None] = []
    for left, right in zip(first, second, strict=True):
        if left is right or right is None:
            merged.append(left)
        elif left is None:
            merged.append(right)
        elif height:
            merged.append(_merged(cast("_Node", left), cast("_Node", right), height - 1))
        else:
            merged.append(_joined(cast("av.Values", left), cast("av.Values", right)))
    for known in (first, second):
        if all(part is before for part, before in zip(merged, known, strict=True)):
            return known
    return tuple(merged)


def _joined(left: av.Values, right: av.Values) -> av.Values:
    joined = av.join((left, right))
    return left if joined == left else joined
