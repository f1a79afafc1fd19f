"""The one way a JSON value becomes bytes and a digest (RFC 8785), and the one door where values come in."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import cast

import orjson

from openskelo import errors
from openskelo.kernel.json import Json

#: The largest magnitude an integer may have; above it, JSON readers that use doubles disagree on the value.
MAX_INTEGER = 2**53
#: How many arrays and objects a value may nest.
MAX_DEPTH = 64

# Subclasses, dataclasses and dates are passed to `_open`, so that nothing is written in a form that JSON does not name.
_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)


def dumps(value: Json) -> bytes:
    """The RFC 8785 bytes of `value`; `InvalidInput` (NUMBER_INVALID, NUMBER_RANGE, TOO_DEEP, NOT_JSON) if it has none.

    orjson writes the same bytes as RFC 8785 except for four things, each of which leaves a trace in its output: `null`
    may have been NaN, `.0` and `e+` an integral double, `e-6` a double that RFC 8785 writes without an exponent, and
    a key outside the basic plane (which sorts elsewhere in UTF-16) is not ASCII. Only then is the value itself looked at.
    """
    try:
        data = orjson.dumps(value, default=_open, option=_OPTIONS)
    except (TypeError, RecursionError):
        return _dumps_slowly(value)
    if (
        data.isascii()
        and b"null" not in data
        and b".0" not in data
        and b"e-6" not in data
        and b"e+" not in data
        or _orjson_agrees(value)
    ):
        return data
    return _dumps_slowly(value)


def digest(value: Json) -> str:
    """`sha256:` and the hex digest of the canonical bytes of `value`."""
    return "sha256:" + hashlib.sha256(dumps(value)).hexdigest()


def digest_bytes(data: bytes) -> str:
    """`sha256:` and the hex digest of `data`."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def loads(data: bytes | str) -> Json:
    """The admitted value that the JSON text `data` holds; `InvalidInput` with JSON_INVALID or a code of `admit`."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise errors.InvalidInput(f"not valid JSON: {error}", code="JSON_INVALID") from None
    return admit(value)


def admit(value: object) -> Json:
    """`value` as JSON that every part of the system reads alike; the same object when nothing had to change.

    Integral doubles become integers, tuples lists, mappings dicts. `InvalidInput` refuses NaN and infinity
    (NUMBER_INVALID), integers beyond 2**53 (NUMBER_RANGE), nesting beyond 64 (TOO_DEEP), and keys, text and objects that
    JSON does not know (NOT_JSON).
    """
    return _admit(value, MAX_DEPTH)


def _admit(value: object, room: int) -> Json:
    kind = type(value)
    if kind is str:
        text = cast(str, value)
        return text if text.isascii() else _admit_text(text)
    if kind is int:
        return _admit_integer(cast(int, value))
    if kind is bool or value is None:
        return cast("bool | None", value)
    if kind is dict:
        return _admit_dict(cast("dict[object, object]", value), room)
    if kind is list:
        return _admit_list(cast("list[object]", value), room)
    if kind is float:
        return _admit_float(cast(float, value))
    return _admit_other(value, room)


def _admit_dict(value: dict[object, object], room: int) -> Json:
    if not room:
        raise _too_deep()
    changed: dict[str, Json] = {}
    for key, item in value.items():
        if type(key) is not str:
            raise _not_json(f"a key of type {type(key).__name__}", "JSON object keys are text")
        if not key.isascii():
            _admit_text(key)
        kind = type(item)
        # The common leaves are settled here: a call for each of them would cost more than all the rest.
        if kind is bool or item is None or kind is str and cast(str, item).isascii():
            continue
        admitted = _admit(item, room - 1)
        if admitted is not item:
            changed[key] = admitted
    return cast(Json, {**value, **changed}) if changed else cast(Json, value)


def _admit_list(value: list[object], room: int) -> Json:
    if not room:
        raise _too_deep()
    changed: dict[int, Json] = {}
    for index, item in enumerate(value):
        admitted = _admit(item, room - 1)
        if admitted is not item:
            changed[index] = admitted
    if not changed:
        return cast(Json, value)
    return cast(Json, [changed.get(index, item) for index, item in enumerate(value)])


def _admit_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _not_json("text with a lone surrogate", "the text was cut or decoded wrongly") from None
    return text


def _admit_integer(number: int) -> int:
    if -MAX_INTEGER <= number <= MAX_INTEGER:
        return number
    raise errors.InvalidInput(
        "a number is beyond 2**53, where readers of JSON disagree on its value",
        code="NUMBER_RANGE",
        hint="use a string",
    )


def _admit_float(number: float) -> float | int:
    if number.is_integer():
        return _admit_integer(int(number))
    if number - number != 0:
        raise _not_a_number()
    return number


def _admit_other(value: object, room: int) -> Json:
    """Settles what handlers may well return: subclasses of the JSON types, tuples and other mappings."""
    match value:
        case str():
            return _admit_text(str.__str__(value))
        case int():
            return _admit_integer(int(value))
        case float():
            return _admit_float(float(value))
        case Mapping():
            return _admit_dict(dict(cast("Mapping[object, object]", value)), room)
        case list() | tuple():
            return _admit_list(list(cast("Sequence[object]", value)), room)
        case _:
            raise _not_json(f"a value of type {type(value).__name__}", "return text, numbers, booleans, lists or dicts")


def _open(value: object) -> object:
    """Gives orjson the plain form of a value that it does not take as it is."""
    match value:
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case Mapping():
            return dict(cast("Mapping[object, object]", value))
        case list():
            return list(cast("list[object]", value))
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            return list(cast("Sequence[object]", value))
        case _:
            raise TypeError


def _orjson_agrees(value: object) -> bool:
    """Whether orjson's bytes for `value` are those of RFC 8785: no astral key, and every double in the range both write alike."""
    match value:
        case str() | int() | None:
            return True
        case float():
            size = abs(value)
            # Not written as `not (...)`: NaN must come out False.
            return (
                size < 1e-6
                and size != 0
                or 1e-5 <= size < 1e16
                and not value.is_integer()
                or 1e21 <= size < float("inf")
            )
        case Mapping():
            items = cast("Mapping[str, object]", value)
            return all((key.isascii() or max(key) < "\U00010000") and _orjson_agrees(items[key]) for key in items)
        case Sequence():
            return all(_orjson_agrees(item) for item in cast("Sequence[object]", value))
        case _:
            return False


def _dumps_slowly(value: object) -> bytes:
    import rfc8785  # noqa: PLC0415 -- rarely needed, and start-up is counted

    try:
        return rfc8785.dumps(_plain(value))
    except rfc8785.FloatDomainError:
        raise _not_a_number() from None
    except rfc8785.CanonicalizationError as error:
        raise _not_json(
            str(error), "only text, numbers, booleans, null, lists and objects have a canonical form"
        ) from None
    except RecursionError:
        raise _too_deep() from None


def _plain(value: object) -> None | bool | int | float | str | list[object] | dict[str, object]:
    """`value` in the types that the `rfc8785` package takes."""
    match value:
        case None | bool() | str() | float():
            return value
        case int():
            # The package stops one short of 2**53; as a double it writes the same digits.
            return float(_admit_integer(value)) if abs(value) == MAX_INTEGER else _admit_integer(value)
        case Mapping():
            items = cast("Mapping[str, object]", value)
            return {key: _plain(items[key]) for key in items}
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            return [_plain(item) for item in cast("Sequence[object]", value)]
        case _:
            raise _not_json(f"a value of type {type(value).__name__}", "admit the value first")


def _not_a_number() -> errors.InvalidInput:
    return errors.InvalidInput(
        "NaN and infinity are not JSON", code="NUMBER_INVALID", hint="use null, or a string that names the case"
    )


def _too_deep() -> errors.InvalidInput:
    return errors.InvalidInput(f"the value nests deeper than {MAX_DEPTH} levels", code="TOO_DEEP", hint="flatten it")


def _not_json(what: str, hint: str) -> errors.InvalidInput:
    return errors.InvalidInput(f"{what} is not JSON", code="NOT_JSON", hint=hint)
