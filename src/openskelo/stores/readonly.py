"""The log of a data dir that cannot be written, such as an archive: it is looked at, and left alone."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from pathlib import Path

from openskelo.stores import faults, patience, sqlite


class ReadonlyLog(sqlite.SqliteLog):
    """As its base, as far as reading goes; whatever writes is refused (StoreError STORE_READONLY)."""

    def __init__(self, data_dir: Path) -> None:
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        super().__init__(data_dir)

    async def close(self) -> None:
        """Let go of everything; the store is of no use afterwards."""
        try:
            await super().close()
        finally:
            if self._copy is not None:
                self._copy.cleanup()

    def _connected(self) -> sqlite3.Connection:
        """With whoever writes meanwhile, if that can be; else the file alone, or a copy of it with its unmerged end."""
        try:
            return _reader(self._database, "mode=ro")
        except sqlite3.Error:
            unmerged = self._database.with_name(f"{self._database.name}-wal")
            with contextlib.suppress(FileNotFoundError):
                if unmerged.stat().st_size > 0:
                    return _reader(self._copied(unmerged), "mode=rw")
            return _reader(self._database, "immutable=1")

    def _copied(self, unmerged: Path) -> Path:
        """What SQLite can only join in a place that it may write to."""
        self._copy = tempfile.TemporaryDirectory(prefix="skelo-")
        try:
            for path in (self._database, unmerged):
                shutil.copyfile(path, Path(self._copy.name) / path.name)
        except OSError as error:
            raise faults.of_os(error, "copying the log to read it") from error
        return Path(self._copy.name) / self._database.name

    def _repair_mirrors(self) -> None:
        """Whoever may write does that."""


def _reader(database: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{database.absolute().as_uri()}?{how}", uri=True, isolation_level=None, timeout=patience.BUSY_SECONDS
    )
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        connection.execute("PRAGMA query_only = ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
