"""What handlers in the engine's own process print: kept in the log of their attempt, as a worker's prints are."""

from __future__ import annotations

import contextvars
import io
import sys
from collections.abc import Generator, Iterable
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


class _Through:
    """A standard stream while handlers run: what they write goes to their page, and everybody else's to the stream."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self.users = 0

    def write(self, text: str) -> int:
        page = _page.get()
        if page is None:
            return self.stream.write(text)
        page.write(text)
        return len(text)

    def writelines(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.write(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)


@contextmanager
def into(lines: list[str]) -> Generator[None]:
    """What is printed, or written to a standard stream, within this block and tasks that it starts, is in `lines`."""
    token = _page.set(_Page(lines))
    _take_streams()
    try:
        yield
    finally:
        _give_streams_back()
        _page.reset(token)


def _take_streams() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, _Through):
            stream = _Through(stream)
            setattr(sys, name, stream)
        stream.users += 1


def _give_streams_back() -> None:
    """The last handler to end puts back what was there, unless somebody else has put another in its place."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, _Through):
            stream.users -= 1
            if not stream.users:
                setattr(sys, name, stream.stream)


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
