"""Whether a database that is open is still the file at its path: SQLite goes on writing where nobody ever finds it."""

from __future__ import annotations

import os
from pathlib import Path

from openskelo import errors


class Presence:
    """Looks at the path now and then; `lost` is what it once found to be wrong, and stays so."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._file = _identity(database)
        self.lost: errors.StoreError | None = None

    def look(self) -> errors.StoreError | None:
        """What is wrong (STORE_GONE), if anything is."""
        try:
            is_gone = self.lost is None and _identity(self._database) != self._file
        except OSError:  # a file system that gives no answer now; commits say what is wrong with it
            return None
        if is_gone:
            self.lost = errors.StoreError(
                f"{self._database} was moved, removed or replaced while it was in use",
                code="STORE_GONE",
                hint="put the data dir back and open it anew; nothing can be kept until then",
            )
        return self.lost


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file is there; None when nothing is."""
    try:
        found = os.stat(path)  # noqa: PTH116 -- done twenty times a second
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
