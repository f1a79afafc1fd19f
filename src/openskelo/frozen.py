"""Values: frozen, slotted, keyword-only dataclasses that are made and imported in a third of the time.

`dataclass(frozen=True)` sets each field through a call of its own, and a step of a run makes a dozen values. Here an
instance is open while it is made and becomes a value of its class as the last thing (ADR 0007).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, NoReturn, ParamSpec, TypeVar, dataclass_transform

_Class = TypeVar("_Class")
_Fields = ParamSpec("_Fields")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: type[_Class]) -> type[_Class]:
    """What `dataclass(frozen=True, slots=True, kw_only=True)` gives, but for the time it takes."""
    made: Any = dataclass(init=False, repr=False, eq=False, match_args=False, slots=True, kw_only=True)(cls)
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


def maker(cls: Callable[_Fields, _Class]) -> Callable[_Fields, _Class]:
    """What makes an instance of a dataclass (without `__post_init__`) as a call of it does, in a third of the time.

    A call of a class packs its arguments twice; a call of a function does not. It is for what every step makes.
    """
    made: Any = cls
    known, parameters, lines = _setting(made)
    known["_new"] = object.__new__
    end = "    return self\n"
    if made.__setattr__ is _frozen:
        end = "    self.__class__ = _closed\n" + end
    else:
        known["_open"] = made
    text = f"def make({parameters}):\n    self = _new(_open)\n{lines}{end}"
    return _defined(text, known, f"{made.__qualname__}.make")


def teller(cls: type[_Class], names: Mapping[str, str]) -> Callable[[_Class], dict[str, Any]]:
    """What gives the fields of `names` as a dict, each under its other name; without those that may be None and are."""
    told: Any = cls
    always: list[str] = []
    lines: list[str] = []
    for one in fields(told):
        if one.name in names and one.default is MISSING:
            always.append(f"{names[one.name]!r}: self.{one.name}")
        elif one.name in names:
            lines.append(f"    if self.{one.name} is not None:\n        told[{names[one.name]!r}] = self.{one.name}\n")
    text = f"def tell(self):\n    told = {{{', '.join(always)}}}\n{''.join(lines)}    return told\n"
    return _defined(text, {}, f"{told.__qualname__}.tell")


def _initialiser(made: Any) -> Callable[..., None]:
    """An `__init__` that sets the fields of an instance while it is of a class that lets it."""
    known, parameters, lines = _setting(made)
    known["_become"] = object.__dict__["__class__"].__set__
    given = f"self, {parameters}" if parameters else "self"
    text = f"def __init__({given}):\n    _become(self, _open)\n{lines}    self.__class__ = _closed\n"
    return _defined(text, known, f"{made.__qualname__}.__init__")


def _setting(made: Any) -> tuple[dict[str, object], str, str]:
    """What a function that sets the fields of `self` knows, takes and does."""
    known: dict[str, object] = {
        "_open": type(f"_Open{made.__name__}", (), {"__slots__": made.__slots__}),
        "_closed": made,
        "_absent": MISSING,
    }
    by_place: list[str] = []
    by_name: list[str] = []
    lines: list[str] = []
    for one in fields(made):
        name = one.name
        default, value = "", name
        if one.default_factory is not MISSING:
            known[f"_make_{name}"] = one.default_factory
            default, value = "=_absent", f"_make_{name}() if {name} is _absent else {name}"
        elif one.default is not MISSING:
            known[f"_default_{name}"] = one.default
            default, value = f"=_default_{name}", name if one.init else f"_default_{name}"
        lines.append(f"    self.{name} = {value}\n")
        if one.init:
            (by_name if one.kw_only else by_place).append(name + default)
    parameters = ", ".join([*by_place, "*", *by_name] if by_name else by_place)
    return known, parameters, "".join(lines)


def _defined(text: str, known: dict[str, object], name: str) -> Callable[..., Any]:
    exec(text, known)  # noqa: S102  as `dataclass` does: the text holds nothing but the names of fields
    made: Any = known[name.rpartition(".")[2]]
    made.__qualname__ = name
    return made


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
