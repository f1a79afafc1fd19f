"""The one way a JSON value becomes bytes and a digest (RFC 8785), and the one door where values come in."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

from openskelo import errors
from openskelo.kernel.json import Json

#: The largest magnitude an integer may have; above it, JSON readers that use doubles disagree on the value.
MAX_INTEGER = 2**53
MIN_INTEGER = -MAX_INTEGER
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
_POINT, _MINUS, _PLUS = b".-+"


def dumps(value: Json) -> bytes:
    """The RFC 8785 bytes of `value`; `InvalidInput` (NUMBER_INVALID, NUMBER_RANGE, TOO_DEEP, NOT_JSON) if it has none.

    orjson writes the same bytes as RFC 8785 but for a few things, each of which leaves a trace in what it wrote: a
    `null` may have been NaN, `.0` and `e+` an integral double, `e-6` a double that RFC 8785 writes without an exponent,
    and keys outside the basic plane, which UTF-16 sorts elsewhere, are not ASCII. Only then is the value looked at.
    """
    try:
        data = orjson.dumps(value, _open, _OPTIONS)
    except TypeError:
        return _dumps_slowly(value)
    # Single characters first: as numbers they are found twenty times faster than pairs.
    if (
        not data.isascii()
        or (_POINT in data and b".0" in data)
        or (_MINUS in data and b"e-6" in data)
        or (_PLUS in data and b"e+" in data)
        or data.rfind(b"null") >= 0  # in a third of the time that `in` takes
    ) and not _orjson_agrees(value):
        return _dumps_slowly(value)
    return data


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
    (NUMBER_INVALID), integers beyond 2**53 (NUMBER_RANGE), nesting beyond 64 (TOO_DEEP), and keys, text and objects
    that JSON does not know (NOT_JSON).
    """
    known: Any = value
    return _admit_dict(known, MAX_DEPTH) if type(value) is dict else _admit(value, MAX_DEPTH)


def failed(error: errors.InvalidInput, what: str, *, code: str, retryable: bool = True) -> errors.AttemptFailed:
    """The failure of work that gave a value which `admit`, `loads` or `outside.loads` refuses: done, and of no use.

    Numbers out of range and keys that stand twice keep their code.
    """
    own = error.code if error.code in ("NUMBER_RANGE", "DUPLICATE_KEY") else code
    return errors.AttemptFailed(
        f"{what}: {error.message}", code=own, hint=error.hint, retryable=retryable, happened="yes"
    )


def _admit(value: object, room: int) -> Json:
    kind = type(value)
    known: Any = value  # its kind is looked at, and casting it would cost a call
    if kind is str:
        return known if known.isascii() else _admit_text(known)
    if kind is int:
        return _admit_integer(known)
    if kind is bool or value is None:
        return known
    if kind is dict:
        return _admit_dict(known, room)
    if kind is list:
        return _admit_list(known, room)
    if kind is float:
        return _admit_float(known)
    return _admit_other(value, room)


def _admit_dict(value: dict[Any, object], room: int) -> Json:
    if not room:
        raise _too_deep()
    changed: dict[str, Json] = {}
    for key, item in value.items():
        if type(key) is not str:
            raise _key_not_text(key)
        if not key.isascii():
            _admit_text(key)
        kind = type(item)
        known: Any = item
        # The common leaves are settled here: a call for each of them would cost more than all the rest.
        if (kind is str and known.isascii()) or (kind is int and MIN_INTEGER <= known <= MAX_INTEGER):
            continue
        if kind is bool or item is None:
            continue
        admitted = _admit(item, room - 1)
        if admitted is not item:
            changed[key] = admitted
    whole: Any = {**value, **changed} if changed else value
    return whole


def _admit_list(value: list[Any], room: int) -> Json:
    if not room:
        raise _too_deep()
    changed: dict[int, Json] = {}
    for index, item in enumerate(value):
        admitted = _admit(item, room - 1)
        if admitted is not item:
            changed[index] = admitted
    return [changed.get(index, item) for index, item in enumerate(value)] if changed else value


def _admit_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _lone_surrogate() from None
    return text


def _admit_integer(number: int) -> int:
    if MIN_INTEGER <= number <= MAX_INTEGER:
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
            raise _unknown_type(value)


def _open(value: object) -> object:
    """Gives orjson the plain form of a value that it does not take as it is."""
    match value:
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case Mapping():
            return dict(cast("Mapping[object, object]", value))
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            return list(cast("Sequence[object]", value))
        case _:
            raise _unknown_type(value)


def _orjson_agrees(value: object) -> bool:
    """Whether orjson's bytes for `value` are right: doubles in a range both write alike, keys in the basic plane."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return True
    if kind is dict:
        items = cast("dict[str, object]", value)
        return all(key.isascii() or max(key) < "\U00010000" for key in items) and all(
            map(_orjson_agrees, items.values())
        )
    if kind is list or kind is tuple:
        return all(map(_orjson_agrees, cast("list[object]", value)))
    if kind is float:
        size = abs(cast(float, value))
        # NaN compares false with everything, so that it is in none of the ranges.
        return 0 < size < 1e-6 or 1e21 <= size < math.inf or (1e-5 <= size < 1e16 and not size.is_integer())
    return False


def _dumps_slowly(value: object) -> bytes:
    import rfc8785  # noqa: PLC0415 -- rarely needed, and start-up is counted

    try:
        return rfc8785.dumps(cast("dict[str, str]", _plain(value)))
    except rfc8785.FloatDomainError:
        raise _not_a_number() from None
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        raise _lone_surrogate() from None
    except RecursionError:
        raise _too_deep() from None


def _plain(value: object) -> object:
    """`value` in the types that the `rfc8785` package takes."""
    match value:
        case None | bool() | str() | float():
            return value
        case int():
            number = _admit_integer(value)
            # The package stops one short of 2**53; as a double it is written with the same digits.
            return float(number) if abs(number) == MAX_INTEGER else number
        case Mapping():
            items = cast("Mapping[object, object]", value)
            for key in items:
                if not isinstance(key, str):
                    raise _key_not_text(key)
            return {key: _plain(items[key]) for key in items}
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            return [_plain(item) for item in cast("Sequence[object]", value)]
        case _:
            raise _unknown_type(value)


def _not_a_number() -> errors.InvalidInput:
    return errors.InvalidInput(
        "NaN and infinity are not JSON", code="NUMBER_INVALID", hint="use null, or a string that names the case"
    )


def _too_deep() -> errors.InvalidInput:
    return errors.InvalidInput(f"the value nests deeper than {MAX_DEPTH} levels", code="TOO_DEEP", hint="flatten it")


def _not_json(what: str, hint: str) -> errors.InvalidInput:
    return errors.InvalidInput(f"{what} is not JSON", code="NOT_JSON", hint=hint)


def _lone_surrogate() -> errors.InvalidInput:
    return _not_json("text with a lone surrogate", "the text was cut or decoded wrongly")


def _key_not_text(key: object) -> errors.InvalidInput:
    return _not_json(f"an object key of type {type(key).__name__}", "keys are text")


def _unknown_type(value: object) -> errors.InvalidInput:
    return _not_json(f"a value of type {type(value).__name__}", "use text, numbers, booleans, null, lists and objects")
