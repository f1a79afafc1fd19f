"""Expressions over what a plan knows: what they name, what they come to, and faults in the author's words."""

from __future__ import annotations

import pytest

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.values.cel import messages, plan_expression

SCOPE: JsonObject = {"var": {"x": 1, "var": 2}, "input": {"a": {"var": "var.y"}, "n": 3}, "ctx": {"c": "d"}, "snap": {}}


@pytest.mark.parametrize(
    ("text", "names", "value"),
    [
        ("var.x + input.n", {"input": frozenset({"n"}), "var": frozenset({"x"})}, 4),
        ("var . x", {"var": frozenset({"x"})}, 1),
        ("var.var", {"var": frozenset({"var"})}, 2),
        ("input.a.var == 'var.y'", {"input": frozenset({"a"})}, True),
        ("input['n']", {"input": None}, 3),
        ("var.size() + size(ctx)", {"ctx": None, "var": None}, 3),
        ("has(snap.t) ? snap.t : 'none'", {"snap": frozenset({"t"})}, "none"),
        ("[1, 2].filter(v, v > var.x)", {"var": frozenset({"x"})}, [2]),
        ("\"var\" + r'var'  // var.z", {}, "varvar"),
        ("var.x + var['x']", {"var": None}, 2),
        ("1 + 1", {}, 2),
    ],
)
def test_an_expression_knows_what_it_reads(text: str, names: dict[str, frozenset[str] | None], value: Json) -> None:
    compiled = plan_expression.compile(text)
    assert dict(compiled.names) == names
    assert compiled.evaluate(SCOPE) == value


def test_the_type_of_the_result_is_known_where_it_is() -> None:
    assert [plan_expression.compile(text).returns for text in ("var.x < 1", "var.x")] == ["bool", "dyn"]


def test_a_fault_is_told_in_the_authors_words_and_place() -> None:
    with pytest.raises(messages.InvalidExpression) as caught:
        plan_expression.compile("1 + var.x.foo(")
    assert "v__" not in caught.value.message
    with pytest.raises(messages.InvalidExpression) as unknown:
        plan_expression.compile("var.x + vra.x")
    assert (unknown.value.message, unknown.value.line, unknown.value.column) == (
        "undeclared reference to 'vra.x'",
        1,
        12,
    )
    assert unknown.value.hint is not None
    assert "v__" not in unknown.value.hint


def test_what_is_not_there_fails_the_attempt_by_its_own_name() -> None:
    with pytest.raises(errors.AttemptFailed) as caught:
        plan_expression.compile("var.missing > 1").evaluate(SCOPE)
    assert (caught.value.code, caught.value.retryable) == ("EXPR_FAILED", False)
    assert "`var.missing > 1`" in caught.value.message
