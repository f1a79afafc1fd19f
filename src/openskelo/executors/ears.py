"""Who listens to a model: what it says is passed on, and the clock stands still while a question waits for its turn."""

from __future__ import annotations

import time
from collections.abc import Callable

from openskelo.executors import job


class Ear:
    """An `OnText` and a `seam.Patient` for one question."""

    def __init__(self, spent: job.Spent, hear: Callable[[str], None]) -> None:
        self._spent = spent
        self._hear = hear
        self._turns = 0

    def __call__(self, text: str) -> None:
        self._hear(text)

    def waits(self) -> None:
        self._spent.waits_since = time.perf_counter()

    def goes(self) -> None:
        self._spent.waited = self._spent.idle()
        self._spent.waits_since = None
        self._turns += 1

    def sent(self) -> int:
        """To how many the question was sent so far; a provider that never says so has been sent it at once."""
        return self._turns or (0 if self._spent.waits_since is not None else 1)
