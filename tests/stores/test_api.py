"""Lines become one text and come back as they were."""

from __future__ import annotations

import pytest

from openskelo import errors
from openskelo.stores import api


@pytest.mark.parametrize(
    "lines", [[b""], [b"a"], [b"a", b"b"], [b"a", b""], [b"", b"b"], [b"a", b"b", b"c"], [b""] * 3]
)
def test_what_was_joined_is_split_into_the_same_lines(lines: list[bytes]) -> None:
    assert api.join_lines(lines).split(b"\n") == lines


def test_a_line_with_a_line_end_inside_is_not_joined() -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        api.join_lines([b"a", b"b\nc"])
    assert caught.value.code == "LINE_INVALID"
