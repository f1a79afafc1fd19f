"""An expression is given the fields that it names, and comes to what it would with all of them."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.structs import replace
from openskelo.values.cel import expression

VALUES: dict[str, Json] = {
    "inputs": {"a": {"b": {"c": 1}, "x": "y"}, "b": [1, 2, {"a": 3}], "c": "text", "n": 2},
    "item": {"a": 1, "n": {"a": {"b": 2}}},
}


def words(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from(text.split())


ATOMS = words("inputs inputs.a inputs.a.b inputs.a.b.c inputs.b inputs.c inputs.n item item.a item.n.a x x.a 1 'a' []")
SHAPES = words(
    """
    {0}+{1}  {0}=={1}  ({0})in({1})  {0}&&{1}  {0}?{1}:{0}  [{0},{1}]  {{'k':{0}}}  {0}[{1}]  {0}['a']  {0}.a  {0}.b
    has({0}.a)  has({0}.a.b)  size({0})  dyn({0})  string({0})  {0}.map(x,{1})  {0}.exists(inputs,{1})
    cel.bind(x,{0},{1})  cel.bind(inputs,{0},{1})  {0}.all(item,{1})
    """
)
TREES = st.recursive(ATOMS, lambda inner: st.builds(str.format, SHAPES, inner, inner), max_leaves=8)


def outcome(compiled: expression.Expression) -> object:
    try:
        return compiled.evaluate(VALUES)
    except errors.AttemptFailed as error:
        return error.code


@settings(max_examples=500, deadline=2000)
@given(TREES)
def test_what_is_not_named_makes_no_difference(text: str) -> None:
    try:
        compiled = expression.compile(text, {"inputs": None, "item": None})
    except expression.InvalidExpression:
        return
    assert outcome(compiled) == outcome(replace(compiled, _reads=()))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("inputs.n + 1", 3),
        ("[inputs.deep.n]", [4]),
        ("has(inputs.deep.n) && !has(inputs.deep.m)", True),
        ("inputs.deep.n + [1, 2].map(x, x + inputs.n)[1]", 8),
    ],
)
def test_only_what_is_named_is_looked_at(text: str, result: Json) -> None:
    """The rest could not be looked at: it holds what no expression can read."""
    values = {"inputs": {"n": 2, "bad": "a\0b", "deep": {"n": 4, "worse": "\0"}}}
    assert expression.compile(text, {"inputs": None}).evaluate(cast("dict[str, Json]", values)) == result


@pytest.mark.parametrize(
    "text", ["inputs == 1", "inputs['n'] == 1", "size(inputs) == 1", "[inputs].exists(x, has(x.n))"]
)
def test_a_value_that_is_named_as_a_whole_is_looked_at_as_a_whole(text: str) -> None:
    with pytest.raises(errors.AttemptFailed, match="NUL"):
        expression.compile(text, {"inputs": None}).evaluate({"inputs": {"n": 1, "bad": "\0"}})
