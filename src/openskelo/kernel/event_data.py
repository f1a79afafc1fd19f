"""An event's `data` as the log holds it, and back: its fields but `at`, under their names on the wire.

Two events are written a step and all are read on a resume, so each class gets functions of its own when first used.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from openskelo.frozen import fields, teller
from openskelo.kernel.events import TYPES, Event
from openskelo.kernel.json import Json

#: The fields that JSON reads back as lists and the events hold as tuples.
_TUPLES = frozenset({"verdicts", "reset", "approvers", "items", "taken"})


def encode(event: Event) -> dict[str, Json]:
    """The event's `data`: every field but `at` that is not None, under its wire name."""
    return writer(type(event))(event)


def decode(name: str, data: Mapping[str, Json], at: int) -> Event:
    """The event behind an envelope; KeyError for an unknown type, TypeError for missing or unknown fields."""
    make, renamed, tuples = _reader(name)
    if not renamed and tuples.isdisjoint(data):
        return make(at=at, **data)
    arguments: dict[str, Any] = {**data}
    for field, wire in renamed:
        if wire in arguments:
            arguments[field] = arguments.pop(wire)
    for field in tuples:
        if isinstance(arguments.get(field), list):
            arguments[field] = tuple(arguments[field])
    return make(at=at, **arguments)


@functools.cache
def _reader(name: str) -> tuple[Callable[..., Event], tuple[tuple[str, str], ...], frozenset[str]]:
    """What makes an event of this type, the fields that the wire calls otherwise, and those that are tuples."""
    cls = TYPES[name]
    wired = [(field.name, _camel(field.name)) for field in fields(cls)]
    renamed = tuple((name, wire) for name, wire in wired if name != wire)
    return cls, renamed, _TUPLES.intersection(name for name, _ in wired)


@functools.cache
def writer(cls: type[Event]) -> Callable[[Any], dict[str, Json]]:
    """What `encode` does with the events of a class."""
    return teller(cls, {field.name: _camel(field.name) for field in fields(cls) if field.name != "at"})


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)
