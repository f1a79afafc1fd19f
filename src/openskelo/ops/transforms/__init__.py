"""The transforms: each module of this package is one.

A transform is a pure function of a step's arguments. A module holds the constant `TRANSFORM`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from openskelo import errors
from openskelo.extensions import Catalog
from openskelo.handlers import project_registry
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import field, frozen


@frozen
class Transform:
    """A built-in transform."""

    name: str
    #: What it makes.
    summary: str
    #: The JSON Schema of its arguments, beside `fn`.
    args: JsonObject
    #: Gets the arguments with their values, and the same as written, with refs in place.
    apply: Callable[[JsonObject, JsonObject], Json]
    #: Markdown for its row in the reference.
    doc: str = ""
    #: Arguments that a step gets if it names none: refs to inputs, of which those count that the plan has.
    default_args: Mapping[str, str] = field(default_factory=dict[str, str])
    #: Arguments that are used as they are written: a ref in them is text.
    constant_args: frozenset[str] = frozenset()
    #: Arguments that are compiled when it runs; the loader compiles them before (InvalidInput).
    compiles: Mapping[str, Callable[[Json], object]] = field(default_factory=dict[str, Callable[[Json], object]])

    @property
    def entry(self) -> project_registry.Function:
        """The transform as a project registers its own."""
        return project_registry.Function(name=self.name, kind="builtin", target=self.name, args=self.args)


TRANSFORMS: Mapping[str, Transform] = Catalog(__name__, "TRANSFORM", Transform)


def args_schema(properties: JsonObject, **more: Json) -> JsonObject:
    """Return the JSON Schema of arguments with these keys and no others."""
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def items(value: Json) -> Sequence[Json]:
    """Return a list argument; empty for anything else."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value
    return ()


def mapping(value: Json) -> JsonObject:
    """Return an object argument (AttemptFailed TRANSFORM_FAILED)."""
    if not isinstance(value, Mapping):
        raise failure("it is not an object")
    return value


def text(value: Json) -> str:
    """Return a text argument (AttemptFailed TRANSFORM_FAILED)."""
    if not isinstance(value, str):
        raise failure("it is not a text")
    return value


def failure(reason: str) -> errors.AttemptFailed:
    """Return the failure of a transform; it is never retried."""
    return errors.AttemptFailed(reason, code="TRANSFORM_FAILED", retryable=False)
