"""Values on the command line become what their schema asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo import errors
from openskelo.cli import inputs
from openskelo.kernel.json import Json, JsonObject

TEXT: JsonObject = {"type": "string"}


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("42", TEXT, "42"),
        ("42", {"type": "integer"}, 42),
        ("true", {"type": "boolean"}, True),
        ("[1, 2]", {"type": "array"}, [1, 2]),
        ('{"a": 1.0}', {"type": "object"}, {"a": 1}),
        ("plain words", {}, "plain words"),
        ("7", {}, 7),
        ("red", {"enum": ["red", "blue"]}, "red"),
        ("null", {"type": ["string", "null"]}, None),
        ("a=b", TEXT, "a=b"),
        ("", TEXT, ""),
        ("@@home", TEXT, "@home"),
    ],
)
def test_a_pair_is_read_by_its_schema(text: str, schema: JsonObject, value: Json) -> None:
    assert inputs.from_pairs([f"k={text}"], {"k": schema}) == {"k": value}


def test_a_file_is_read_as_text_or_json(tmp_path: Path) -> None:
    file = tmp_path / "value"
    file.write_text('{"a": [1]}\n')
    pair = [f"k=@{file}"]
    assert inputs.from_pairs(pair, {"k": TEXT}) == {"k": '{"a": [1]}\n'}
    assert inputs.from_pairs(pair, {"k": {"type": "object"}}) == {"k": {"a": [1]}}


def test_pairs_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "inputs.json"
    file.write_text('{"a": 1, "b": 2}')
    assert inputs.of_run((), ["b=3"], str(file)) == {"a": 1, "b": 3}


@pytest.mark.parametrize(
    ("pair", "code"),
    [
        ("noequals", "USAGE"),
        ("=v", "USAGE"),
        ("k=not json", "INPUT_INVALID"),
        ("k=NaN", "INPUT_INVALID"),
        ("k=99999999999999999999", "INPUT_INVALID"),
        ("k=" + "[" * 100 + "]" * 100, "INPUT_INVALID"),
        ("k=@/no/such/file", "FILE_UNREADABLE"),
        ("k=@\0", "FILE_UNREADABLE"),
    ],
)
def test_a_bad_pair_has_a_code(pair: str, code: str) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        inputs.from_pairs([pair], {"k": {"type": "integer"}})
    assert caught.value.code == code


def test_the_same_name_twice_is_refused() -> None:
    with pytest.raises(errors.InvalidInput, match="k is given twice"):
        inputs.from_pairs(["k=1", "k=2"], {})


def test_an_inputs_file_must_hold_an_object(tmp_path: Path) -> None:
    file = tmp_path / "inputs.json"
    file.write_text("[1]")
    with pytest.raises(errors.InvalidInput, match="holds a list, not an object"):
        inputs.from_file(str(file))
