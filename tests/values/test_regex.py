"""Patterns: RE2 syntax, linear time, errors of ours."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openskelo import errors
from openskelo.values import regex


def test_search_finds_the_pattern_anywhere_and_fullmatch_only_as_the_whole() -> None:
    found = regex.compile("b+")
    assert [found.search("abbc"), found.fullmatch("abbc"), found.fullmatch("bb"), found.search("xyz")] == [
        True,
        False,
        True,
        False,
    ]


def test_a_pattern_that_ruins_backtracking_engines_takes_no_time() -> None:
    started = time.process_time()
    assert regex.compile("^(a+)+$").search("a" * 100_000 + "b") is False
    assert time.process_time() - started < 1


def test_text_with_a_lone_surrogate_is_matched_without_an_error() -> None:
    assert regex.compile("^.x$").search("\ud800x") is True


def test_unicode_classes_work_on_code_points() -> None:
    assert regex.compile(r"^\p{Greek}.$").fullmatch("α\U0001f600") is True


@pytest.mark.parametrize("text", ["(", "(?=a)", "(?<!a)b", r"(a)\1", "a{1000}{1000}", "x" * 5000, "\ud800", "[z-a]"])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        regex.compile(text)
    assert (caught.value.code, caught.value.hint is not None) == ("REGEX_INVALID", True)


@given(st.text(), st.text())
def test_any_text_is_a_pattern_or_refused(text: str, subject: str) -> None:
    try:
        compiled = regex.compile(text)
    except errors.InvalidInput:
        return
    assert compiled.fullmatch(subject) <= compiled.search(subject)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/x/a.py", False),
        ("src/**", "src/x/a.py", True),
        ("src/**", "src", False),
        ("**/a.py", "a.py", True),
        ("**/a.py", "src/x/a.py", True),
        ("**/a.py", "src/ba.py", False),
        ("src/**/a.py", "src/a.py", True),
        ("?.py", "a.py", True),
        ("?.py", "/.py", False),
        ("a.py", "aXpy", False),
        ("*", "a\nb", True),
        ("[ab].py", "a.py", False),
    ],
)
def test_a_star_in_a_path_stops_at_a_slash_and_two_do_not(pattern: str, path: str, matches: bool) -> None:
    assert regex.compile_path(pattern).fullmatch(path) is matches


# Found by an attacker: the pattern has 4,000 instructions, RE2 takes 5 s for this text.
def test_a_text_that_is_too_long_for_its_pattern_is_refused() -> None:
    pattern = regex.compile("((a?){500}){2}b")
    for match in (pattern.search, pattern.fullmatch):
        with pytest.raises(errors.AttemptFailed) as caught:
            match("a" * 300_000)
        assert (caught.value.code, caught.value.retryable) == ("REGEX_WORK", False)
    assert pattern.search("a" * 3_000 + "b") is True


def test_a_text_of_megabytes_is_matched_by_an_ordinary_pattern() -> None:
    assert regex.compile(r"(?i)error: \w+").search("a" * 8_000_000 + "ERROR: x") is True
