"""A file becomes a JSON value that knows its places, or one Problem at the place that stops the reading."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from openskelo import errors
from openskelo.workflows.text import positions, problems, source
from tests.workflows import marking

YAML = {
    "no text at all": ("EMPTY", "‸"),
    "only a comment": ("EMPTY", "‸# hello\n"),
    "a bracket that stays open": ("YAML_INVALID", "a: [1, 2\nb‸: 3\n"),
    "a tab for indentation": ("YAML_INVALID", "a:\n‸\tb: 1\n"),
    "a tag": ("TAG", "a: ‸!!python/object:os.system x\n"),
    "a tag of YAML's own": ("TAG", "a: ‸!!str 5\n"),
    "a tagged map": ("TAG", "a: ‸!thing {b: 1}\n"),
    "a merge key": ("MERGE_KEY", "a: &x {b: 1}\nc:\n  ‸<<: *x\n"),
    "a key that is a number": ("KEY_NOT_TEXT", "a: 1\n‸5: b\n"),
    "a key that is true": ("KEY_NOT_TEXT", "‸true: b\n"),
    "a key that is empty": ("KEY_NOT_TEXT", "?‸ \n: b\n"),
    "a key that is a list": ("KEY_NOT_TEXT", "? ‸[a, b]\n: 1\n"),
    "a key twice": ("DUPLICATE_KEY", "a: 1\nb: 2\n‸a: 3\n"),
    "a quoted key twice": ("DUPLICATE_KEY", 'a: 1\n‸"a": 3\n'),
    "two documents": ("MULTIPLE_DOCUMENTS", "a: 1\n‸---\nb: 2\n"),
    "an alias of nothing": ("ALIAS_UNKNOWN", "a: ‸*b\n"),
    "an alias inside of itself": ("ALIAS_LOOP", "a: &x\n  b: ‸*x\n"),
    "an alias as a key": ("KEY_NOT_TEXT", "a: &x b\n‸*x : 1\n"),
    "a number that is too large": ("NUMBER_RANGE", "a: ‸9007199254740993\n"),
    "a number of endless digits": ("NUMBER_RANGE", "a: ‸" + "9" * 6000 + "\n"),
    "a float that is too large": ("NUMBER_RANGE", "a: ‸1e999\n"),
    "a number in base sixteen that is too large": ("NUMBER_RANGE", "a: ‸0x" + "f" * 50 + "\n"),
    "no number": ("NUMBER_INVALID", "a: ‸.nan\n"),
    "infinity": ("NUMBER_INVALID", "a: ‸-.inf\n"),
    "leading zeros": ("NUMBER_AMBIGUOUS", "a: ‸0123\n"),
    "a NUL": ("TEXT_INVALID", "a: b‸\0c\n"),
    "a control character": ("TEXT_INVALID", "a: 1\nb: ‸\x07\n"),
    "a byte order mark in the middle": ("TEXT_INVALID", "a: ‸\ufeffb\n"),
    "too many levels": ("TOO_DEEP", "[" * 64 + "‸[1]" + "]" * 64),
    "levels without end": ("TOO_DEEP", "[" * 64 + "‸" + "[" * 100_000),
    "maps without end": ("TOO_DEEP", "{a: " * 64 + "‸" + "{a: " * 50_000),
    "too many levels through an alias": (
        "TOO_DEEP",
        "a: &x " + "[" * 40 + "]" * 40 + "\nb: " + "[" * 30 + "‸*x" + "]" * 30,
    ),
}
JSON = {
    "no text at all": ("EMPTY", "‸"),
    "a comma too many": ("JSON_INVALID", '{"a": 1‸,}'),
    "a comma too few": ("JSON_INVALID", '{"a": 1 ‸"b": 2}'),
    "a colon too few": ("JSON_INVALID", '{"a" ‸1}'),
    "a key without quotes": ("JSON_INVALID", "{‸a: 1}"),
    "a comment": ("JSON_INVALID", '{"a": 1} ‸// hi'),
    "a word that is not JSON": ("JSON_INVALID", '{"a": ‸True}'),
    "a number with a plus": ("JSON_INVALID", '{"a": ‸+1}'),
    "a text that stays open": ("JSON_INVALID", '{"a": "b}‸'),
    "an escape that is not known": ("JSON_INVALID", r'{"a": "‸\x"}'),
    "half a surrogate pair": ("JSON_INVALID", r'{"a": "‸\ud800"}'),
    "the end too early": ("JSON_INVALID", '{"a": [1, 2‸'),
    "two values": ("JSON_INVALID", "{} ‸{}"),
    "a bracket closed by a brace": ("JSON_INVALID", '{"a": [1‸}}'),
    "a key twice": ("DUPLICATE_KEY", '{"a": 1,\n ‸"a": 2}'),
    "a number that is too large": ("NUMBER_RANGE", '{"a": ‸1e400}'),
    "levels without end": ("TOO_DEEP", "[" * 64 + "‸" + "[" * 100_000),
}


def _stopped(data: bytes, file: str) -> problems.Problem:
    with pytest.raises(errors.InvalidWorkflow) as caught:
        source.parse(data, file=file)
    (found,) = caught.value.problems
    assert isinstance(found, problems.Problem)
    return found


@pytest.mark.parametrize(("file", "cases"), [("f.yaml", YAML), ("f.json", JSON)], ids=["yaml", "json"])
def test_every_mistake_is_found_at_its_place(file: str, cases: dict[str, tuple[str, str]]) -> None:
    found: dict[str, list[marking.Place]] = {}
    wanted: dict[str, list[marking.Place]] = {}
    for name, case in cases.items():
        text, wanted[name] = marking.expected(*case)
        one = _stopped(text.encode(), file)
        found[name] = [(one.code, one.line, one.column)]
    assert found == wanted


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("a:\n\tb: 1\n", "YAML does not allow a tab here", "indent with spaces"),
        ("a:\n  - b: 1\n\tc: 2\n", "YAML does not allow a tab here", "indent with spaces"),
        ("a: @x\n", "a value cannot begin with '@'", "quote the text"),
    ],
)
def test_the_character_that_is_in_the_way_is_named(text: str, message: str, hint: str) -> None:
    found = _stopped(text.encode(), "f.yaml")
    assert (found.code, found.message, found.hint) == ("YAML_INVALID", message, hint)


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        (
            "inputs: {n: integer[]}\n",
            "YAML_INVALID",
            "close the bracket, or quote a text that contains one, such as 'integer[]'",
        ),
        ("when: a ? b : c\n", "YAML_INVALID", "quote a text that contains a colon and a space"),
        (
            "when: 'a' in inputs.x\n",
            "YAML_INVALID",
            "quote the whole text if it begins with a quote, and check the indentation",
        ),
        ("prompt: {{ inputs.x }}\n", "KEY_NOT_TEXT", "quote a text that begins with { or ["),
    ],
)
def test_what_was_meant_for_a_text_and_is_none_is_to_be_quoted(text: str, code: str, hint: str) -> None:
    found = _stopped(text.encode(), "f.yaml")
    assert (found.code, found.hint) == (code, hint)


def test_bytes_that_are_not_utf8_are_found_at_their_place() -> None:
    found = _stopped(b"a: 1\nb: \xff\n", "f.yaml")
    assert (found.code, found.line, found.column) == ("NOT_UTF8", 2, 4)


def test_a_file_over_one_mebibyte_is_refused() -> None:
    assert _stopped(b"#" * (1024 * 1024 + 1), "f.yaml").code == "FILE_TOO_LARGE"


def test_aliases_that_explode_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert _stopped("\n".join(lines).encode(), "f.yaml").code == "ALIAS_EXPLODES"


@pytest.mark.parametrize("name", ["missing.yaml", ".", "a\0b.yaml"])
def test_a_file_that_cannot_be_read_is_a_problem(name: str, tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidWorkflow) as caught:
        source.read(tmp_path / name)
    assert {one.code for one in caught.value.problems} <= {"FILE_NOT_FOUND", "FILE_UNREADABLE"}


def test_plain_words_mean_what_json_means() -> None:
    text = """\ufeffnothing: [~, null, ]
truth: [true, False]
texts: [yes, no, on, 2026-01-01, "2026-01-01T10:00:00Z", 1_000, '5', 1:30, 0b1, +, -]
numbers: [1, -2, +3, 2.5, 1e3, .5, 0x1f, 0o17, 2.0]
large: [1.0e+20, 100000000000000000, -1152921504606846976, 0x100000000000000000000, 6.022e23]
same: &x {a: 1}
again: *x
"""
    assert source.parse(text.encode(), file="f.yaml").value == {
        "nothing": [None, None],
        "truth": [True, False],
        "texts": ["yes", "no", "on", "2026-01-01", "2026-01-01T10:00:00Z", "1_000", "5", "1:30", "0b1", "+", "-"],
        "numbers": [1, -2, 3, 2.5, 1000, 0.5, 31, 15, 2],
        "large": [1e20, 1e17, -(2.0**60), 2.0**80, 6.022e23],
        "same": {"a": 1},
        "again": {"a": 1},
    }


def test_every_value_knows_its_place() -> None:
    read = source.parse(b"a:\n  - b: c\n    d: |\n      one\n      two\ne: 'x y'\n", file="f.yaml")
    paths: dict[positions.Path, tuple[int, int]] = {
        ("a",): (2, 3),
        ("a", 0): (2, 5),
        ("a", 0, "b"): (2, 8),
        ("e",): (6, 4),
        ("a", 7, "nowhere"): (2, 3),
    }
    assert {path: positions.locate(read.positions, path) for path in paths} == paths
    assert positions.locate_key(read.positions, ("a", 0, "d")) == (3, 5)
    assert positions.locate_within(read.positions, ("a", 0, "d"), (2, 3)) == (5, 9)
    assert positions.locate_within(read.positions, ("e",), (1, 3)) == (6, 7)


def test_json_and_yaml_read_the_same_value() -> None:
    text = b'{"a": [1, 2.5, "x\\u00e9\\ud83d\\ude00", null, true, {}], "b": {"c": []}}'
    value = source.parse(text, file="f.json").value
    assert value == {"a": [1, 2.5, "xé😀", None, True, {}], "b": {"c": []}}


def test_places_in_json_are_exact_after_everything_that_yaml_spells_otherwise() -> None:
    text = '{\t"a\\ud83d\\ude00\\/" \n : 1, "\\\\ud83d": ["x", {"b":2}]}'
    read = source.parse(text.encode(), file="f.json")
    assert read.value == json.loads(text)
    assert positions.locate(read.positions, ("a😀/",)) == (2, 4)
    assert positions.locate_key(read.positions, ("\\ud83d",)) == (2, 7)
    assert positions.locate(read.positions, ("\\ud83d", 1, "b")) == (2, 29)


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=12,
)


@hypothesis.given(_JSON, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_json_text_means_what_the_standard_library_says(value: object, ascii_only: bool, indent: object) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)  # pyright: ignore[reportArgumentType]
    hypothesis.assume(not source._FORBIDDEN.search(text))  # pyright: ignore[reportPrivateUsage] -- no file may have them
    assert source.parse(text.encode(), file="f.json").value == value


@hypothesis.given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_one_problem(data: bytes) -> None:
    for file in ("f.yaml", "f.json"):
        _value_or_problem(data, file)


@hypothesis.given(st.text(alphabet="ab:-[]{}\"'|>&*!%#?,~0.5 \n\t\\<@`\u2028\u0085é", max_size=60))
@hypothesis.settings(max_examples=300)
def test_any_text_is_a_value_or_one_problem(text: str) -> None:
    for file in ("f.yaml", "f.json"):
        _value_or_problem(text.encode(), file)


def _value_or_problem(data: bytes, file: str) -> None:
    try:
        read = source.parse(data, file=file)
    except errors.InvalidWorkflow as error:
        (found,) = error.problems
        assert isinstance(found, problems.Problem)
        assert found.line >= 1
        assert found.column >= 1
    else:
        assert read.positions is not None


def test_a_file_that_cannot_be_opened_for_lack_of_descriptors_is_no_invalid_workflow(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text("name: flow\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(errors.StoreError) as raised:
            source.read(path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert raised.value.code == "DESCRIPTORS_EXHAUSTED"
    assert source.read(path).value == {"name": "flow"}


@pytest.mark.parametrize(
    ("name", "hint"), [("README.md", "a workflow is a .yaml or .json file"), ("flow.yaml", "quote the text")]
)
def test_a_file_of_another_kind_is_said_to_be_no_workflow(name: str, hint: str, tmp_path: Path) -> None:
    assert [problem.hint for problem in marking.check("a: `skelo`\n", tmp_path, name=name)] == [hint]
