"""Guide pages about examples show what is really in them."""

from __future__ import annotations

import re

import pytest

from tests.repo import tracked

PAGES = (
    "content-pipeline",
    "content-pipeline-parallel",
    "research-brief",
    "ticket-triage",
    "code-review",
    "data-extraction",
    "agent-fix",
    "review-this-diff",
    "pair",
)


@pytest.mark.parametrize("name", PAGES)
def test_page_shows_its_example_as_it_is(name: str) -> None:
    page = (tracked.ROOT / "docs" / "guide" / f"{name}.md").read_text("utf-8")
    shown = re.findall(r"^```yaml\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    files = [path.read_text("utf-8") for path in tracked.files(f"examples/{name}/*.yaml")]
    assert shown
    assert all(any(part in text for text in files) for part in shown)
    assert f"../../examples/{name}" in page
