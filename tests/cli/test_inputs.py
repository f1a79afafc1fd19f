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


def test_a_context_is_a_text_and_of_a_json_file_its_value(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text('{"a": [1, {"b": "ü"}]}')
    (tmp_path / "word.json").write_text('"a.json"')
    (tmp_path / "data.txt").write_text("[1]")
    given = {"ctx:a": "@data.json", "ctx:b": "@word.json", "ctx:c": "@data.txt", "snap:d": "[1]", "snap:e": "@@a.json"}
    pairs = [
        f"{name}={text.replace('@d', f'@{tmp_path}/d').replace('@w', f'@{tmp_path}/w')}" for name, text in given.items()
    ]
    assert inputs.contexts(pairs) == {
        "ctx:a": {"a": [1, {"b": "ü"}]},
        "ctx:b": "a.json",
        "ctx:c": "[1]",
        "snap:d": "[1]",
        "snap:e": "@a.json",
    }


def test_a_json_file_that_holds_none_is_no_context(tmp_path: Path) -> None:
    (tmp_path / "text.json").write_text("not JSON")
    with pytest.raises(errors.InvalidInput) as caught:
        inputs.contexts([f"ctx:a=@{tmp_path}/text.json"])
    assert caught.value.code == "INPUT_INVALID"


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
        ("k=99999999999999999999", "NUMBER_RANGE"),
        ("k=9007199254740993", "NUMBER_RANGE"),
        ("k=" + "[" * 100 + "]" * 100, "TOO_DEEP"),
        ("k=@/no/such/file", "FILE_UNREADABLE"),
        ("k=@\0", "FILE_UNREADABLE"),
    ],
)
def test_a_bad_pair_has_a_code(pair: str, code: str) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        inputs.from_pairs([pair], {"k": {"type": "integer"}})
    assert caught.value.code == code


def test_a_number_that_readers_disagree_on_is_refused_with_advice() -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        inputs.from_pairs(["k=[9007199254740993]"], {"k": {"type": "array", "items": {"type": "integer"}}})
    assert (caught.value.code, caught.value.hint) == ("NUMBER_RANGE", "use a string")
    assert caught.value.message.startswith("k: an integer beyond 2**53 equals no double")


@pytest.mark.parametrize("text", ["[1,", '{"a": 1', '"open', "1e400", "-1.", "01", " [", '{"a" 1}'])
def test_where_any_json_fits_a_broken_document_is_no_text(text: str) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        inputs.from_pairs([f"k={text}"], {"k": {}})
    assert (caught.value.code, caught.value.hint) == ("INPUT_INVALID", "k wants any JSON, written as JSON")


@pytest.mark.parametrize("text", ["2026-11-16", "-v", "10 Downing Street", "a [1,", "", "-", "1e400 stars"])
def test_where_any_json_fits_a_text_needs_no_quotes(text: str) -> None:
    assert inputs.from_pairs([f"k={text}"], {"k": {}}) == {"k": text}


def test_where_a_string_may_be_meant_what_is_not_json_is_one() -> None:
    assert inputs.from_pairs(["k=[1,"], {"k": {"type": ["string", "array"]}}) == {"k": "[1,"}


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '[{"b": {"a": 1, "c": 2, "a": 1}}]'])
def test_a_key_that_stands_twice_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "inputs.json"
    file.write_text(f'{{"k": {text}}}')
    for read in (lambda: inputs.from_pairs([f"k={text}"], {"k": {}}), lambda: inputs.from_file(str(file))):
        with pytest.raises(errors.InvalidInput, match="the key 'a' appears twice in one object") as caught:
            read()
        assert caught.value.code == "DUPLICATE_KEY"


def test_the_same_name_twice_is_refused() -> None:
    with pytest.raises(errors.InvalidInput, match="k is given twice"):
        inputs.from_pairs(["k=1", "k=2"], {})


def test_an_inputs_file_must_hold_an_object(tmp_path: Path) -> None:
    file = tmp_path / "inputs.json"
    file.write_text("[1]")
    with pytest.raises(errors.InvalidInput, match="holds a list, not an object"):
        inputs.from_file(str(file))


@pytest.mark.parametrize(
    ("schema", "example"),
    [
        ({"type": "array", "items": {"type": "string"}}, 'string[], written as JSON, such as ["a", "b"]'),
        ({"type": "object"}, 'object, written as JSON, such as {"a": 1}'),
        ({"type": "integer"}, "integer, written as JSON"),
    ],
)
def test_a_value_that_is_not_json_is_answered_with_an_example(schema: JsonObject, example: str) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        inputs.from_pairs(["k=foo"], {"k": schema})
    assert caught.value.hint == f"k wants {example}"


def test_a_pair_in_the_place_of_a_file_is_answered_with_the_option_for_pairs() -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        inputs.of_run([], [], "name=Ada")
    assert (caught.value.code, caught.value.hint) == ("FILE_UNREADABLE", "did you mean --input name=Ada?")
    with pytest.raises(errors.InvalidInput) as caught:
        inputs.from_file("name=Ada", pair_option="--set")
    assert caught.value.hint == "did you mean --set name=Ada?"
