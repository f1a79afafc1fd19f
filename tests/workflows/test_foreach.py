"""What a foreach, its items and its results may be is found out before anything runs, at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.workflows import load
from tests.workflows import marking

_XS = "xs: {type: array, items: {type: string}}"
_EACH = "blocks: [{id: a, foreach: {items: "
_ODD = "{id: a, foreach: {items: '[1]'}, outputs: {odd: integer?, even: {type: integer, default: 0}}}"

MISTAKES = {
    "results that are to be cached": ("CONFLICT", "blocks: [{id: a, foreach: {items: '[1]'}, cache: ‸true}]\n"),
    "items of another type than their port": (
        "TYPE_MISMATCH",
        f"{_EACH}‸inputs.xs, as: x}}, inputs: {{{_XS}, x: integer}}}}]\n",
    ),
    "an item that is called what the block sees already": ("NAME_INVALID", f"{_EACH}'[1]', as: ‸outputs}}}}]\n"),
    "an item that is called as a type of CEL": ("NAME_INVALID", f"{_EACH}'[1]', as: ‸int}}}}]\n"),
    "an item that is called as a word of CEL": ("NAME_INVALID", f"{_EACH}'[1]', as: ‸in}}}}]\n"),
    "a word for failed items that there is not": ("CHOICE", f"{_EACH}'[1]', on_fail: ‸skip}}}}]\n"),
    "failed items that are neither kept nor not": ("TYPE", f"{_EACH}'[1]', on_fail: ‸true}}}}]\n"),
    "an output that is called as the list of failed items": (
        "CONFLICT",
        f"{_EACH}'[1]', on_fail: keep}}, outputs: {{‸errors: string}}}}]\n",
    ),
    "a list of failed items that no block keeps": (
        "UNKNOWN_PORT",
        f"{_EACH}'[1]'}}}}, {{id: b, inputs: {{x: {{type: array, from: ‸a.errors}}}}}}]\n",
    ),
    "a list of failed items that is taken for something else": (
        "TYPE_MISMATCH",
        f"{_EACH}'[1]', on_fail: keep}}}}, {{id: b, inputs: {{x: {{type: string, from: ‸a.errors}}}}}}]\n",
    ),
    "an item that is called as a value of CEL": ("NAME_INVALID", f"{_EACH}'[1]', as: ‸'true'}}}}]\n"),
}
RIGHT = {
    "items of the type of their port": f"{_EACH}inputs.xs, as: x}}, inputs: {{{_XS}, x: string}}}}]\n",
    "items of which nobody knows the type": f"{_EACH}inputs.xs, as: x}}, inputs: {{xs: array, x: integer}}}}]\n",
    "failed items that stop the block": f"{_EACH}'[1]', on_fail: stop}}, outputs: {{errors: string}}}}]\n",
    "an item that is called as a function": f"{_EACH}'[1]', as: size}}}}]\n",
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistake_is_found_at_its_place(case: str, tmp_path: Path) -> None:
    text, wanted = marking.expected(*MISTAKES[case])
    assert marking.errors(marking.check(text, tmp_path)) == wanted


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_right_is_taken(case: str, tmp_path: Path) -> None:
    assert marking.errors(marking.check(RIGHT[case], tmp_path)) == []


@pytest.mark.parametrize(
    ("codes", "port"),
    [
        ("MAY_BE_MISSING", "{type: array, items: {type: integer}, from: ‸a.odd}"),
        ("", "{type: array, items: {type: integer}, from: a.even}"),
        ("", "{type: array, items: {type: [integer, 'null']}, from: a.odd}"),
        ("", "{type: array, from: a.odd}"),
        ("", "{type: integer, from: a.odd, transform: size(value)}"),
    ],
)
def test_a_list_that_may_have_gaps_is_warned_of_where_none_are_taken(tmp_path: Path, codes: str, port: str) -> None:
    text, wanted = marking.expected(codes, f"blocks: [{_ODD}, {{id: b, inputs: {{x: {port}}}}}]\n")
    found = marking.check(text, tmp_path)
    assert (marking.errors(found), marking.warnings(found)) == ([], wanted)


@pytest.mark.parametrize(
    ("codes", "port"),
    [
        ("TYPE_MISMATCH", "{type: array, items: {type: string}, from: ‸a.word}"),
        ("TYPE_MISMATCH", "{type: 'string[]', from: ‸a.word}"),
        ("TYPE_MISMATCH", "{type: 'string[]?', from: ‸a.word}"),
        ("", "{type: array, items: {type: [string, 'null']}, from: a.word}"),
        ("", "{type: array, items: {type: string}, from: a.word, transform: 'value.filter(v, v != null)'}"),
        ("", "{type: array, items: {type: object}, from: a.errors}"),
    ],
)
def test_a_list_with_failed_items_is_refused_where_null_is_not_accepted(tmp_path: Path, codes: str, port: str) -> None:
    keeps = "{id: a, foreach: {items: '[1]', on_fail: keep}, outputs: {word: string}}"
    text, wanted = marking.expected(codes, f"blocks: [{keeps}, {{id: b, inputs: {{x: {port}}}}}]\n")
    found = marking.check(text, tmp_path)
    assert (marking.errors(found), marking.warnings(found)) == (wanted, [])


@pytest.mark.parametrize(("codes", "port"), [("TYPE_MISMATCH", "a.word"), ("", "a.errors")])
@pytest.mark.parametrize("outputs", ["", "outputs: {word: a.word, errors: a.errors}\n"])
def test_a_list_with_failed_items_of_a_used_file_is_refused_where_null_is_not_accepted(
    tmp_path: Path, codes: str, port: str, outputs: str
) -> None:
    keeps = "{id: a, foreach: {items: '[1]', on_fail: keep}, outputs: {word: object}}"
    (tmp_path / "inner.yaml").write_text(f"name: inner\nblocks: [{keeps}]\n{outputs}")
    (tmp_path / "middle.yaml").write_text("name: middle\nblocks: [{id: a, uses: ./inner.yaml}]\n")
    mark = marking.MARK if codes else ""
    for file in ("inner", "middle"):
        uses = f"{{id: a, uses: ./{file}.yaml}}"
        text, wanted = marking.expected(
            codes, f"blocks: [{uses}, {{id: b, inputs: {{x: {{type: 'object[]', from: {mark}{port}}}}}}}]\n"
        )
        assert marking.errors(marking.check(text, tmp_path)) == wanted


def test_the_outputs_of_a_last_block_that_keeps_failed_items_list_them() -> None:
    keeps: JsonObject = {"items": "[1]", "on_fail": "keep"}
    workflow = load.from_document(
        {"name": "w", "blocks": [{"id": "a", "foreach": keeps, "outputs": {"word": "string"}}]}
    )
    assert workflow.outputs == {
        "word": definition.Binding(node="a", port="word"),
        "errors": definition.Binding(node="a", port="errors"),
    }
    assert workflow.nodes["a"].foreach == definition.Foreach(items="[1]", on_fail="keep")
    assert [port.name for port in workflow.nodes["a"].outputs] == ["word"]


def test_a_foreach_that_stops_has_the_hash_of_one_that_says_nothing() -> None:
    loops: list[JsonObject] = [{"items": "[1]"}, {"items": "[1]", "on_fail": "stop"}]
    first, second = (load.from_document({"name": "w", "blocks": [{"id": "a", "foreach": loop}]}) for loop in loops)
    assert first == second
