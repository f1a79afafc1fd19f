"""Expressions: types found early, values computed the same everywhere, bounds held, nothing but errors of ours."""

from __future__ import annotations

import subprocess
import sys
import time
import types
from collections.abc import Mapping
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical
from openskelo.values.cel import expression
from openskelo.values.cel.expression import InvalidExpression, Position
from openskelo.values.schema.validator import JsonSchema

INPUTS: JsonSchema = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "count": {"type": "integer"},
        "price": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "note": {"type": "string"},
        "author": {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": False},
    },
    "required": ["title", "count", "price", "tags", "author"],
    "additionalProperties": False,
}
VARIABLES: Mapping[str, JsonSchema | None] = {"inputs": INPUTS, "outputs": None, "item": {}}
VALUES: Mapping[str, Json] = {
    "inputs": {"title": "Tea", "count": 2, "price": 2.5, "tags": ["b", "a"], "author": {"name": "Ann"}},
    "outputs": {"n": 3, "list": [1, 2, 3], "map": {"b": 1, "a": 2}},
    "item": {"n": 1},
}


def evaluate(text: str, values: Mapping[str, Json] = VALUES) -> Json:
    return expression.compile(text, VARIABLES).evaluate(values)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("inputs.title + '!'", "Tea!"),
        ("inputs.count > 1 && inputs.price > 1", True),
        ("inputs.price + 0.5", 3),
        ("double(inputs.count) * inputs.price", 5),
        ("inputs.tags.map(t, t.upperAscii())", ["B", "A"]),
        ("inputs.author.name", "Ann"),
        ("inputs['title']", "Tea"),
        ("has(inputs.note) ? inputs.note : 'none'", "none"),
        ("has(inputs.title) && inputs.title == 'Tea'", True),
        ("inputs.count > 0.5 && 2.0 == inputs.count && inputs.count in [2.0]", True),
        ("inputs.title != null ? inputs.title : null", "Tea"),
        ("inputs.tags + [1] == ['b', 'a', 1]", True),
        ("outputs.list.filter(n, n > 1)", [2, 3]),
        ("outputs.list.exists(n, n == 2)", True),
        ("'n' in outputs", True),
        ("size(inputs.tags) == 2", True),
        ("{'a': [1u, null, -2.0], 'b': outputs.n}", {"a": [1, None, -2], "b": 3}),
        ("cel.bind(n, outputs.n, n * n)", 9),
        ("'a,b'.split(',').join('-')", "a-b"),
        ("math.greatest(outputs.n, 7)", 7),
        ("'abc'.matches('^a.c$')", True),
        ("string(timestamp('2020-01-02T03:04:05Z'))", "2020-01-02T03:04:05Z"),
        ("timestamp('2020-01-02T03:04:05Z').getHours('+02:00')", 5),
        ("[3, 1].map(x, [x].map(y, x + y))", [[6], [2]]),
        ("'\U0001f600'.size()", 1),
    ],
)
def test_results_are_admitted_json(text: str, result: Json) -> None:
    assert canonical.dumps(evaluate(text)) == canonical.dumps(result)


@pytest.mark.parametrize(
    ("text", "returns", "variables"),
    [
        ("inputs.count > 1", "bool", {"inputs"}),
        ("inputs.count", "int", {"inputs"}),
        ("1u", "int", set[str]()),
        ("0.5", "double", set[str]()),
        ("inputs.title", "string", {"inputs"}),
        ("inputs.tags", "list", {"inputs"}),
        ("{'a': item}", "map", {"item"}),
        ("null", "null", set[str]()),
        ("outputs.n", "dyn", {"outputs"}),
        ("has(inputs.title)", "bool", {"inputs"}),
        ("outputs.list.map(inputs, inputs)", "list", {"outputs"}),
        ("[item].exists(i, i == outputs)", "bool", {"item", "outputs"}),
    ],
)
def test_the_type_and_the_variables_are_known_before_evaluation(text: str, returns: str, variables: set[str]) -> None:
    compiled = expression.compile(text, VARIABLES)
    assert (compiled.returns, compiled.variables) == (returns, frozenset(variables))


def test_an_expression_is_compiled_once() -> None:
    assert expression.compile("inputs.count + 1", VARIABLES) is expression.compile("inputs.count + 1", dict(VARIABLES))


@pytest.mark.parametrize(
    ("text", "position", "hint"),
    [
        ("inputs.title + 1", Position(line=1, column=14), None),
        ("has(inputs.title) && inputs.count * 0.5 > 1.0", Position(line=1, column=35), "int and double do not mix"),
        ("inputs.title > 0.5", Position(line=1, column=14), None),
        ("1 == 1.5", Position(line=1, column=3), "int and double do not mix"),
        ("true ||\n  inputs.count", Position(line=1, column=6), None),
        ("inputs.tags.map(t, t + 1)", Position(line=1, column=22), None),
        ("inputs.count + 0.5", Position(line=1, column=14), "int and double do not mix"),
        ("1 ==\n\n  = 2", Position(line=3, column=3), None),
        ("imputs.title", Position(line=1, column=7), "did you mean 'inputs'?"),
        ("inputs.titel", Position(line=1, column=8), "did you mean 'title'?"),
        ("inputs.TITLE", Position(line=1, column=8), "did you mean 'title'?"),
        ("true\n && has(inputs.nope)", Position(line=2, column=9), "did you mean 'note'?"),
        ("inputs.author.nmae", Position(line=1, column=15), "did you mean 'name'?"),
        ("now()", Position(line=1, column=4), "known here: inputs, item, outputs"),
        (
            "size(inputs.in)",
            Position(line=1, column=13),
            'in is a reserved word of CEL: write ["in"] for a field of that name',
        ),
        ("1 +", Position(line=1, column=4), None),
        ("", Position(line=1, column=1), None),
        (" \n", Position(line=1, column=1), None),
    ],
)
def test_faults_are_found_at_compile_time_with_their_place(text: str, position: Position, hint: str | None) -> None:
    with pytest.raises(InvalidExpression) as caught:
        expression.compile(text, VARIABLES)
    error = caught.value
    assert (error.code, error.position, error.line, error.column) == (
        "EXPR_INVALID",
        position,
        position.line,
        position.column,
    )
    assert (error.hint or "").startswith(hint or "")
    assert "expecting {" not in error.message


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100 + "1" + ")" * 100,
        "[" * 2000,
        "[" * 1000 + "]" * 1000,
        "1" + "+1" * 1000,
        "item" + ".a" * 1000,
        "item" + "[0]" * 1000,
        "true ? 1 : " * 300 + "1",
        "{'a':" * 400 + "1" + "}" * 400,
        "[1].map(x," * 200 + "1" + ")" * 200,
        "1" * 4000,
        "'" + "a" * 4000,
        "'''" * 1000,
        "\x00",
        "true\x00 && false",
        "\ud800",
        "'\\ud800'",
        "\\",
        "@range([1])",
        "cel.@block([1], 1)",
        "optional.of(1)",
        "inputs.?title",
        "__import__('os')",
        "inputs.title.__class__",
        "timestamp(inputs.title).getHours('Europe/Rome')",
        "timestamp(inputs.title).getHours(inputs.title)",
    ],
    ids=lambda text: text[:30].encode("ascii", "backslashreplace").decode(),
)
def test_hostile_text_is_refused(text: str) -> None:
    started = time.process_time()
    with pytest.raises(InvalidExpression) as caught:
        expression.compile(text, VARIABLES)
    assert caught.value.code == "EXPR_INVALID"
    assert time.process_time() - started < 1


def test_an_expression_longer_than_4_kib_is_refused_and_one_of_4_kib_is_not() -> None:
    assert expression.compile("'" + "é" * 2047 + "'", VARIABLES).returns == "string"
    with pytest.raises(InvalidExpression) as caught:
        expression.compile("'" + "é" * 2048 + "'", VARIABLES)
    assert caught.value.code == "EXPR_TOO_LONG"


def test_a_variable_must_have_a_name_that_expressions_can_use() -> None:
    with pytest.raises(InvalidExpression) as caught:
        expression.compile("1", {"my-item": None})
    assert "my-item" in caught.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("outputs.nope", "Key not found"),
        ("1 / (inputs.count - 2)", "divide by zero"),
        ("outputs.list[9]", "index=9"),
        ("outputs.n.x", "non-message"),
        ("int(inputs.title)", "cannot convert"),
        ("9223372036854775807 + inputs.count", "overflow"),
        ("inputs.title.matches('(')", "not a valid regular expression"),
        ("outputs.map.map(k, k + 1)", "No matching overloads"),
    ],
)
def test_evaluation_that_fails_says_why(text: str, message: str) -> None:
    with pytest.raises(errors.AttemptFailed) as caught:
        evaluate(text)
    assert (caught.value.code, caught.value.retryable) == ("EXPR_FAILED", False)
    assert message in caught.value.message


def test_mixing_integers_and_doubles_at_run_time_gives_the_way_out() -> None:
    with pytest.raises(errors.AttemptFailed) as caught:
        evaluate("outputs.n + 0.5")
    assert caught.value.hint == "int and double do not mix in arithmetic: write double(x), or 1.0 for 1"


def test_a_variable_that_is_not_given_has_no_value() -> None:
    for text in ("inputs.title", "inputs.count + 1", "item"):
        with pytest.raises(errors.AttemptFailed) as caught:
            evaluate(text, {"inputs": {}})
        assert "has no value here" in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        "b'x'",
        "timestamp('2020-01-01T00:00:00Z')",
        "duration('1s')",
        "type(1)",
        "[b'x']",
        "{'a': [duration('1s')]}",
        "[int]",
        "{1: 2}",
        "{true: 2}",
        "1.0 / 0.0",
        "[0.0 / 0.0]",
    ],
)
def test_a_result_that_is_not_json_is_told_apart(text: str) -> None:
    with pytest.raises(errors.AttemptFailed) as caught:
        evaluate(text)
    assert (caught.value.code, caught.value.hint is not None) == ("EXPR_RESULT", True)


@pytest.mark.parametrize(
    "text", ["9007199254740993", "-9007199254740993", "18446744073709551615u", "[9007199254740993]"]
)
def test_a_number_beyond_what_readers_of_json_agree_on_is_refused_as_everywhere(text: str) -> None:
    with pytest.raises(errors.AttemptFailed) as caught:
        evaluate(text)
    assert (caught.value.code, caught.value.hint) == ("NUMBER_RANGE", "use a string")


@pytest.mark.parametrize("text", ["item", "item * 1.0", "[item][0]", "item > 1.0 ? item : 0.0", "double(string(item))"])
def test_a_large_double_stays_a_double(text: str) -> None:
    for number in (6.022e23, 1e17, 2.0**60):
        assert repr(evaluate(text, {"item": number})) == repr(number)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("inputs.n", 1e17),
        ("inputs.n > 5 && inputs.n == 100000000000000000", True),
        ("[inputs.n, inputs.list[1]]", [1e17, 2.0**60]),
        ("inputs.list.filter(x, x > 1)", [2.0**60]),
        ("string(inputs.n)", "1e+17"),
        ("type(inputs.n) == double", True),
        ("inputs.small + 1", 3),
    ],
)
def test_an_integer_beyond_the_integers_of_json_is_a_double_also_by_its_schema(text: str, result: Json) -> None:
    integer: Json = {"type": "integer"}
    fields: Json = {"n": integer, "small": integer, "list": {"type": "array", "items": integer}}
    schema = cast("JsonObject", {"type": "object", "properties": fields, "required": list(fields)})
    values: Json = {"n": 10**17, "small": 2, "list": [1, 2**60]}
    assert repr(expression.compile(text, {"inputs": schema}).evaluate({"inputs": values})) == repr(result)


def test_data_in_other_containers_is_seen_as_json() -> None:
    value = cast(Json, {"t": (1, 2), "m": types.MappingProxyType({"a": 1})})
    assert evaluate("[item.t.size(), item.m.a, item.t.map(x, x)[1]]", {"item": value}) == [2, 1, 2]


TEXTS = st.text().filter(lambda text: "\0" not in text)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(DATA)
def test_data_passes_through_an_expression_unchanged(value: Json) -> None:
    admitted = canonical.admit(value)
    assert canonical.dumps(evaluate("item", {"item": admitted})) == canonical.dumps(admitted)
    assert evaluate("[item].map(x, x)[0] == item", {"item": admitted}) is True


def test_data_is_never_changed() -> None:
    value: Json = {"list": [3, 1, 2]}
    evaluate("item.list.map(x, x * 2)", {"item": value})
    assert value == {"list": [3, 1, 2]}


ORDER = """
from openskelo.values.cel import expression
value = {name: 1 for name in "qwertyuiopasdfghjkl"}
print(expression.compile("item.map(k, k).join('')", {"item": None}).evaluate({"item": value}))
"""


def test_maps_are_ranged_over_in_the_order_of_their_keys_in_every_process() -> None:
    runs = [subprocess.run([sys.executable, "-c", ORDER], capture_output=True, text=True, check=True) for _ in range(2)]
    assert [run.stdout for run in runs] == ["adefghijklopqrstuwy\n"] * 2


@pytest.mark.parametrize(
    "text",
    [
        "item.list.map(x, x)",
        "item.list.all(x, true)",
        "item.inner.exists(i, i.list.exists(x, x < 0))",
        "item.text.split('').map(c, c)",
        "(item.list + item.list).filter(x, true)",
        "item.map.map(k, k)",
    ],
)
def test_ranging_over_more_than_1000_items_is_refused(text: str) -> None:
    numbers: list[Json] = list(range(1001))
    value: Json = {
        "list": numbers,
        "text": "x" * 1001,
        "inner": [{"list": numbers}],
        "map": {str(number): 1 for number in range(1001)},
    }
    with pytest.raises(errors.AttemptFailed) as caught:
        evaluate(text, {"item": value})
    assert caught.value.code == "EXPR_FAILED"
    assert "more than 1000" in caught.value.message


def test_a_thousand_items_are_ranged_over_even_beside_large_data() -> None:
    records: list[Json] = [{"name": "n" * 400, "n": number} for number in range(1000)]
    value: Json = {"records": records, "text": "x" * 2_000_000, "list": list(range(2000))}
    assert evaluate("item.records.map(r, r.name).size() + item.list.size()", {"item": value}) == 3000
    assert evaluate("item.records.filter(r, r.n in [1, 2]).map(r, r.n)", {"item": value}) == [1, 2]


def test_iterations_are_bounded_all_together() -> None:
    with pytest.raises(errors.AttemptFailed) as caught:
        evaluate("item.all(x, item.all(y, true))", {"item": list(range(200))})
    assert "budget" in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        "item.text.replace('x', item.text)",
        "item.text.replace('', item.text).size() > 0",
        "item.list.map(n, item.text + item.text).size() > 0",
        "item.parts.join(item.text)",
        "[" + ",".join(["item.text"] * 300) + "].size() > 0",
        "cel.bind(a, item.text + item.text, cel.bind(b, a.replace('x', a), b.replace('x', b)))",
        "[item.text]" + ".map(a, a + a + a + a + a + a)" * 6,
        "item.list.map(n, item.list.map(m, item.text))",
        "+".join(["item.long"] * 20),
    ],
)
def test_results_that_could_exhaust_memory_are_refused_at_once(text: str) -> None:
    value: dict[str, Json] = {"text": "x" * 500_000, "list": list(range(1000)), "parts": ["x"] * 1000}
    value["long"] = "x" * 700_000
    started = time.process_time()
    with pytest.raises(errors.AttemptFailed) as caught:
        evaluate(text, {"item": value})
    assert "time and memory" in caught.value.message
    assert time.process_time() - started < 2


def test_deep_data_is_refused() -> None:
    for levels in (65, 300, 50_000):
        value: Json = 1
        for _ in range(levels):
            value = [value]
        with pytest.raises(errors.AttemptFailed) as caught:
            evaluate("item == item", {"item": value})
        assert caught.value.code == "EXPR_FAILED"
        assert "deeper than 64" in caught.value.message


def test_data_of_64_levels_is_seen() -> None:
    value: Json = 1
    for _ in range(64):
        value = [value]
    assert evaluate("item == item", {"item": value}) is True


def test_text_with_nul_is_refused_rather_than_cut() -> None:
    for value in ("a\0b", ["a\0b"], {"k": {"a\0b": 1}}):
        with pytest.raises(errors.AttemptFailed) as caught:
            evaluate("item == item", {"item": cast(Json, value)})
        assert "NUL" in caught.value.message
    assert evaluate("item", {"item": "a\\u0000b"}) == "a\\u0000b"
    assert evaluate("'a\\u0000b'") == "a\0b"


def test_a_lone_surrogate_in_the_data_is_an_error_of_ours() -> None:
    with pytest.raises(errors.AttemptFailed) as caught:
        evaluate("item + 'x'", {"item": "\ud800"})
    assert caught.value.code == "EXPR_FAILED"


# -- whatever an author writes --------------------------------------------------------------------------------------


def words(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from(text.split())


TOKENS = words(
    """
    inputs inputs.title inputs.tags outputs outputs.list outputs.map item x y 1 2.5 3u -1 'a' "b" r'\\' b'c' '''d'''
    true false null ( ) [ ] { } , . : ? + - * / % < <= == != > >= && || ! in .map(x, .filter(x, .all(x, .exists(x,
    .exists_one(x, has( size( .size() .split('') .join( .replace( .format([ cel.bind(x, math.greatest( type( dyn( int(
    double( string( bytes( timestamp( duration( .matches( .getHours( // google.protobuf.Value{ .? [? @in \\ ` #
    """
)
ATOMS = words(
    """
    inputs.title inputs.count inputs.price inputs.tags inputs outputs outputs.list outputs.map outputs.n item item.n
    x 1 0 2.5 3u 'a' '' null true false [] {} b'b' 9223372036854775807 1e308 '%s' int
    """
)
SHAPES = words(
    """
    {0}+{1}  {0}-{1}  {0}*{1}  {0}/{1}  {0}%{1}  {0}=={1}  {0}<{1}  ({0})in({1})  {0}&&{1}  !{0}  -{0}  {0}?{1}:{0}
    [{0},{1}]  {{{0}:{1}}}  {0}[{1}]  {0}.n  has({0}.n)  size({0})  dyn({0})  type({0})  string({0})  int({0})
    double({0})  bytes({0})  {0}.map(x,{1})  {0}.filter(x,{1})  {0}.all(x,{1})  {0}.exists_one(x,{1})
    cel.bind(x,{0},{1})  {0}.split({1})  {0}.join({1})  {0}.replace({1},{0})  {0}.format([{1}])  {0}.matches({1})
    {0}.substring({1})  math.greatest({0},{1})  timestamp({0})  duration({0})  {0}.reverse()  ({0})
    """
)
TREES = st.recursive(ATOMS, lambda inner: st.builds(str.format, SHAPES, inner, inner), max_leaves=12)


def compiles_and_evaluates_or_fails_as_documented(text: str) -> None:
    assert ending(text) in {"json", "EXPR_INVALID", "EXPR_TOO_LONG", "EXPR_FAILED", "EXPR_RESULT", "NUMBER_RANGE"}


def ending(text: str) -> str:
    try:
        result = evaluate(text)
    except (InvalidExpression, errors.AttemptFailed) as error:
        return error.code
    return "json" if canonical.admit(result) is result else "not admitted"


@settings(max_examples=150, deadline=2000)
@given(st.text())
def test_any_text(text: str) -> None:
    compiles_and_evaluates_or_fails_as_documented(text)


@settings(max_examples=300, deadline=2000)
@given(st.lists(TOKENS, max_size=25).map("".join))
def test_any_sequence_of_tokens(text: str) -> None:
    compiles_and_evaluates_or_fails_as_documented(text)


@settings(max_examples=500, deadline=2000)
@given(TREES)
def test_any_well_formed_expression(text: str) -> None:
    compiles_and_evaluates_or_fails_as_documented(text)


@settings(max_examples=100, deadline=2000)
@given(
    st.sampled_from(["(", "[", "{'a':", "-", "!", "a.", "f(", "1+", "x?", "[1].map(x,", "'", '"""']),
    st.integers(1, 4096),
)
def test_any_repetition(piece: str, times: int) -> None:
    compiles_and_evaluates_or_fails_as_documented(piece * times)


# Found by an attacker: each of these held the server, and every later one that took the run up, for minutes.
@pytest.mark.parametrize(
    "text",
    [
        "inputs.text.matches(inputs.text)",
        "inputs.text.matches('((a?){500}){2}b')",
        "inputs.list.exists(item, inputs.text.matches('(a{0,9}){0,9}' + string(item) + 'b'))",
    ],
)
def test_patterns_that_would_match_for_minutes_are_refused(text: str) -> None:
    compiled = expression.compile(text, {"inputs": None})
    with pytest.raises(errors.AttemptFailed) as caught:
        compiled.evaluate({"inputs": {"text": "a" * 300_000, "list": list(range(1000))}})
    assert caught.value.code == "EXPR_FAILED"


def test_the_bound_on_matching_holds_for_each_evaluation_anew() -> None:
    compiled = expression.compile("text.matches('(a{0,9}){0,9}b') || matches(text, '^a') == false", {"text": None})
    results = [compiled.evaluate({"text": "a" * 1_000_000}) for _ in range(4)]
    assert results == [False] * 4
