"""The data dir of an SQLite store: its files, its version, and how it is created and migrated.

    version      the version of the layout        log.db    the SQLite database with the log
    .gitignore   keeps the data dir out of git    blobs/    large values, one file each
    setup.lock   held while it is created         drivers/  one lock file for each live driver
                                                  events/   all events as files

A new data dir gets `sql/schema.sql` in one transaction. `log.db` holds its own version (`PRAGMA user_version`), set in
that transaction; the file `version` is written last and says that everything else is in place. A crash in between
leaves a database that the next process recognises and finishes.

To change the layout: raise VERSION, edit `schema.sql`, and add `sql/migrations/<version>.sql`, which changes the layout
before it into the new one. Opening an older data dir runs the missing migrations. A newer one is refused.

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
from openskelo.stores.sqlite import sqlite_store

#: The version of the layout that this program reads and writes.
VERSION = 1
SCHEMA = Path(__file__).parent / "sql" / "schema.sql"
#: Holds `<version>.sql` for each version after the first.
MIGRATIONS = Path(__file__).parent / "sql" / "migrations"
#: The size of a new database's pages. The lines of a step take about 1,400 bytes and would waste a third of 4 KiB.
PAGE_BYTES = 8192


def open_store(data_dir: Path) -> sqlite_store.SqliteStore:
    """Return the store of a data dir, which is created if it is missing and migrated if it is older.

    Raises StoreVersion for a newer version, Corrupt when `log.db` is missing, StoreError when it cannot be opened.
    """
    if _read_version(data_dir) != VERSION:
        _prepare(data_dir)
    elif not (data_dir / "log.db").is_file():
        # SQLite would create an empty database, and every run would silently be gone.
        state = "is no file" if (data_dir / "log.db").exists() else "is missing"
        raise errors.Corrupt(f"{data_dir / 'log.db'} {state}", hint="restore the data dir from a copy")
    return sqlite_store.SqliteStore(data_dir)


def open_read_only(data_dir: Path) -> sqlite_store.SqliteStore:
    """Return the store of an existing data dir for reading, also when this process cannot write to it."""
    try:
        return open_store(data_dir)
    except errors.StoreError as error:
        if error.code != "STORE_READONLY" or _read_version(data_dir) != VERSION:
            raise
    return sqlite_store.ReadonlySqliteStore(data_dir)


def exists(data_dir: Path) -> bool:
    """True if there is a data dir of any version. One that has lost its `version` file still has its `log.db`."""
    return _read_version(data_dir) is not None or (data_dir / "log.db").exists()


def _read_version(data_dir: Path) -> int | None:
    """Return the version of the data dir; None for a new one. Raise StoreVersion for a newer version."""
    try:
        text = files.read_plain(data_dir / "version").decode()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise errors.StoreError(
            f"cannot read {data_dir / 'version'}: {reason}",
            code="STORE_IO",
            hint="check its owner and permissions, or give another --data-dir",
        ) from error
    if not (text.strip().isascii() and text.strip().isdecimal()) or len(text) > 20:
        raise errors.Corrupt(f"{data_dir / 'version'} holds no version number", hint="restore the data dir from a copy")
    version = int(text)
    _refuse_newer(data_dir, version)
    return version


def _refuse_newer(data_dir: Path, version: int) -> None:
    if version > VERSION:
        raise errors.StoreVersion(
            f"{data_dir} is of version {version}; this program knows versions up to {VERSION}",
            hint="use the OpenSkelo that wrote it, or a newer one",
        )


def _prepare(data_dir: Path) -> None:
    """Create or migrate the data dir. Of several processes that try at once, one does it and the others wait."""
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _setup_lock(data_dir):
            if _read_version(data_dir) == VERSION:
                return  # another process has done it meanwhile
            _prepare_database(data_dir / "log.db")
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


def _prepare_database(database: Path) -> None:
    """Give the database the layout of VERSION. Each script is one transaction that also sets `user_version`."""
    sqlite_connection.create_file(database)
    with contextlib.closing(sqlite_connection.connect(database)) as connection:
        # The database knows its version better than the `version` file, which may be lost or not written yet.
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        _refuse_newer(database.parent, version)
        if version == 0:
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            sqlite_connection.use_wal(connection)
            _run_script(connection, SCHEMA, VERSION)
            return
        for target in range(version + 1, VERSION + 1):
            _run_script(connection, MIGRATIONS / f"{target}.sql", target)


def _run_script(connection: sqlite3.Connection, script: Path, version: int) -> None:
    statements = script.read_text("utf-8")
    connection.executescript(f"BEGIN IMMEDIATE;\n{statements}\nPRAGMA user_version = {version};\nCOMMIT;")


def _write_file(path: Path, text: str) -> None:
    with files.atomic_file(path, mode=0o600) as file:
        file.write(text.encode())
