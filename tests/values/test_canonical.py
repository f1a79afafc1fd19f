"""Canonical JSON: the published vectors of RFC 8785, equality of the fast and the slow way, and the door."""

from __future__ import annotations

import datetime
import enum
import json
import math
import struct
import sys
import types
import uuid
from typing import cast

import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.values import canonical

# RFC 8785, appendix B: the bits of a double, and how it is written.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}

DOCUMENTS = {
    "arrays": ('[56, {"d": true, "10": null, "1": []}]', '[56,{"1":[],"10":null,"d":true}]'),
    "french": (
        '{"peach": "This sorting order", "p\\u00e9ch\\u00e9": "is wrong according to French",'
        ' "p\\u00eache": "but canonicalization MUST", "sin": "ignore locale"}',
        '{"peach":"This sorting order","péché":"is wrong according to French",'
        '"pêche":"but canonicalization MUST","sin":"ignore locale"}',
    ),
    "structures": (
        '{"1": {"f": {"f": "hi", "F": 5}, "\\n": 56.0}, "10": {}, "": "empty", "a": {},'
        ' "111": [{"e": "yes", "E": "no"}], "A": {}}',
        '{"":"empty","1":{"\\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}',
    ),
    "unicode": ('{"Unnormalized Unicode": "A\\u030a"}', '{"Unnormalized Unicode":"A\u030a"}'),
    "values": (
        '{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],'
        ' "string": "\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/", "literals": [null, true, false]}',
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    ),
    "weird": (
        '{"\\u20ac": "Euro Sign", "\\r": "Carriage Return", "\\u000a": "Newline", "1": "One",'
        ' "\\u0080": "Control\\u007f", "\\ud83d\\ude02": "Smiley", "\\u00f6": "Latin Small Letter O With Diaeresis",'
        ' "\\ufb33": "Hebrew Letter Dalet With Dagesh", "</script>": "Browser Challenge"}',
        '{"\\n":"Newline","\\r":"Carriage Return","1":"One","</script>":"Browser Challenge",'
        '"\u0080":"Control\u007f","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😂":"Smiley",'
        '"\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    ),
}

SORTED = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


def float_of(bits: str) -> float:
    return struct.unpack(">d", bytes.fromhex(bits))[0]


def code_of(error: pytest.ExceptionInfo[errors.InvalidInput]) -> str:
    return error.value.code


@pytest.mark.parametrize(("bits", "written"), NUMBERS.items())
def test_numbers_are_written_as_in_appendix_b(bits: str, written: str) -> None:
    number = float_of(bits)
    assert canonical.dumps(number) == written.encode()
    assert canonical.dumps([number, {"n": number}]) == f'[{written},{{"n":{written}}}]'.encode()


@pytest.mark.parametrize("bits", ["7fffffffffffffff", "7ff0000000000000", "fff0000000000000"])
def test_nan_and_infinity_have_no_canonical_form(bits: str) -> None:
    number = float_of(bits)
    for value in (number, [number], {"a": [None, number]}):
        with pytest.raises(errors.InvalidInput) as caught:
            canonical.dumps(value)
        assert code_of(caught) == "NUMBER_INVALID"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_published_documents_are_written_as_published(name: str) -> None:
    given_text, expected = DOCUMENTS[name]
    assert canonical.dumps(json.loads(given_text)) == expected.encode()


def test_keys_sort_by_utf16_code_units() -> None:
    written = canonical.dumps(dict.fromkeys(reversed(SORTED), 1))
    assert list(json.loads(written)) == SORTED


def scaled(digits: int, exponent: int) -> float:
    return float(f"{digits}e{exponent}")


FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.builds(
    scaled, st.integers(-(10**17), 10**17), st.integers(-330, 290)
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | FLOATS
    | st.text()
    | st.sampled_from(["null", ".0", "e+", "e-6", "1.5e-6", "\U0001f600", "\ufb33"])
)
KEYS = st.text() | st.text(st.sampled_from("a\u00e9\ufb33\uffff\U00010000\U0001f600"), max_size=3)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=20)


@settings(max_examples=400)
@given(VALUES)
@example(-0.0)
@example(1e21)
@example([1e-6, 9.99e-6, 1e-5, 1e16, 1e15 + 0.5, 5e-324])
@example({"\U0001f600": {"\ufb33": 1, "\U00010000": 2}, "\ufb33": 1})
def test_the_fast_way_writes_what_the_slow_way_writes(value: Json) -> None:
    assert canonical.dumps(value) == rfc8785.dumps(cast("dict[str, str]", value))


@given(VALUES)
def test_a_value_beside_a_long_text_is_written_as_alone(value: Json) -> None:
    text = "x" * 100_000
    assert canonical.dumps([text, value]) == b'["%b",%b]' % (text.encode(), canonical.dumps(value))


@given(VALUES)
def test_the_digest_does_not_depend_on_the_order_of_keys(value: Json) -> None:
    def turned(part: Json) -> Json:
        match part:
            case dict():
                return {key: turned(part[key]) for key in reversed(list(part))}
            case list():
                return [turned(item) for item in part]
            case _:
                return part

    assert canonical.digest(turned(value)) == canonical.digest(value)


def test_digests_are_sha256_of_the_bytes() -> None:
    empty = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert (canonical.digest({}), canonical.digest_bytes(b"{}")) == (empty, empty)


@given(VALUES)
@example([2.0**60, {"a": [-1e20, 1e17, 9007199254740994.0, 1e21]}])
@example(1e17)
@example(["1234567890123456789", 1])
@example({"document": "x" * 10_000, "parts": [{"number": 1e17}]})
def test_what_was_admitted_reads_back_as_itself(value: Json) -> None:
    admitted = canonical.admit(value)
    data = canonical.dumps(admitted)
    assert in_order(canonical.loads_canonical(data)) == in_order(admitted)
    assert canonical.dumps(canonical.loads_canonical(data)) == data
    assert canonical.admit(admitted) is admitted


@given(VALUES)
@example([2.0**60, 1e17, 2**53, -9007199254740994.0])
def test_text_for_programs_is_admitted_as_the_same_value(value: Json) -> None:
    admitted = canonical.admit(value)
    assert in_order(canonical.loads(canonical.dumps_for_programs(admitted))) == in_order(admitted)


def in_order(value: Json) -> str:
    """The value as text that tells 1 from 1.0, with its keys in the order of the canonical form."""
    match value:
        case dict():
            return str({key: in_order(value[key]) for key in sorted(value, key=lambda key: key.encode("utf-16-be"))})
        case list():
            return str([in_order(item) for item in value])
        case _:
            return repr(value)


def parse_around(number: int, around: str) -> list[Json]:
    text = around % number
    return [canonical.loads(text), canonical.loads(text.encode()), canonical.admit(json.loads(text))]


AROUND = st.sampled_from(["%s", "[%s]", '{"a": %s}', '["1234567890123456789", %s]'])
LARGE_INTEGERS = (
    st.integers(2**53 + 1, 10**40)
    | st.tuples(st.integers(2**52 + 1, 2**53), st.integers(1, 970)).map(lambda pair: pair[0] << pair[1])
    | st.sampled_from([2**63, 2**63 + 1, 2**64 - 1, 2**64, 2**64 + 1, 10**17, 10**22, 10**23, int(sys.float_info.max)])
)


@given(LARGE_INTEGERS, st.sampled_from([1, -1]), AROUND)
@example(10**21 - 1, 1, "%s")
@example(10**21, 1, "%s")
@example(9007199254740993, 1, "%s")
@example(1152921504606847000, 1, "%s")  # how RFC 8785 writes 2**60, which is another number
@example(2**1024, 1, "%s")
@example(10**400, -1, "[%s]")
def test_a_large_integer_is_the_double_that_equals_it_or_refused(size: int, sign: int, around: str) -> None:
    number = sign * size
    if size < 2**1024 and int(float(number)) == number:
        double = [repr(json.loads(around % repr(float(number))))]
        assert [repr(value) for value in parse_around(number, around)] == double * 3
        return
    for text in (around % number, (around % number).encode()):
        with pytest.raises(errors.InvalidInput) as caught:
            canonical.loads(text)
        assert (code_of(caught), caught.value.hint) == ("NUMBER_RANGE", "use a string")
    with pytest.raises(errors.InvalidInput) as caught:
        canonical.admit(number)
    assert (code_of(caught), caught.value.hint) == ("NUMBER_RANGE", "use a string")


@given(st.floats(min_value=2.0**53, exclude_min=True, allow_infinity=False), st.sampled_from([1, -1]))
@example(1e17, 1)
@example(2.0**60, 1)
@example(1e21, 1)
@example(sys.float_info.max, -1)
def test_a_large_double_stays_the_same_double_with_the_same_digest(size: float, sign: int) -> None:
    number = sign * size
    assert canonical.admit(number) is number
    for read in (canonical.loads_canonical(canonical.dumps(number)), canonical.admit(int(number))):
        assert (type(read), read, canonical.digest(read)) == (float, number, canonical.digest(number))


def test_a_clean_value_is_admitted_as_the_same_object() -> None:
    value = {"a": [1, 2.5, "é", None, True], "b": {"c": "x"}}
    assert canonical.admit(value) is value


def test_integral_doubles_become_integers_and_the_given_value_is_left_alone() -> None:
    value = {"a": [1.0, 2.5, -0.0], "b": 1}
    admitted = canonical.admit(value)
    assert repr(admitted) == "{'a': [1, 2.5, 0], 'b': 1}"
    assert repr(value) == "{'a': [1.0, 2.5, -0.0], 'b': 1}"


class Colour(enum.IntEnum):
    RED = 1


class Name(str):
    __slots__ = ()


def test_what_handlers_return_becomes_plain_json() -> None:
    value = {"t": (1, (2.0,)), "m": types.MappingProxyType({"a": Colour.RED}), "n": Name("x"), "b": True}
    admitted = canonical.admit(value)
    assert repr(admitted) == "{'t': [1, [2]], 'm': {'a': 1}, 'n': 'x', 'b': True}"
    assert canonical.dumps(cast(Json, value)) == canonical.dumps(admitted)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (math.nan, "NUMBER_INVALID"),
        ([{"a": math.inf}], "NUMBER_INVALID"),
        (2**53 + 1, "NUMBER_RANGE"),
        (-(2**53) - 1, "NUMBER_RANGE"),
        (10**400, "NUMBER_RANGE"),
        (10**23, "NUMBER_RANGE"),
        (2**1024, "NUMBER_RANGE"),
        ({1: 2}, "NOT_JSON"),
        ({"a": {None: 2}}, "NOT_JSON"),
        ("\ud800", "NOT_JSON"),
        ({"\udfff": 1}, "NOT_JSON"),
        (b"bytes", "NOT_JSON"),
        ({1, 2}, "NOT_JSON"),
        (object(), "NOT_JSON"),
        (uuid.UUID(int=0), "NOT_JSON"),
        (datetime.date(2020, 1, 1), "NOT_JSON"),
    ],
)
def test_the_door_refuses_what_is_not_json(value: object, code: str) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        canonical.admit(value)
    assert code_of(caught) == code


@pytest.mark.parametrize("value", [2**53 + 1, 2**70 + 1, {"a": b"x"}, {1: 2}, {"\ud800": 1}, "\ud800", object()])
def test_dumps_refuses_with_an_error_of_ours(value: Json) -> None:
    with pytest.raises(errors.InvalidInput):
        canonical.dumps(value)


def test_the_largest_integers_are_admitted_and_written() -> None:
    value = [2**53, -(2**53)]
    assert canonical.admit(value) is value
    assert canonical.dumps(value) == b"[9007199254740992,-9007199254740992]"


def test_bytes_that_nest_without_end_are_read_back_without_an_overflow() -> None:
    data = b"[" * 1000 + b"100000000000000000" + b"]" * 1000
    value = canonical.loads_canonical(data)
    for _ in range(1000):
        assert isinstance(value, list)
        (value,) = value
    assert repr(value) == "1e+17"


def nested(levels: int) -> Json:
    value: Json = []
    for level in range(levels - 1):
        value = [value] if level % 2 else {"a": value}
    return value


def test_nesting_is_admitted_up_to_64_levels() -> None:
    assert canonical.admit(nested(64)) == nested(64)
    for levels in (65, 300, 20_000):
        with pytest.raises(errors.InvalidInput) as caught:
            canonical.admit(nested(levels))
        assert code_of(caught) == "TOO_DEEP"


def test_an_envelope_around_the_deepest_value_still_has_bytes_and_too_much_is_refused() -> None:
    assert canonical.dumps({"data": {"value": nested(64)}}).count(b"[") == 32
    with pytest.raises(errors.InvalidInput) as caught:
        canonical.dumps(nested(20_000))
    assert code_of(caught) == "TOO_DEEP"


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a":[1.0,1e3,-0]}', {"a": [1, 1000, 0]}),
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ("1e-400", 0),
        ("[6.022e23,-1E300,1e21]", [6.022e23, -1e300, 1e21]),
        ("1000000000000000000000.0", 1e21),
        ("1000000000000000000000", 1e21),
        ("[100000000000000000, 1e20, 1152921504606846976]", [1e17, 1e20, 2.0**60]),
        ("18446744073709551616", 2.0**64),
        ("-9223372036854775808", -(2.0**63)),
        ("0.12345678901234567890123456789", 0.12345678901234568),
        ('["1234567890123456789012345", 1]', ["1234567890123456789012345", 1]),
        (b'"\xc3\xa9 1234567890123456789012345"', "é 1234567890123456789012345"),
        (b" null ", None),
    ],
)
def test_loads_parses_and_admits(data: bytes | str, value: Json) -> None:
    assert repr(canonical.loads(data)) == repr(value)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ("", "JSON_INVALID"),
        ("{'a': 1}", "JSON_INVALID"),
        ("NaN", "JSON_INVALID"),
        ("1e400", "JSON_INVALID"),
        ('"\\ud800"', "JSON_INVALID"),
        ("\ud800", "JSON_INVALID"),
        (b"\xff", "JSON_INVALID"),
        ("[" * 5000 + "]" * 5000, "JSON_INVALID"),
        ("[" * 100 + "]" * 100, "TOO_DEEP"),
        ("18446744073709551617", "NUMBER_RANGE"),
        ("-9223372036854775809", "NUMBER_RANGE"),
        ("999999999999999999999", "NUMBER_RANGE"),
        ("[-999999999999999999999, 1]", "NUMBER_RANGE"),
        (b'{"a":[-1234567890123456789012345678901234567890]}', "NUMBER_RANGE"),
        ('{"a": ' + "[" * 5000 + "]" * 5000 + ', "a": 1.0000000000000000000000}', "JSON_INVALID"),
        ("9007199254740993", "NUMBER_RANGE"),
    ],
)
def test_loads_refuses_with_a_code(data: bytes | str, code: str) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        canonical.loads(data)
    assert code_of(caught) == code


@given(st.binary())
def test_loads_of_any_bytes_gives_a_value_or_an_error_of_ours(data: bytes) -> None:
    try:
        value = canonical.loads(data)
    except errors.InvalidInput:
        return
    assert canonical.loads_canonical(canonical.dumps(value)) == value
