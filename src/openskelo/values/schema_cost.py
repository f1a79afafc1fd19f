"""Whether a schema's own references could make checking one value unbounded work.

A definition that refers twice to the next one, which refers twice to the next, costs 2**n for n definitions, on any
value. Only keywords that apply to the same value count: what goes into a part of the value is bounded by the value.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator, Mapping
from typing import cast

from openskelo.values import pointer as pointers

#: How many times one place of a value may be looked at.
MAX_CHECKS = 10_000
#: How many references may follow each other.
MAX_CHAIN = 200

_REFERENCES = ("$ref", "$dynamicRef")
# Keywords that hold data: a `$ref` in there is just a word.
_DATA = frozenset({"const", "enum", "default", "examples"})
_ONE = ("not", "if", "then", "else")
_MANY = ("allOf", "anyOf", "oneOf")


def excess(schema: object) -> str | None:
    """Why `schema` may cost too much, or refers to what it does not hold; None when all is well."""
    meter = _Meter(dict(_anchors(schema)))
    for place in _places(schema):
        reference = next((name for name in meter.unknown(place)), None)
        if reference is not None:
            return f"$ref {reference!r} is not in the schema itself (write '#/$defs/name' or '#anchor')"
    for place in _places(schema):
        if meter.checks(place) > MAX_CHECKS:
            return f"its references multiply: one value could be checked more than {MAX_CHECKS} times"
    return None


def recursions(schema: object) -> int:
    """How many references lead back to where they are: the base of the work of listing a nested value's violations."""
    anchors = dict(_anchors(schema))
    inward: dict[int, set[int]] = {}
    references: list[tuple[int, int]] = []
    for place in _places(schema):
        inward[id(place)] = {id(part) for part in _parts(place)}
        references += [(id(place), id(anchors.get(name))) for name in _references(place)]
    for place, target in references:
        inward[place].add(target)
    outward: dict[int, set[int]] = {place: set() for place in inward}
    for place, targets in inward.items():
        for target in targets & outward.keys():
            outward[target].add(place)
    cyclic = _without_ends(inward) & _without_ends(outward)
    return sum(place in cyclic and target in cyclic for place, target in references)


def _without_ends(edges: Mapping[int, set[int]]) -> set[int]:
    """The nodes from which a cycle can be reached: what is left when all that leads nowhere is taken away."""
    sources: dict[int, list[int]] = {}
    for node, targets in edges.items():
        for target in targets:
            sources.setdefault(target, []).append(node)
    open_ends = {node: len(targets & edges.keys()) for node, targets in edges.items()}
    ends = [node for node, count in open_ends.items() if count == 0]
    for end in ends:
        for source in sources.get(end, ()):
            open_ends[source] -= 1
            if open_ends[source] == 0:
                ends.append(source)
    return edges.keys() - set(ends)


class _Meter:
    """Counts the schemas that are tried on a value, by the place of the schema that it is first tried on."""

    def __init__(self, anchors: Mapping[str, object]) -> None:
        self._anchors = anchors
        self._known: dict[int, int] = {}
        self._path: set[int] = set()

    def unknown(self, place: Mapping[str, object]) -> Iterator[str]:
        for name in _references(place):
            if name not in self._anchors:
                yield name

    def checks(self, place: object) -> int:
        """How many, at most; a schema that comes back to itself counts once, as the library sees to that."""
        identity = id(place)
        if not isinstance(place, Mapping) or identity in self._path:
            return 1
        if identity in self._known:
            return self._known[identity]
        if len(self._path) > MAX_CHAIN:
            return MAX_CHECKS + 1
        self._path.add(identity)
        total = 1
        for other in self._beside(cast("Mapping[str, object]", place)):
            total = min(total + self.checks(other), MAX_CHECKS + 1)
        self._path.discard(identity)
        self._known[identity] = total
        return total

    def _beside(self, place: Mapping[str, object]) -> Iterator[object]:
        """The schemas that `place` applies to the same value."""
        for name in _references(place):
            yield self._anchors.get(name)
        for keyword in _ONE:
            yield place.get(keyword)
        for keyword in _MANY:
            branches = place.get(keyword)
            if isinstance(branches, list):
                yield from cast("list[object]", branches)
        dependents = place.get("dependentSchemas")
        if isinstance(dependents, Mapping):
            yield from cast("Mapping[str, object]", dependents).values()


def _references(place: Mapping[str, object]) -> Iterator[str]:
    for keyword in _REFERENCES:
        name = place.get(keyword)
        if isinstance(name, str):
            yield urllib.parse.unquote(name)


def _places(value: object) -> Iterator[Mapping[str, object]]:
    """Every object within `value` that can be a schema, innermost first."""
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value)
        for part in _parts(items):
            yield from _places(part)
        yield items


def _parts(place: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """The objects right below `place`, in lists too."""
    for keyword, item in place.items():
        if keyword in _DATA:
            continue
        for part in cast("list[object]", item) if isinstance(item, list) else [item]:
            if isinstance(part, Mapping):
                yield cast("Mapping[str, object]", part)


def _anchors(value: object, pointer: str = "#") -> Iterator[tuple[str, object]]:
    """What `$ref` may name within the schema: JSON pointers and anchors."""
    yield pointer, value
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := items.get(keyword), str):
                yield f"#{name}", items
        if isinstance(name := items.get("$id"), str):
            yield name, items
        for key, item in items.items():
            yield from _anchors(item, f"{pointer}/{pointers.token(key)}")
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from _anchors(item, f"{pointer}/{index}")
