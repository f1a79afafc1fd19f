"""Tricky snippets, each with what has to be found in it: `# !! CODE` in the line of the finding, and nothing else.

They were written from the description of the check and from what Python does, before the checker read them;
those of `outsider_snippets.txt` by somebody who had not read the checker.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from openskelo.checks import sync_celery

_FILES = [Path(__file__).with_name(name) for name in ("snippets.txt", "outsider_snippets.txt")]
_EXPECTED = re.compile(r"\s*(?:# )?!! ([A-Z_]+)")


def _snippets() -> dict[str, str]:
    text = "".join(file.read_text("utf-8") for file in _FILES)
    parts = re.split(r"^=== (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_there_are_at_least_three_hundred_snippets() -> None:
    assert len(_snippets()) >= 300


@pytest.mark.parametrize("name", _snippets())
def test_just_what_is_expected_is_found(name: str) -> None:
    source = _snippets()[name]
    expected = {
        (number, code) for number, line in enumerate(source.splitlines(), 1) for code in _EXPECTED.findall(line)
    }
    report = sync_celery.check_source(_EXPECTED.sub("", source))
    assert report.unreadable == ()
    assert {(found.line, found.code) for found in report.violations} == expected
