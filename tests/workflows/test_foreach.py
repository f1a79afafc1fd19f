"""What a foreach, its items and its results may be is found out before anything runs, at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    "an item that is called as a value of CEL": ("NAME_INVALID", f"{_EACH}'[1]', as: ‸'true'}}}}]\n"),
}
RIGHT = {
    "items of the type of their port": f"{_EACH}inputs.xs, as: x}}, inputs: {{{_XS}, x: string}}}}]\n",
    "items of which nobody knows the type": f"{_EACH}inputs.xs, as: x}}, inputs: {{xs: array, x: integer}}}}]\n",
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
