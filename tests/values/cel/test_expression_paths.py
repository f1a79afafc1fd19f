"""A path to a value comes to what an expression around it comes to."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.values.cel import expression

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4),
    st.sampled_from(["", "plain", "\u00e9", "nul\0", "\U0001f41d"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
    ),
    max_leaves=8,
)
WAYS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3)


def outcome(text: str, values: Json, schema: Json) -> object:
    """What an expression over `inputs` comes to: its value and type, or the code it fails with."""
    compiled = expression.compile(text, {"inputs": cast("expression.JsonSchema | None", schema)})
    try:
        found = compiled.evaluate({"inputs": values})
    except errors.AttemptFailed as error:
        return error.code
    return type(found), found


@given(values=VALUES, way=WAYS)
def test_a_way_comes_to_what_an_expression_around_it_comes_to(values: Json, way: list[str]) -> None:
    text = ".".join(["inputs", *way])
    assert outcome(text, values, None) == outcome(f"[{text}][0]", values, None)


@pytest.mark.parametrize(
    ("kind", "value"),
    [("string", "x"), ("integer", 1), ("boolean", True), ("number", 1), ("number", 1.5), ("array", [1])],
)
def test_a_typed_way_comes_to_the_same(kind: str, value: Json) -> None:
    schema: Json = {"type": "object", "properties": {"a": {"type": kind}}, "required": ["a"]}
    values: Json = {"a": value}
    assert outcome("inputs.a", values, schema) == outcome("[inputs.a][0]", values, schema)
    assert outcome("inputs.a", values, schema) == (type(value), value)


@pytest.mark.parametrize("values", [{}, {"a": {}}, {"a": 1}, "a", None])
def test_a_way_that_leads_nowhere_fails(values: Json) -> None:
    assert outcome("inputs.a.b", values, None) == "EXPR_FAILED"
