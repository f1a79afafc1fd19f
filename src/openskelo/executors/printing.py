"""What handlers in the engine's own process print: kept in the log of their attempt, as a worker's prints are."""

from __future__ import annotations

import contextvars
import io
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO


class _Page:
    """The log of one attempt; `open`: its last line has not ended yet."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._open = False

    def write(self, text: str) -> None:
        if not text:
            return
        first, *others = text.split("\n")
        if self._open and self._lines:
            self._lines[-1] += first
        else:
            self._lines.append(first)
        self._lines.extend(others)
        self._open = not text.endswith("\n")
        if not self._open:
            self._lines.pop()  # the empty rest after the last newline


#: Of the attempt that is under way in this task: many handlers take turns in one process.
_page: contextvars.ContextVar[_Page | None] = contextvars.ContextVar("skelo_page", default=None)


@contextmanager
def into(lines: list[str]) -> Generator[None]:
    """Prints within this block, and within tasks that it starts, are lines of `lines`."""
    token = _page.set(_Page(lines))
    try:
        yield
    finally:
        _page.reset(token)


def say(
    *values: object, sep: str | None = " ", end: str | None = "\n", file: IO[str] | None = None, flush: bool = False
) -> None:
    """`print` for handlers: standard output belongs to the command line, and secrets are masked in logs only."""
    page = _page.get()
    if page is None or (file is not None and file not in (sys.stdout, sys.stderr)):
        print(*values, sep=sep, end=end, file=file or sys.stderr, flush=flush)
        return
    text = io.StringIO()
    print(*values, sep=sep, end=end, file=text)
    page.write(text.getvalue())
