"""JSON Schema (draft 2020-12): compiled once, checked offline, bounded in time, silent about the values it refuses."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, cast

import orjson

from openskelo import errors
from openskelo.frozen import frozen
from openskelo.kernel.json import Json
from openskelo.values import canonical, pointer, schema_cost
from openskelo.values.fit import JsonSchema, fits

__all__ = ["MAX_BYTES", "MAX_VIOLATIONS", "JsonSchema", "Schema", "Violation", "compile", "fits"]

#: How long a schema may be, in bytes of canonical JSON.
MAX_BYTES = 256 * 1024
#: How many violations `check` reports at most.
MAX_VIOLATIONS = 20

_MASK = "the value"
_MAX_MESSAGE = 500
# Whether a value is valid takes linear time; listing what is wrong tries every way through a schema that recurs.
_MAX_RECURSION = 4096


@frozen
class Violation:
    """One way a value breaks its schema: where (`/a/0/b`, empty for the value itself) and how, without the value."""

    path: str
    message: str


class _Kind(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> object: ...


class _Error(Protocol):
    @property
    def instance_path(self) -> list[str | int]: ...
    @property
    def message(self) -> str: ...
    @property
    def kind(self) -> _Kind: ...


class _Validator(Protocol):
    def is_valid(self, instance: object, /) -> bool: ...
    def iter_errors(self, instance: object, /) -> Iterable[_Error]: ...


@frozen
class Schema:
    """A compiled schema."""

    digest: str
    _validator: _Validator
    _recursions: int

    @property
    def holds(self) -> Callable[[Json], bool]:
        """What says whether a value keeps the schema, and no more. For values in plain lists and dicts."""
        return self._validator.is_valid

    def check(self, value: Json) -> tuple[Violation, ...]:
        """Every way in which `value` breaks the schema, at most 20; empty when it holds.

        `InvalidInput` with a code of `canonical.admit` when `value` is no JSON at all.
        """
        try:
            if self._validator.is_valid(value):
                return ()
        except ValueError:
            # Not in plain lists and dicts, or not JSON, which `admit` then says.
            value = canonical.admit(value)
            if self._validator.is_valid(value):
                return ()
        if self._recursions > 1 and self._recursions ** _depth(value) > _MAX_RECURSION:
            return (Violation(path="", message="the value breaks the schema; it nests too deeply to say where"),)
        found = itertools.islice(self._validator.iter_errors(value), MAX_VIOLATIONS)
        return tuple(Violation(path=pointer.of(error.instance_path), message=_message(error)) for error in found)


def _depth(value: Json) -> int:
    match value:
        case str():
            return 0
        case Mapping():
            return 1 + max(map(_depth, value.values()), default=0)
        case Sequence():
            return 1 + max(map(_depth, value), default=0)
        case _:
            return 0


def _message(error: _Error) -> str:
    """The error in words; for alternatives, which one is missed by how little, as that is what to repair."""
    words = _words(error)
    branches = cast("list[list[_Error]]", error.kind.value) if error.kind.name in ("anyOf", "oneOf") else None
    if isinstance(branches, list):
        reasons = [
            f"{pointer.of(branch[0].instance_path)} {_words(branch[0])}".strip() for branch in branches if branch
        ]
        words = f"{words}: {'; or '.join(reasons)}" if reasons else words
    return words if len(words) <= _MAX_MESSAGE else words[: _MAX_MESSAGE - 3] + "..."


def _words(error: _Error) -> str:
    """The library's words, but every value that an `enum` allows: whoever has to choose must know them."""
    allowed = cast("list[Json]", error.kind.value) if error.kind.name == "enum" else None
    if allowed == []:
        return f"{_MASK} is refused, as any would be: the `enum` is empty"
    if allowed is None or len(allowed) < 4:  # so many the library lists itself
        return error.message
    *most, last = (orjson.dumps(value).decode() for value in allowed)
    words = f"{_MASK} is not one of {', '.join(most)} or {last}"
    return words if len(words) <= _MAX_MESSAGE else error.message


def compile(schema: JsonSchema) -> Schema:  # noqa: A001 -- read as `schema.compile`
    """The compiled `schema`, cached by content; `InvalidInput` SCHEMA_INVALID says what is wrong with it.

    `$ref` reaches only into the schema itself; `format` is asserted; `pattern` takes linear time, without look-around.
    """
    try:
        admitted = canonical.admit(schema)
        data = canonical.dumps(admitted)
    except errors.InvalidInput as error:
        raise _invalid(error.message) from None
    return _compile(data)


@functools.lru_cache(maxsize=1024)
def _compile(data: bytes) -> Schema:
    import jsonschema_rs  # noqa: PLC0415 -- start-up is counted

    if len(data) > MAX_BYTES:
        raise _invalid(f"it has more than {MAX_BYTES} bytes")
    if data[:1] not in (b"{", b"t", b"f"):
        raise _invalid("a schema is an object, true or false")
    schema = orjson.loads(data)
    if reason := schema_cost.excess(schema):
        raise _invalid(reason)
    try:
        # First without the mask: a schema is its author's own text, and says best itself what is wrong with it.
        jsonschema_rs.meta.validate(schema)
        validator = jsonschema_rs.validator_for(
            schema,
            validate_formats=True,
            offline=True,
            mask=_MASK,
            pattern_options=jsonschema_rs.RegexOptions(),
        )
    except jsonschema_rs.ValidationError as error:
        where = pointer.of(error.instance_path) or "/"
        raise _invalid(f"{_message(error)} (at {where})".replace(_MASK, "it")) from None
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise _invalid(str(error)) from None
    return Schema(
        digest=canonical.digest_bytes(data),
        _validator=cast(_Validator, validator),
        _recursions=schema_cost.recursions(schema),
    )


def _invalid(reason: str) -> errors.InvalidInput:
    return errors.InvalidInput(
        f"not a valid JSON Schema: {reason}",
        code="SCHEMA_INVALID",
        hint="draft 2020-12; $ref only within the schema; pattern without look-around",
    )
