"""Canonical JSON: check a value once when it enters the program, and turn it into the same bytes everywhere.

Two steps, in this order:

    admit(value)  ->  Json     at the edge: refuse what JSON readers disagree on, normalise the rest
    dumps(value)  ->  bytes    anywhere: the RFC 8785 form, which hashes, receipts and signatures are made of

    loads_canonical(data)      the value of bytes that `dumps` has written, exactly as it was

`admit` is strict because a value lives in the log, in expressions and in other programs. The size of a number decides
its type: an integral number up to 2**53 is an integer, any other number is a double. So an integral double becomes an
integer, and a larger integer that a double equals (10**17, 2**60) becomes that double. An integer that no double equals
is refused, and so is NaN. After that a hash, an expression and a replay see the same value.

RFC 8785 writes a double from 1e21 on with an exponent, and a smaller one with its shortest digits and zeros: 2**60 is
`1152921504606847000`. As an integer that is another number, so only `loads_canonical` takes it for the double.

`dumps` has a fast path. orjson with sorted keys writes the bytes of RFC 8785 except for a few kinds of numbers and
keys, and each exception leaves a trace in its output (see `_may_differ`). Only output with such a trace is checked
further, and only values for which orjson is really wrong go to the `rfc8785` package, which is twenty times slower.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, cast

import orjson

from openskelo import errors
from openskelo.kernel.json import Json

#: The largest magnitude of an integer; a larger number is a double, so that every JSON reader agrees on its value.
MAX_INTEGER = 2**53
#: How many arrays and objects a value may nest.
MAX_DEPTH = 64

# orjson turns integers beyond 64 bits into doubles, and so loses digits. The shortest, -2**63 - 1, has 19 digits.
_MANY_DIGITS = re.compile("[0-9]{19}")
_MANY_DIGITS_IN_BYTES = re.compile(b"[0-9]{19}")
# The largest double has 309 digits.
_MAX_DIGITS = 309
# With every digit as 0, a search for the digits of an integer beyond 2**53 is a search for one text: 1 us a line.
_AS_ZERO = bytes.maketrans(b"0123456789", b"0000000000")
_SIXTEEN_DIGITS = b"0" * 16

# Subclasses, dataclasses and dates are passed to `_to_plain`: orjson's own forms of them are not JSON's.
_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)


#: Bytes that are long enough for `_is_mostly_text` to pay.
_LARGE = 4096
#: One byte in this many is sampled to see whether they are mostly text: an odd number, as lists repeat a pattern.
_SAMPLED = 31


def dumps(value: Json) -> bytes:
    """Return the RFC 8785 bytes of `value`.

    Raise `InvalidInput` (NUMBER_INVALID, NUMBER_RANGE, TOO_DEEP, NOT_JSON) if it has none.
    """
    try:
        data = orjson.dumps(value, _to_plain, _OPTIONS)
    except TypeError:
        return _dumps_slowly(value)
    if (_is_mostly_text(data) or _may_differ(data)) and not _orjson_agrees(value):
        return _dumps_slowly(value)
    return data


def dumps_for_programs(value: Json) -> bytes:
    """Return `value`, which is admitted, as JSON text that other programs read as the same numbers.

    A double beyond 2**53 is written with a fraction or an exponent. Its digits as RFC 8785 writes them are an integer
    for many programs, often one that no double equals: if they sent it back, it would be refused.
    """
    return orjson.dumps(value, _to_plain, _OPTIONS & ~orjson.OPT_STRICT_INTEGER)


def digest(value: Json) -> str:
    """Return `sha256:` and the hex digest of the canonical bytes of `value`."""
    return digest_bytes(dumps(value))


def digest_bytes(data: bytes) -> str:
    """Return `sha256:` and the hex digest of `data`."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def loads(data: bytes | str) -> Json:
    """Return the admitted value of the JSON text `data`.

    Raise `InvalidInput` with JSON_INVALID or a code of `admit`. Of duplicate keys the last one counts.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if "infinity" in error.msg:  # a number beyond all doubles
            _refuse_long_integers(data)
        raise errors.InvalidInput(f"not valid JSON: {error}", code="JSON_INVALID") from None
    checked_value = admit(value)
    if _has_many_digits(data):
        _refuse_long_integers(data)
    return checked_value


def loads_canonical(data: bytes) -> Json:
    """Return the value whose canonical bytes are `data`: the one that `dumps` was given. Nothing is checked.

    Digits beyond 2**53 are read as the double that they were written for. Raise `orjson.JSONDecodeError` if `data` is
    not JSON.
    """
    value = orjson.loads(data)
    if _is_mostly_text(data) or _SIXTEEN_DIGITS in data.translate(_AS_ZERO):
        return _restore_doubles(value)
    return value


def loads_untrusted(data: bytes | str) -> Json:
    """Return what `loads` returns, for text that people and other programs send.

    Raise `InvalidInput` DUPLICATE_KEY as well, where `loads` silently takes the last of the duplicate keys.
    """
    value = loads(data)
    if isinstance(value, dict | list) and _may_have_duplicate_keys(data, value):
        import json  # noqa: PLC0415 -- rarely needed: only to name the key

        try:
            json.loads(data, object_pairs_hook=_refuse_duplicate_keys)
        except RecursionError:
            # Deeper than any admitted value, so it stands under a key that a later one has overwritten.
            raise _duplicate_key("a key") from None
    return value


def admit(value: object) -> Json:
    """Return `value` as JSON that every part of the system reads alike; the same object when nothing has to change.

    Integral doubles up to 2**53 become integers, larger integers doubles, tuples lists, mappings dicts. Raise
    `InvalidInput` for NaN and infinity (NUMBER_INVALID), integers beyond 2**53 that no double equals (NUMBER_RANGE),
    nesting beyond 64 (TOO_DEEP), and keys, text and objects that JSON does not have (NOT_JSON).
    """
    return _admit(value, MAX_DEPTH)


def attempt_failure(
    error: errors.InvalidInput, what: str, *, code: str, retryable: bool = True
) -> errors.AttemptFailed:
    """Return the failure of an attempt whose work was done, but returned a value that `admit` or `loads` refuses.

    NUMBER_RANGE and DUPLICATE_KEY keep their code, as they tell the author what to change; other errors get `code`.
    """
    own_code = error.code if error.code in ("NUMBER_RANGE", "DUPLICATE_KEY") else code
    return errors.AttemptFailed(
        f"{what}: {error.message}", code=own_code, hint=error.hint, retryable=retryable, happened="yes"
    )


def _admit(value: object, room: int) -> Json:
    admit_type = _ADMIT_BY_TYPE.get(type(value), _admit_other)
    return admit_type(value, room)


def _admit_as_is(value: Json, _room: int) -> Json:
    return value


def _admit_dict(value: dict[object, object], room: int) -> Json:
    if room == 0:
        raise _too_deep()
    new_items: dict[str, Json] = {}
    for key, item in value.items():
        if type(key) is not str:
            raise _key_not_text(key)
        _admit_text(key, room)
        new_item = _admit(item, room - 1)
        if new_item is not item:
            new_items[key] = new_item
    same = cast("dict[str, Json]", value)
    return {**same, **new_items} if new_items else same


def _admit_list(value: list[object], room: int) -> Json:
    if room == 0:
        raise _too_deep()
    new_items = [_admit(item, room - 1) for item in value]
    is_same = all(after is before for after, before in zip(new_items, value, strict=True))
    return cast("list[Json]", value) if is_same else new_items


def _admit_text(text: str, _room: int) -> str:
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _lone_surrogate() from None
    return text


def _admit_integer(number: int, _room: int) -> int | float:
    if -MAX_INTEGER <= number <= MAX_INTEGER:
        return number
    try:
        double = float(number)
    except OverflowError:
        raise _out_of_range() from None
    if double != number:  # Python compares the exact values
        raise _out_of_range()
    return double


def _admit_float(number: float, _room: int) -> float | int:
    if not number.is_integer():
        if not math.isfinite(number):
            raise _not_a_number()
        return number
    return int(number) if abs(number) <= MAX_INTEGER else number


def _restore_doubles(value: Json) -> Json:
    """Return `value` with every integer beyond 2**53 as the double it was; lists and dicts are changed in place."""
    if type(value) is int:
        return float(value) if abs(value) > MAX_INTEGER else value
    containers: list[Any] = [value]  # no recursion: bytes from elsewhere may nest deeper than the stack
    while containers:
        container = containers.pop()
        match container:
            case dict():
                entries = cast("dict[Any, Json]", container).items()
            case list():
                entries = enumerate(cast("list[Json]", container))
            case _:
                continue
        for place, item in entries:
            if type(item) is not int:
                containers.append(item)
            elif abs(item) > MAX_INTEGER:
                container[place] = float(item)
    return value


def _admit_other(value: object, room: int) -> Json:
    """Admit what a handler may well return: subclasses of the JSON types, tuples and other mappings."""
    match value:
        case str():
            return _admit_text(str.__str__(value), room)
        case int():
            return _admit_integer(int(value), room)
        case float():
            return _admit_float(float(value), room)
        case Mapping():
            return _admit_dict(dict(cast("Mapping[object, object]", value)), room)
        case list() | tuple():
            return _admit_list(list(cast("Sequence[object]", value)), room)
        case _:
            raise _unknown_type(value)


# By exact type: a subclass may print or compare in its own way, so `_admit_other` replaces it with the plain type.
_ADMIT_BY_TYPE: Mapping[type, Callable[[Any, int], Json]] = {
    NoneType: _admit_as_is,
    bool: _admit_as_is,
    str: _admit_text,
    int: _admit_integer,
    float: _admit_float,
    dict: _admit_dict,
    list: _admit_list,
}


def _may_have_duplicate_keys(data: bytes | str, value: Json) -> bool:
    """True unless the text surely has no duplicate keys, judged by the number of quotation marks.

    Those of an overwritten key are missing from the value. A quotation mark inside a string counts the same on both
    sides, unless it is written as `\\u0022`.
    """
    text = data if isinstance(data, bytes) else data.encode()
    return text.count(b'"') != orjson.dumps(value).count(b'"') or rb"\u0022" in text


def _refuse_duplicate_keys(pairs: list[tuple[str, object]]) -> None:
    earlier_keys: set[str] = set()
    for key, _ in pairs:
        if key in earlier_keys:
            raise _duplicate_key(f"the key {key!r}")
        earlier_keys.add(key)


def _has_many_digits(data: bytes | str) -> bool:
    if isinstance(data, str):
        return _MANY_DIGITS.search(data) is not None
    return _MANY_DIGITS_IN_BYTES.search(data) is not None


def _refuse_long_integers(data: bytes | str) -> None:
    """Raise InvalidInput NUMBER_RANGE if the JSON text has an integer that no double equals outside of its strings."""
    import json  # noqa: PLC0415 -- rarely needed: only for text with that many digits in a row

    def check(digits: str) -> float:
        if len(digits.removeprefix("-")) > _MAX_DIGITS:
            raise _out_of_range()
        return _admit_integer(int(digits), MAX_DEPTH)

    try:
        json.loads(data if isinstance(data, str) else data.decode(), parse_int=check)
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        return  # orjson has stopped at the same place, and says why


def _to_plain(value: object) -> object:
    """Return the plain form of a value that orjson does not write itself."""
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


def _is_mostly_text(data: bytes) -> bool:
    """True for few, long texts (a document, say): visiting the values takes less time than searching their bytes.

    It is judged by a sample of the bytes; a wrong guess only costs time.
    """
    if len(data) <= _LARGE:
        return False
    sample = data[::_SAMPLED]
    return sample.count(b",") + sample.count(b'"') < len(sample) // 32


def _may_differ(data: bytes) -> bool:
    """True if orjson's output has a trace of something that RFC 8785 writes in another way.

    `null` may have been NaN; `.0` and `e+` may be an integral double; `e-6` may be a double that RFC 8785 writes
    without an exponent; text that is not ASCII may have keys outside the basic plane, which UTF-16 sorts elsewhere.
    """
    return not data.isascii() or b"null" in data or b".0" in data or b"e+" in data or b"e-6" in data


def _orjson_agrees(value: object) -> bool:
    """True if orjson's bytes for `value` are right: doubles in a range that both write alike, keys in the basic plane.

    It may be False for a value that orjson writes well (a subclass, say); that only costs time.
    """
    match value:
        case None | bool() | int() | str():
            return True
        case float():
            size = abs(value)
            # NaN compares false with everything, so it is in none of the ranges.
            return 0 < size < 1e-6 or 1e21 <= size < math.inf or (1e-5 <= size < 1e16 and not size.is_integer())
        case dict():
            items = cast("dict[str, object]", value)
            in_basic_plane = all(key.isascii() or max(key) < "\U00010000" for key in items)
            return in_basic_plane and all(map(_orjson_agrees, items.values()))
        case list() | tuple():
            return all(map(_orjson_agrees, cast("Sequence[object]", value)))
        case _:
            return False


def _dumps_slowly(value: object) -> bytes:
    import rfc8785  # noqa: PLC0415 -- rarely needed, and it would slow every start

    try:
        return rfc8785.dumps(cast("dict[str, str]", _plain(value)))
    except rfc8785.FloatDomainError:
        raise _not_a_number() from None
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        raise _lone_surrogate() from None
    except RecursionError:
        raise _too_deep() from None


def _plain(value: object) -> object:
    """Return `value` in the types that the `rfc8785` package takes."""
    match value:
        case None | bool() | str() | float():
            return value
        case int():
            # The package stops one short of 2**53; as a double it is written with the same digits.
            if abs(value) == MAX_INTEGER:
                return float(value)
            return _admit_integer(value, MAX_DEPTH)
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


def _out_of_range() -> errors.InvalidInput:
    return errors.InvalidInput(
        "an integer beyond 2**53 equals no double, so JSON readers disagree on its value",
        code="NUMBER_RANGE",
        hint="use a string",
    )


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


def _duplicate_key(what: str) -> errors.InvalidInput:
    return errors.InvalidInput(
        f"{what} appears twice in one object", code="DUPLICATE_KEY", hint="remove one of the two"
    )
