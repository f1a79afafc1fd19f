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


def _call_table_method(tables: list[av.Table], name: str, arguments: Arguments) -> Outcome:
    match name:
        case "get" | "pop" | "setdefault":
            return _get(tables, name, arguments)
        case "update":
            added = [*arguments.keywords.entries]
            for value in arguments.positional[0] if arguments.positional else ():
                added += value.entries if isinstance(value, av.Table) else ()
            changed = [av.table([*table.entries, *added], open=table.open) for table in tables]
            return Outcome(av.NONE, frozenset(changed))
        case "values":
            return Outcome(av.items([values for table in tables for _, values in table.entries], exact=False))
        case "copy":
            return Outcome(frozenset(tables))
        case _:
            return Outcome(av.UNKNOWN)


def _get(tables: list[av.Table], name: str, arguments: Arguments) -> Outcome:
    key = arguments.literal(0)
    default = arguments.positional[1] if len(arguments.positional) > 1 else av.NONE
    changed = None
    if name == "setdefault" and key is not None:
        changed = frozenset(av.table([(key, default), *table.entries], open=table.open) for table in tables)
    known = [dict(table.entries).get(key) for table in tables]
    missing = av.UNKNOWN if any(table.open for table in tables) else default
    return Outcome(av.join(values if values is not None else missing for values in known), changed)
