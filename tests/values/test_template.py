"""Templates: `{{ CEL }}` and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.values import template
from openskelo.values.cel.expression import InvalidExpression, Position
from openskelo.values.schema.validator import JsonSchema

VARIABLES: Mapping[str, JsonSchema | None] = {"inputs": None, "run": None}
VALUES: Mapping[str, Json] = {"inputs": {"title": "Tea", "n": 2, "list": [1.5, "x"], "map": {"b": None, "a": True}}}


def render(text: str) -> str:
    return template.compile(text, VARIABLES).render(VALUES)


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("", ""),
        ("plain { text } with } braces {", "plain { text } with } braces {"),
        ("{{ inputs.title }}", "Tea"),
        ("a {{inputs.title}}, {{ inputs.n }}!", "a Tea, 2!"),
        ("{{ inputs.list }}{{ inputs.map }}", '[1.5,"x"]{"a":true,"b":null}'),
        ("{{ null }} {{ true }}", "null true"),
        (r"\{{ inputs.title }}", "{{ inputs.title }}"),
        (r"{{ inputs.title }}\{{}}", "Tea{{}}"),
        ("{{ {'a': {'b': 1}} }}", '{"a":{"b":1}}'),
        ("{{ {'a': {'b': 1}}}}", '{"a":{"b":1}}'),
        ("{{ '}}' }}", "}}"),
        ('{{ "\\"}}" }}', '"}}'),
        (r"{{ r'\d' }}", r"\d"),
        ("{{ '''it's }}''' }}", "it's }}"),
        ("{{ inputs.title\n }}\n", "Tea\n"),
        ("}} {{ 1 }}", "}} 1"),
        ("{% raw %} ${x} {# no #}", "{% raw %} ${x} {# no #}"),
    ],
)
def test_expressions_are_replaced_and_all_else_stays(text: str, rendered: str) -> None:
    assert render(text) == rendered


def test_what_is_inserted_is_never_read_as_a_template() -> None:
    compiled = template.compile("{{ inputs.title }}", VARIABLES)
    assert compiled.render({"inputs": {"title": "{{ run.secret }}"}}) == "{{ run.secret }}"


def test_the_variables_in_use_are_known() -> None:
    assert template.compile("{{ inputs.a }} {{ 1 }} {{ run.id }}", VARIABLES).variables == {"inputs", "run"}


@pytest.mark.parametrize(
    ("text", "code", "position"),
    [
        ("a\n b {{ inputs.title", "TEMPLATE_INVALID", Position(line=2, column=4)),
        ("{{ 'a }}", "TEMPLATE_INVALID", Position(line=1, column=1)),
        ("{{ {'a': 1 }}", "TEMPLATE_INVALID", Position(line=1, column=1)),
        ("{{", "TEMPLATE_INVALID", Position(line=1, column=1)),
        ("é {{ 1 + }}", "EXPR_INVALID", Position(line=1, column=10)),
        ("one\ntwo {{ 1 +\n 'a' }}", "EXPR_INVALID", Position(line=2, column=10)),
        ("x {{ 1\n  + nope }}", "EXPR_INVALID", Position(line=2, column=5)),
        ("x {{ }}", "EXPR_INVALID", Position(line=1, column=5)),
        ("{{" + "1" * 5000 + "}}", "EXPR_TOO_LONG", Position(line=1, column=3)),
        ("x" * 300_000, "TEMPLATE_INVALID", None),
    ],
    ids=lambda value: str(value)[:30],
)
def test_faults_are_found_with_their_place_in_the_template(text: str, code: str, position: Position | None) -> None:
    with pytest.raises(InvalidExpression) as caught:
        template.compile(text, VARIABLES)
    assert (caught.value.code, caught.value.position) == (code, position)


def test_an_expression_that_fails_fails_the_rendering() -> None:
    with pytest.raises(errors.AttemptFailed) as caught:
        render("{{ inputs.nope }}")
    assert caught.value.code == "EXPR_FAILED"


def test_a_result_beyond_1_mib_is_refused() -> None:
    compiled = template.compile("{{ inputs.t }}{{ inputs.t }}", VARIABLES)
    assert len(compiled.render({"inputs": {"t": "x" * 524_288}})) == 1_048_576
    with pytest.raises(errors.AttemptFailed) as caught:
        compiled.render({"inputs": {"t": "x" * 524_289}})
    assert (caught.value.code, caught.value.retryable) == ("TEMPLATE_TOO_LARGE", False)


@given(st.text().filter(lambda text: "{{" not in text))
def test_text_without_braces_renders_as_itself(text: str) -> None:
    assert render(text) == text


@given(st.text().filter(lambda text: "\0" not in text))
def test_any_text_can_be_inserted_as_it_is(text: str) -> None:
    assert template.compile("<{{ inputs.t }}>", VARIABLES).render({"inputs": {"t": text}}) == f"<{text}>"


PIECES = st.sampled_from(["{{", "}}", "{", "}", "\\", "'", '"', "'''", "r'", "inputs.title", "1", " ", "\n", "a", "é"])


@settings(max_examples=300, deadline=2000)
@given(st.lists(PIECES, max_size=15).map("".join))
def test_any_text_compiles_and_renders_or_fails_as_documented(text: str) -> None:
    assert ending(text) in {"rendered", "TEMPLATE_INVALID", "EXPR_INVALID", "EXPR_FAILED", "EXPR_RESULT"}


def ending(text: str) -> str:
    try:
        render(text)
    except (InvalidExpression, errors.AttemptFailed) as error:
        return error.code
    return "rendered"
