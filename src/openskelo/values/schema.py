"""JSON Schema (draft 2020-12): compiled once, checked offline, in bounded time, and silent about the values it refuses."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, cast

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.values import canonical
from openskelo.values.fit import JsonSchema, fits

__all__ = ["MAX_BYTES", "MAX_VIOLATIONS", "JsonSchema", "Schema", "Violation", "compile", "fits"]

#: How long a schema may be, in bytes of canonical JSON.
MAX_BYTES = 256 * 1024
#: How many violations `check` reports at most.
MAX_VIOLATIONS = 20

_MASK = "the value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One way a value breaks its schema: where (`/a/0/b`, empty for the value itself) and how, without the value."""

    path: str
    message: str


class _Error(Protocol):
    @property
    def instance_path(self) -> list[str | int]: ...
    @property
    def message(self) -> str: ...


class _Validator(Protocol):
    def is_valid(self, instance: object, /) -> bool: ...
    def iter_errors(self, instance: object, /) -> Iterable[_Error]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """A compiled schema."""

    digest: str
    _validator: _Validator

    def check(self, value: Json) -> tuple[Violation, ...]:
        """Every way in which `value` (plain lists and dicts) breaks the schema, at most 20; empty when it holds."""
        if self._validator.is_valid(value):
            return ()
        found: list[Violation] = []
        for error in self._validator.iter_errors(value):
            found.append(Violation(path=_pointer(error.instance_path), message=error.message))
            if len(found) == MAX_VIOLATIONS:
                break
        return tuple(found)


def compile(schema: JsonSchema) -> Schema:  # noqa: A001 -- read as `schema.compile`
    """The compiled `schema`, cached by content; `InvalidInput` SCHEMA_INVALID says what is wrong with it.

    `$ref` reaches only into the schema itself; `format` is asserted; `pattern` is linear in time, so it has no look-around.
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
    try:
        validator = jsonschema_rs.validator_for(
            data.decode(),
            validate_formats=True,
            offline=True,
            mask=_MASK,
            pattern_options=jsonschema_rs.RegexOptions(),
        )
    except jsonschema_rs.ValidationError as error:
        raise _invalid(f"{error.message} (at {_pointer(error.instance_path) or '/'})") from None
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise _invalid(str(error)) from None
    return Schema(digest=canonical.digest_bytes(data), _validator=cast(_Validator, validator))


def _pointer(path: list[str | int]) -> str:
    """The JSON pointer (RFC 6901) of `path`."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _invalid(reason: str) -> errors.InvalidInput:
    return errors.InvalidInput(
        f"not a valid JSON Schema: {reason}",
        code="SCHEMA_INVALID",
        hint="draft 2020-12; $ref only within the schema; pattern without look-around",
    )
