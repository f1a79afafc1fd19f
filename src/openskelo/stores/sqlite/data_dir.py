"""The data dir of an SQLite store: its files, its version, and how it is created.

    version      the version of the layout        log.db    the SQLite database with the log
    .gitignore   keeps the data dir out of git    blobs/    large values, one file each
    setup.lock   held while it is created         drivers/  one lock file for each live driver
                                                  events/   all events as files

A new data dir gets `sql/schema.sql` in one transaction. `log.db` holds its own version (`PRAGMA user_version`), set in
that transaction; the file `version` is written last and says that everything else is in place. A crash in between
leaves a database that the next process recognises and finishes.

A data dir of another version is refused and left as it is. To change the layout, edit `schema.sql` and raise VERSION.

A data dir holds prompts, outputs and answers of people. Every file in it is created for its owner alone (0600).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Generator
from pathlib import Path

from openskelo import errors, files
from openskelo.stores import storage_errors
from openskelo.stores.sqlite import connection as sqlite_connection
from openskelo.stores.sqlite import damaged_wal, sqlite_store

#: The version of the layout that this program reads and writes. Unreleased programs wrote up to 3 into the file
#: `version` and up to 4 into `log.db`.
VERSION = 5
_SCHEMA = Path(__file__).parent / "sql" / "schema.sql"
#: The size of a new database's pages. The lines of a step take about 1,400 bytes and would waste a third of 4 KiB.
PAGE_BYTES = 8192


def open_store(data_dir: Path) -> sqlite_store.SqliteStore:
    """Return the store of a data dir, which is created if it is missing.

    Raises StoreVersion for another version, Corrupt when `log.db` is missing, StoreError when it cannot be opened.
    """
    if not _has_version(data_dir):
        _create(data_dir)
    elif not (data_dir / "log.db").is_file():
        # SQLite would create an empty database, and every run would silently be gone.
        state = "is not a file" if (data_dir / "log.db").exists() else "is missing"
        raise errors.Corrupt(f"{data_dir / 'log.db'} {state}", hint="restore the data dir from a copy")
    return sqlite_store.SqliteStore(data_dir)


def open_read_only(data_dir: Path) -> sqlite_store.SqliteStore:
    """Return the store of an existing data dir for reading, also when this process cannot write to it."""
    try:
        return open_store(data_dir)
    except errors.StoreError as error:
        if error.code != "STORE_READONLY" or not _has_version(data_dir):
            raise
    return sqlite_store.ReadonlySqliteStore(data_dir)


def exists(data_dir: Path) -> bool:
    """True if there is a data dir of this version. Raises StoreVersion for another version.

    A data dir that has lost its `version` file still has its `log.db`.
    """
    return _has_version(data_dir) or (data_dir / "log.db").exists()


def _has_version(data_dir: Path) -> bool:
    """True if the data dir is complete, False if it has no `version` file. Raises StoreVersion for another version."""
    try:
        text = files.read_plain(data_dir / "version").decode()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise errors.StoreError(
            f"cannot read {data_dir / 'version'}: {reason}",
            code="STORE_IO",
            hint="check its owner and permissions, or give another --data-dir",
        ) from error
    if not (text.strip().isascii() and text.strip().isdecimal()) or len(text) > 20:
        raise errors.Corrupt(f"{data_dir / 'version'} holds no version number", hint="restore the data dir from a copy")
    _refuse_other_version(data_dir, int(text))
    return True


def _refuse_other_version(data_dir: Path, version: int) -> None:
    if version < VERSION:
        raise errors.StoreVersion(
            f"{data_dir} was written by an earlier, unreleased version (its layout is {version}, not {VERSION})",
            hint="move it away and start anew",
        )
    if version > VERSION:
        raise errors.StoreVersion(
            f"{data_dir} was written by a newer version (its layout is {version}, not {VERSION})",
            hint="use a newer openskelo",
        )


def _create(data_dir: Path) -> None:
    """Create the data dir. Of several processes that try at once, one does it and the others wait."""
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _setup_lock(data_dir):
            if _has_version(data_dir):
                return  # another process has done it meanwhile
            _create_database(data_dir / "log.db")
            _write_file(data_dir / ".gitignore", "*\n")
            _write_file(data_dir / "version", f"{VERSION}\n")  # last: it says that everything else is in place
            files.sync_folder(data_dir)
            files.sync_folder(data_dir.parent)
    except sqlite3.Error as error:
        raise storage_errors.from_sqlite(error) from error
    except OSError as error:
        raise storage_errors.from_os(error, f"making the data dir {data_dir}") from error


@contextlib.contextmanager
def _setup_lock(data_dir: Path) -> Generator[None]:
    descriptor = os.open(data_dir / "setup.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _create_database(database: Path) -> None:
    """Create the tables in one transaction that also sets `user_version`, unless they are there already."""
    sqlite_connection.create_file(database)
    damaged_wal.keep_damaged(database)
    with contextlib.closing(sqlite_connection.connect(database)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != 0:  # the file `version` was not written yet, or is lost
            _refuse_other_version(database.parent, version)
            return
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        sqlite_connection.use_wal(connection)
        statements = _SCHEMA.read_text("utf-8")
        connection.executescript(f"BEGIN IMMEDIATE;\n{statements}\nPRAGMA user_version = {VERSION};\nCOMMIT;")


def _write_file(path: Path, text: str) -> None:
    with files.atomic_file(path, mode=0o600) as file:
        file.write(text.encode())
