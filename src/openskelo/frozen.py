"""Classes with named fields, made by msgspec: `frozen` and `plain` ones are values, `mutable` and `lean` ones change.

They are written, read and type-checked like keyword-only dataclasses. An instance is made in a seventh of the time of
a frozen dataclass, and a step of a run makes a dozen (ADR 0011).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar, dataclass_transform

import msgspec
from msgspec import field, structs

__all__ = ["Field", "as_dict", "field", "fields", "frozen", "lean", "mutable", "plain", "replace", "teller"]

_Class = TypeVar("_Class")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: type[_Class]) -> type[_Class]:
    """A class of values: what it was made with cannot be changed, and equal values have one hash."""
    return _struct(cls, frozen=True, kw_only=True)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def plain(cls: type[_Class]) -> type[_Class]:
    """As `frozen`, for values that hold nothing but text, numbers, JSON and other plain values.

    None of them leads back to itself, so that Python's collector need not look at them: a run has many.
    """
    return _struct(cls, frozen=True, kw_only=True, gc=False)


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[_Class]) -> type[_Class]:
    """A class whose instances change; its fields may be given by place.

    An instance that begins without any container is never looked at by Python's collector: nothing that is put into it
    later may lead back to it.
    """
    return _open(_struct(cls, frozen=False, kw_only=False))


@dataclass_transform(field_specifiers=(field,))
def lean(cls: type[_Class]) -> type[_Class]:
    """As `mutable`, for what never leads back to itself, whatever is put into it: the collector looks at none of them.

    The state of a run is many of them.
    """
    return _open(_struct(cls, frozen=False, kw_only=False, gc=False))


def _open(cls: type[_Class]) -> type[_Class]:
    made: Any = cls
    # As every other class has it. With msgspec's own, which lets the collector look once a container is put in, the
    # interpreter sets a field in three times the time, and a step of a run sets fifty.
    made.__setattr__ = object.__setattr__
    made.__delattr__ = object.__delattr__
    return made


def _struct(cls: type[_Class], *, frozen: bool, kw_only: bool, gc: bool = True) -> type[_Class]:
    body = {name: part for name, part in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    made: Any = msgspec.StructMeta(cls.__name__, (msgspec.Struct,), body, frozen=frozen, kw_only=kw_only, gc=gc)
    return made


def replace(value: _Class, /, **changes: Any) -> _Class:
    """A copy with other values in these fields; what its class says to be derived from the others is not taken over."""
    struct: Any = value
    for name in getattr(struct, "__derived__", ()):
        changes.setdefault(name, None)
    return structs.replace(struct, **changes)


def as_dict(value: object) -> dict[str, Any]:
    """The fields of a value by name."""
    struct: Any = value
    return structs.asdict(struct)


class Field(NamedTuple):
    """One field of a class. `type` is what its author wrote; `default` is None where a value is `required`."""

    name: str
    type: str
    required: bool
    default: object


def fields(cls: type) -> tuple[Field, ...]:
    """The fields of a class, in the order in which it declares them."""
    struct: Any = cls
    names: tuple[str, ...] = struct.__struct_fields__
    defaults = (msgspec.NODEFAULT,) * (len(names) - len(struct.__struct_defaults__)) + struct.__struct_defaults__
    return tuple([_field(struct, name, default) for name, default in zip(names, defaults, strict=True)])


def _field(struct: Any, name: str, default: Any) -> Field:
    required = default is msgspec.NODEFAULT
    factory = getattr(default, "factory", None)
    known = None if required else default if factory is None else factory()
    return Field(name, struct.__annotations__[name], required, known)


def teller(cls: type[_Class], names: Mapping[str, str]) -> Callable[[_Class], dict[str, Any]]:
    """What gives the fields of `names` as a dict, each under its other name; without those that may be None and are."""
    always: list[str] = []
    lines: list[str] = []
    for one in fields(cls):
        if one.name in names and one.required:
            always.append(f"{names[one.name]!r}: self.{one.name}")
        elif one.name in names:
            lines.append(f"    if self.{one.name} is not None:\n        told[{names[one.name]!r}] = self.{one.name}\n")
    text = f"def tell(self):\n    told = {{{', '.join(always)}}}\n{''.join(lines)}    return told\n"
    known: dict[str, Any] = {}
    exec(text, known)  # noqa: S102  the text holds nothing but the names of fields
    return known["tell"]
