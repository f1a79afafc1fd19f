"""Python's collector of cycles, which looks less often while runs are driven or read.

Almost all that a run makes is needed until its end and is freed without the collector. By its own measure it would look
through thousands of new objects a hundred times a second, and find none to free.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Generator

#: After so many new objects it looks (Python's own measure is 700).
_SELDOM = 50_000


class Seldom:
    """Makes the collector look less often; one that looks more seldom already, or not at all, is left alone."""

    def __init__(self) -> None:
        self._before: int | None = None

    def begin(self) -> None:
        """From now on it looks less often."""
        before, *older = gc.get_threshold()
        if 0 < before < _SELDOM:
            gc.set_threshold(_SELDOM, *older)
            self._before = before

    def end(self) -> None:
        """It looks as often as before; what the program has chosen in the meantime stays."""
        threshold, *older = gc.get_threshold()
        if self._before is not None and threshold == _SELDOM:
            gc.set_threshold(self._before, *older)
        self._before = None


@contextlib.contextmanager
def seldom() -> Generator[None]:
    """It looks less often inside."""
    one = Seldom()
    one.begin()
    try:
        yield
    finally:
        one.end()
