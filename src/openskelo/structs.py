"""Classes with named fields: `frozen` ones are values, `mutable` ones change; `frozen_data` and `mutable_data` are
the kernel's.

They are written, read and type-checked like keyword-only dataclasses, and made by msgspec, which creates an instance in
a seventh of the time of a frozen dataclass (ADR 0011) and checks a JSON document against the declared types
(`msgspec.convert`).
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar, dataclass_transform

import msgspec
from msgspec import field, structs

__all__ = ["Field", "as_dict", "field", "fields", "frozen", "frozen_data", "mutable", "mutable_data", "replace"]

_Class = TypeVar("_Class")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: type[_Class]) -> type[_Class]:
    """Return a class of immutable values with keyword-only fields; equal values have equal hashes."""
    return _make_struct(cls, frozen=True, kw_only=True)


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[_Class]) -> type[_Class]:
    """Return a class whose instances can be changed; its fields may be passed by position."""
    return _make_struct(cls, frozen=False, kw_only=False)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen_data(cls: type[_Class]) -> type[_Class]:
    """Return a class like `frozen` whose values the garbage collector skips; no value may refer back to itself.

    It is for values made of text, numbers, JSON and other such values. A long run has many thousands of them: resuming
    it takes a quarter less time.
    """
    return _make_struct(cls, frozen=True, kw_only=True, gc=False)


@dataclass_transform(field_specifiers=(field,))
def mutable_data(cls: type[_Class]) -> type[_Class]:
    """Return a class like `mutable` that the garbage collector skips: the state of a run. None may refer to itself."""
    return _make_struct(cls, frozen=False, kw_only=False, gc=False)


def _make_struct(cls: type[_Class], *, frozen: bool, kw_only: bool, gc: bool = True) -> type[_Class]:
    body = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    struct: Any = msgspec.StructMeta(
        cls.__name__, (msgspec.Struct,), body, frozen=frozen, kw_only=kw_only, forbid_unknown_fields=True, gc=gc
    )
    return struct


def replace(value: _Class, /, **changes: Any) -> _Class:
    """Return a copy with other values in these fields."""
    struct: Any = value
    return structs.replace(struct, **changes)


def as_dict(value: object) -> dict[str, Any]:
    """Return the fields of a value by name."""
    struct: Any = value
    return structs.asdict(struct)


class Field(NamedTuple):
    """A field of a class."""

    name: str
    #: The annotation as written.
    type: str
    required: bool
    #: None if the field is required.
    default: object


def fields(cls: type) -> tuple[Field, ...]:
    """Return the fields of a class in the order of their declaration."""
    struct: Any = cls
    return tuple(
        [
            Field(info.name, struct.__annotations__[info.name], info.required, _default(info))
            for info in structs.fields(struct)
        ]
    )


def _default(info: structs.FieldInfo) -> object:
    if info.default_factory is not msgspec.NODEFAULT:
        return info.default_factory()
    return None if info.required else info.default
