"""Moves SQLite's write-ahead log into the database in a thread, while a run goes on from step to step.

SQLite itself would do it in the middle of a commit, which then takes milliseconds and holds up everybody. What is
written meanwhile is little: the writer moves that on its own, and its next commit begins the write-ahead log anew.
Where many runs share each commit, or several processes write, that is left to SQLite: no moment would come in which
all was moved, and whoever drives many runs has no core to spare.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from pathlib import Path

from openskelo.stores import connecting, wal

#: Where it begins, as far as the bytes can be told: so early that SQLite does not come to do it.
BYTES = wal.CHECKPOINT_BYTES * 8 // 10
#: What was written meanwhile is moved by the writer, if it is not more than this.
REST = 512 * 1024


class Backfill:
    """Counts what the connection of the one who writes has written since the last time, and moves it."""

    __slots__ = ("_beside", "_bytes", "_database", "_moved", "_moving", "_page", "_writer")

    def __init__(self, writer: sqlite3.Connection, database: Path) -> None:
        self._writer = writer
        self._database = database
        self._beside: sqlite3.Connection | None = None
        self._moving: threading.Thread | None = None
        self._page = wal.page_size(writer)
        self._bytes = 0  # since the last time
        self._moved = 0  # of which are being moved

    def count(self, size: int) -> None:
        """So many bytes of one run's lines were committed; what they fill is moved when it is time to.

        Whatever goes wrong is left for the next time, as SQLite leaves it: every line is in the write-ahead log.
        """
        # The page that the lines go to as a whole; and when it is full a new one, what leads to it and the first page.
        self._bytes += self._page + 3 * size
        if self._bytes < BYTES:
            return
        if self._moving is None:
            self._moved = self._bytes
            moving = threading.Thread(target=self._move, name="skelo-backfill")
            with contextlib.suppress(RuntimeError):  # no thread to be had
                moving.start()
                self._moving = moving
        elif not self._moving.is_alive():
            self._moving = None
            self._bytes -= self._moved
            if self._bytes <= REST:
                self._bytes = 0
                _move(self._writer)

    def close(self) -> None:
        """Let go of the database, once nothing is being moved."""
        if self._moving is not None:
            self._moving.join()
        if self._beside is not None:
            self._beside.close()

    def _move(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._beside is None:
                self._beside = connecting.connect(self._database, any_thread=True)
            _move(self._beside)


def _move(connection: sqlite3.Connection) -> None:
    with contextlib.suppress(sqlite3.Error):
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
