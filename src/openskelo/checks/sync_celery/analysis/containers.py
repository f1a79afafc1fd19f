"""The methods of lists and dicts."""

from __future__ import annotations

from typing import NamedTuple

from openskelo.checks.sync_celery.analysis import abstract_values as av
from openskelo.checks.sync_celery.analysis.arguments import Arguments

_GROWING = frozenset({"append", "add", "appendleft", "insert", "extend"})


class Outcome(NamedTuple):
    """The result of a method, and the container afterwards; None if it is as before."""

    result: av.Values
    changed: av.Values | None = None


def call_method(owners: av.Values, name: str, arguments: Arguments) -> Outcome | None:
    """Return what a method of a list or dict does; None if the owner is none of them."""
    tables = [owner for owner in owners if isinstance(owner, av.Table)]
    if tables:
        return _call_table_method(tables, name, arguments)
    lists = [owner for owner in owners if isinstance(owner, av.Items)]
    if not lists:
        return None
    elements = av.elements_of(owners) if any(owner.elements for owner in lists) else av.NOTHING
    if name in _GROWING and arguments.positional:
        added = arguments.positional[-1]
        added = av.elements_of(added) if name == "extend" else added
        return Outcome(av.NONE, av.items([elements | added], exact=False))
    return Outcome(elements or av.UNKNOWN if name in ("pop", "popleft") else av.UNKNOWN)


def updated(owners: av.Values, added: av.Values) -> av.Values | None:
    """Return what a dict is after `owner |= added`; None if neither is known to be a dict."""
    tables = [owner for owner in owners if isinstance(owner, av.Table)]
    others = [other for other in added if isinstance(other, av.Table)]
    if not tables and not others:
        return None
    empty = av.table([], open=True)
    return frozenset(
        av.table([*table.entries, *other.entries], open=table.open or other.open)
        for table in tables or [empty]
        for other in others or [empty]
    )


def without(owners: av.Values, key: object) -> av.Values:
    """Return what a dict is without a key."""
    return frozenset(
        av.table([entry for entry in owner.entries if entry[0] != key], open=owner.open)
        if isinstance(owner, av.Table)
        else owner
        for owner in owners
    )


def _call_table_method(tables: list[av.Table], name: str, arguments: Arguments) -> Outcome:
    match name:
        case "get" | "pop" | "setdefault":
            return _get(tables, name, arguments)
        case "update":
            added = arguments.positional[0] if arguments.positional else frozenset({av.table([])})
            changed = updated(updated(frozenset(tables), added) or av.UNKNOWN, frozenset({arguments.keywords}))
            return Outcome(av.NONE, changed)
        case "clear":
            return Outcome(av.NONE, frozenset({av.table([])}))
        case "values":
            return Outcome(av.items([values for table in tables for _, values in table.entries], exact=False))
        case "copy":
            return Outcome(frozenset(tables))
        case _:
            return Outcome(av.UNKNOWN)


def _get(tables: list[av.Table], name: str, arguments: Arguments) -> Outcome:
    key = arguments.literal(0)
    default = av.UNKNOWN if name == "pop" else av.NONE  # `pop` raises where there is no default
    if len(arguments.positional) > 1:
        default = arguments.positional[1]
    results = [_entry(table, key, default) for table in tables]
    changed = None
    if key is not None and name == "pop":
        changed = without(frozenset(tables), key)
    elif key is not None and name == "setdefault":
        changed = frozenset(
            av.table([*table.entries, (key, values)], open=table.open)
            for table, values in zip(tables, results, strict=True)
        )
    return Outcome(av.join(results), changed)


def _entry(table: av.Table, key: object, default: av.Values) -> av.Values:
    if key is None:
        return av.UNKNOWN
    return dict(table.entries).get(key) or (av.join((default, av.UNKNOWN)) if table.open else default)
