"""Values: frozen, slotted, keyword-only dataclasses that are made and imported in a third of the time.

`dataclass(frozen=True)` sets each field through a call of its own, and a step of a run makes a dozen values. Here an
instance is open while it is made and becomes a value of its class as the last thing (ADR 0007).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform

_Class = TypeVar("_Class")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: type[_Class]) -> type[_Class]:
    """What `dataclass(frozen=True, slots=True, kw_only=True)` gives, but for the time it takes."""
    made: Any = dataclass(init=False, repr=False, eq=False, match_args=False, slots=True)(cls)
    compared = tuple(one.name for one in fields(made) if one.compare)
    shown = tuple(one.name for one in fields(made) if one.repr)
    made.__init__ = _initialiser(made)
    made.__match_args__ = ()
    made.__setattr__ = _frozen
    made.__delattr__ = _frozen
    made.__getstate__ = _state
    made.__setstate__ = _restore
    if "__repr__" not in vars(cls):
        made.__repr__ = _shows(shown)
    if "__eq__" not in vars(cls):
        made.__eq__, made.__hash__ = _compares(compared)
    return made


def _initialiser(made: Any) -> Callable[..., None]:
    """An `__init__` that sets the fields of an instance while it is of a class that lets it."""
    known: dict[str, object] = {
        "_become": object.__dict__["__class__"].__set__,
        "_open": type(f"_Open{made.__name__}", (), {"__slots__": made.__slots__}),
        "_closed": made,
    }
    taken: list[str] = []
    lines: list[str] = []
    for one in fields(made):
        name = one.name
        if one.default_factory is not MISSING:
            known[f"_make_{name}"] = one.default_factory
            known["_absent"] = MISSING
            lines.append(f"    self.{name} = _make_{name}() if {name} is _absent else {name}")
            default = "_absent"
        elif one.default is not MISSING:
            known[f"_default_{name}"] = one.default
            lines.append(f"    self.{name} = {name if one.init else f'_default_{name}'}")
            default = f"_default_{name}"
        else:
            lines.append(f"    self.{name} = {name}")
            default = ""
        if one.init:
            taken.append(f"{name}={default}" if default else name)
    parameters = ", *, " + ", ".join(taken) if taken else ""
    body = "\n".join(lines)
    text = f"def __init__(self{parameters}):\n    _become(self, _open)\n{body}\n    self.__class__ = _closed\n"
    exec(text, known)  # noqa: S102  as `dataclass` does: the text holds nothing but the names of fields
    made_init: Any = known["__init__"]
    made_init.__qualname__ = f"{made.__qualname__}.__init__"
    return made_init


def _frozen(self: object, name: str, *_: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot change {name!r} of a {type(self).__name__}")


def _state(self: Any) -> list[object]:
    return [getattr(self, one.name) for one in fields(self)]


def _restore(self: Any, state: list[object]) -> None:
    for one, part in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, part)


def _shows(names: tuple[str, ...]) -> Callable[[object], str]:
    def __repr__(self: object) -> str:  # noqa: N807  it becomes the class's
        parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({parts})"

    return __repr__


def _compares(names: tuple[str, ...]) -> tuple[Callable[[object, object], Any], Callable[[object], int]]:
    parts: Callable[[object], object] = attrgetter(*names) if names else (lambda _: ())

    def __eq__(self: object, other: object) -> Any:  # noqa: N807
        return parts(self) == parts(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: object) -> int:  # noqa: N807
        return hash(parts(self))

    return __eq__, __hash__
