"""JSON text from outside, and keys that stand twice in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openskelo import errors
from openskelo.values import canonical

TWICE = [
    '{"a": 1, "a": 2}',
    '{"a": 1, "a": 1}',
    '{"a": 1, "\\u0061": 2}',
    '[{"b": {"a": "x", "c": [], "a": {}}}]',
    '{"a": "\\u0022\\u0022", "a": "\\u0022\\u0022"}',
    '{"\\u0022": 1, "\\"": 2, "a": 3}',
    '{"a": {"b": 1}, "a": {"b": 1}}',
]


def written(text: str, *, numbered: bool) -> str:
    """A JSON string whose quotation marks are escaped in one of two ways."""
    mark = "\\u0022" if numbered else '\\"'
    return '"' + "".join(mark if letter == '"' else json.dumps(letter)[1:-1] for letter in text) + '"'


def listed(parts: list[tuple[str, bool]]) -> tuple[str, bool]:
    return "[" + ", ".join(text for text, _ in parts) + "]", any(twice for _, twice in parts)


def mapped(members: list[tuple[str, tuple[str, bool]]]) -> tuple[str, bool]:
    keys = [json.loads(key) for key, _ in members]
    twice = len(set(keys)) < len(keys) or any(twice for _, (_, twice) in members)
    return "{ " + ",".join(f"{key} : {text}" for key, (text, _) in members) + "}", twice


strings = st.builds(written, st.text(alphabet='ab"\\:{},\u00e9', max_size=4), numbered=st.booleans())
#: JSON texts, and whether a key stands twice in one of their objects.
documents: st.SearchStrategy[tuple[str, bool]] = st.recursive(
    (st.sampled_from(["null", "true", "7", "1.5"]) | strings).map(lambda text: (text, False)),
    lambda inner: st.lists(inner, max_size=3).map(listed) | st.lists(st.tuples(strings, inner), max_size=3).map(mapped),
    max_leaves=8,
)


@pytest.mark.parametrize("text", TWICE)
@pytest.mark.parametrize("encode", [str, str.encode])
def test_a_key_that_stands_twice_is_refused(text: str, encode: Any) -> None:
    with pytest.raises(errors.InvalidInput, match="appears twice in one object") as caught:
        canonical.loads_untrusted(encode(text))
    assert (caught.value.code, caught.value.hint) == ("DUPLICATE_KEY", "remove one of the two")


@given(documents)
def test_just_those_texts_are_refused_in_which_a_key_stands_twice(document: tuple[str, bool]) -> None:
    text, twice = document
    if twice:
        with pytest.raises(errors.InvalidInput, match="appears twice in one object"):
            canonical.loads_untrusted(text)
    else:
        assert canonical.loads_untrusted(text) == canonical.loads(text.encode())


@pytest.mark.parametrize(("text", "code"), [("{", "JSON_INVALID"), ('{"n": 1e300, "n": 2}', "DUPLICATE_KEY")])
def test_what_is_refused_keeps_its_code(text: str, code: str) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        canonical.loads_untrusted(text)
    assert caught.value.code == code


def test_a_value_that_was_overwritten_may_be_deeper_than_python_reads() -> None:
    with pytest.raises(errors.InvalidInput, match="appears twice in one object") as caught:
        canonical.loads_untrusted('{"a": ' + "[" * 1000 + "]" * 1000 + ', "a": 1}')
    assert caught.value.code == "DUPLICATE_KEY"
