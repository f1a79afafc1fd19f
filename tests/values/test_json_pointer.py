"""JSON pointers, as RFC 6901 has them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openskelo.values import json_pointer


@pytest.mark.parametrize(
    ("path", "text"),
    [((), ""), (("foo", 0), "/foo/0"), (("",), "/"), (("a/b",), "/a~1b"), (("m~n",), "/m~0n"), (("~1",), "/~01")],
)
def test_a_path_as_text(path: tuple[str | int, ...], text: str) -> None:
    assert json_pointer.of(path) == text


@given(st.text())
def test_a_token_stands_for_one_name(name: str) -> None:
    token = json_pointer.token(name)
    assert "/" not in token
    assert json_pointer.name_of(token) == name
