"""Colour and width of text in a terminal: only where a person looks, never in a pipe, never with NO_COLOR."""

from __future__ import annotations

import os
import unicodedata
from typing import TextIO

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}

#: The badge and colour of each mode, the same everywhere.
BADGES = {"ai": "AI", "deterministic": "DET", "approval": "HUMAN", "dag": "DAG"}
_BADGE_COLOURS = {"ai": "magenta", "deterministic": "green", "approval": "yellow", "dag": "cyan"}


def coloured(stream: TextIO) -> bool:
    """Whether colour may be written to this stream."""
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


class Ink:
    """Paints text for one stream, or leaves it alone."""

    def __init__(self, stream: TextIO) -> None:
        self._on = coloured(stream)

    def paint(self, text: str, *styles: str) -> str:
        """`text` in these styles (`bold`, `red`, …)."""
        if not self._on or not styles:
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"

    def badge(self, mode: str) -> str:
        """AI, DET, HUMAN or DAG in its colour, five characters wide."""
        return self.paint(f"{BADGES.get(mode, mode):<5}", _BADGE_COLOURS.get(mode, "bold"))

    def ending(self, word: str) -> str:
        """A status or an ending in the colour of good, bad or waiting."""
        if word in ("ok", "succeeded", "completed", "passed", "same", "approved"):
            return self.paint(word, "green")
        if word in ("failed", "denied", "escalated", "budget_exceeded", "cancelled", "altered", "different"):
            return self.paint(word, "red")
        if word in ("paused", "blocked", "waiting", "uncertain", "unfinished"):
            return self.paint(word, "yellow")
        return word


def clean(text: str) -> str:
    """Text from data, safe to write to a terminal: control characters become visible, lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs") else f"\\u{ord(char):04x}"
        for char in text
    )


def one_line(text: str, limit: int | None = None) -> str:
    """`clean` text on one line, cut with … at `limit` columns."""
    flat = " ".join(clean(text).split())
    if limit is None or width(flat) <= limit:
        return flat
    kept = ""
    for char in flat:
        if width(kept) + width(char) > limit - 1:
            break
        kept += char
    return kept + "…"


def width(text: str) -> int:
    """Columns that `text` takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def pad(text: str, columns: int) -> str:
    """`text` filled with spaces to `columns`."""
    return text + " " * max(0, columns - width(text))
