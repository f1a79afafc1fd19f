"""Whether an event that came from outside holds what its fields are declared to hold.

`kernel.event_data.decode` trusts our own log; a file from elsewhere may have the right names with the wrong kinds of
value.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeAlias, cast, get_args

from openskelo.frozen import fields
from openskelo.kernel import events

Check: TypeAlias = Callable[[object], bool]

_NAMED: Mapping[str, tuple[str, ...]] = {"Ending": get_args(events.Ending), "Next": get_args(events.Next)}


def fault(event: events.Event) -> str | None:
    """The first field that does not hold what it is declared to hold, in words; None when all do."""
    for name, declared, check in _checks(type(event)):
        if not check(getattr(event, name)):
            return f"`{name}` is not {declared}"
    return None


def is_stored(value: object) -> bool:
    """Whether `value` is a value as events hold it: inline, or the name and size of a blob."""
    if not isinstance(value, Mapping):
        return False
    held = cast("Mapping[str, object]", value)
    match sorted(held):
        case ["value"]:
            return True
        case ["blob", "bytes"]:
            return is_digest(held["blob"]) and _is_count(held["bytes"])
        case _:
            return False


def is_digest(value: object) -> bool:
    """Whether `value` is `sha256:` and 64 lower-case hexadecimal digits."""
    return isinstance(value, str) and value.startswith("sha256:") and is_hex(value[7:])


def is_hex(text: str) -> bool:
    """Whether `text` is 64 lower-case hexadecimal digits."""
    return len(text) == 64 and set(text) <= set("0123456789abcdef")


@cache
def _checks(cls: type[events.Event]) -> tuple[tuple[str, str, Check], ...]:
    return tuple((f.name, str(f.type), _check_of(str(f.type))) for f in fields(cls))


def _check_of(declared: str) -> Check:
    if declared.endswith(" | None"):
        inner = _check_of(declared.removesuffix(" | None"))
        return lambda value: value is None or inner(value)
    if declared.startswith("tuple["):
        each = _check_of(declared.removeprefix("tuple[").removesuffix(", ...]"))
        return lambda value: isinstance(value, tuple) and all(each(part) for part in cast("tuple[object, ...]", value))
    if declared.startswith("Literal["):
        return _one_of(ast.literal_eval(f"({declared.removeprefix('Literal[').removesuffix(']')},)"))
    if declared in _NAMED:
        return _one_of(_NAMED[declared])
    return _PLAIN[declared]


def _one_of(allowed: tuple[str, ...]) -> Check:
    return lambda value: isinstance(value, str) and value in allowed


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


_PLAIN: Mapping[str, Check] = {
    "int": lambda value: type(value) is int,
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "Json": lambda _value: True,
    "JsonObject": lambda value: isinstance(value, Mapping),
    "Stored": is_stored,
}
