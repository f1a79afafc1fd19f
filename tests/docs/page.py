"""A reference page as the tests read it: its sections, and the first cells of its tables."""

from __future__ import annotations

import re

from tests.repo import tracked

_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def text(name: str) -> str:
    """A page of the reference."""
    return (tracked.ROOT / "docs" / "reference" / name).read_text("utf-8")


def sections(page: str) -> dict[str, str]:
    """The text under each heading (without backticks), up to the next heading of any level; code left out."""
    parts = re.split(r"^#{1,6} +(.+)$", _FENCE.sub("", page), flags=re.MULTILINE)
    return {title.replace("`", "").strip(): body for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def rows(section: str) -> list[str]:
    """The first cell of every row of the section's tables that is a name in backticks."""
    return re.findall(r"^\| `([^`]+)`", section, flags=re.MULTILINE)
