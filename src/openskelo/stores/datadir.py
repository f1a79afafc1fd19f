"""The data dir: its version, how a new one is laid out, how an older one becomes a current one.

version      the number of the layout      log.db    the log         blobs/   large values
.gitignore   nothing here is source        drivers/  who is alive    runs/    each run's events.jsonl

It holds people's prompts, outputs and answers: whatever the umask, what is made in it is its owner's alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Generator
from pathlib import Path

from openskelo import errors, files, whole
from openskelo.stores import connecting, faults, sqlite, statements, wal

#: The layout that this program writes. `sql/versions/<n>.sql` leads from version n - 1 to n.
VERSION = 3
#: From this one on a log can be looked at as it is, where it cannot be migrated: only indexes came since.
ALIKE = 2


def open_log(data_dir: Path, *, timed: bool = False) -> sqlite.SqliteLog:
    """The log of a data dir, which is made if it is missing and migrated if it is older (StoreVersion if newer).

    A `timed` one notes how long its commits take (`timed.TimedLog`).
    """
    if _version(data_dir) != VERSION:
        _make_ready(data_dir)
    elif not (data_dir / "log.db").is_file():
        # SQLite would make an empty one, and every run would silently be gone.
        state = "is no file" if (data_dir / "log.db").exists() else "is missing"
        raise errors.Corrupt(f"{data_dir / 'log.db'} {state}", hint="restore the data dir from a copy")
    if not timed:
        return sqlite.SqliteLog(data_dir)
    from openskelo.stores import timed as timing  # noqa: PLC0415  for servers only

    return timing.TimedLog(data_dir)


def look(data_dir: Path) -> sqlite.SqliteLog:
    """The log of a data dir that is there, to be read; one that cannot be written is left as it is, too."""
    try:
        return open_log(data_dir)
    except errors.StoreError as error:
        version = _version(data_dir)
        sealed = error.code == "STORE_READONLY" or (error.code == "STORE_IO" and version != VERSION)
        if not sealed or version is None or version < ALIKE:
            raise
    from openskelo.stores import readonly  # noqa: PLC0415  few need it

    return readonly.ReadonlyLog(data_dir)


def exists(data_dir: Path) -> bool:
    """Whether there is a data dir at all, of whatever version; one that has lost its `version` still has its log."""
    return _version(data_dir) is not None or (data_dir / "log.db").exists()


def _version(data_dir: Path) -> int | None:
    """The version of the data dir; None if there is none yet. A newer one than ours is refused."""
    try:
        text = files.read_plain(data_dir / "version").decode()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise errors.StoreError(
            f"cannot read {data_dir / 'version'}: {why}",
            code="STORE_IO",
            hint="check its owner and permissions, or give another --data-dir",
        ) from error
    if not (text.strip().isascii() and text.strip().isdecimal()) or len(text) > 20:
        raise errors.Corrupt(f"{data_dir / 'version'} holds no version number", hint="restore the data dir from a copy")
    version = int(text)
    _check_known(data_dir, version)
    return version


def _check_known(data_dir: Path, version: int) -> None:
    if version > VERSION:
        raise errors.StoreVersion(
            f"{data_dir} is of version {version}; this program knows versions up to {VERSION}",
            hint="use the OpenSkelo that wrote it, or a newer one",
        )


def _make_ready(data_dir: Path) -> None:
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(data_dir):
            version = _version(data_dir)
            if version == VERSION:
                return  # somebody else was quicker
            _lay_out(data_dir / "log.db", -1 if version is None else version)
            _write(data_dir / ".gitignore", "*\n")
            _write(data_dir / "version", f"{VERSION}\n")  # last: it says that all the rest is there
            whole.sync_folder(data_dir)
            whole.sync_folder(data_dir.parent)
    except sqlite3.Error as error:
        raise faults.of_sqlite(error) from error
    except OSError as error:
        raise faults.of_os(error, f"making the data dir {data_dir}") from error


@contextlib.contextmanager
def _alone(data_dir: Path) -> Generator[None]:
    descriptor = os.open(data_dir / "setup.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _lay_out(database: Path, version: int) -> None:
    """Bring the database from a version (-1: nothing there) to VERSION, one transaction a step."""
    connecting.make(database)
    with contextlib.closing(connecting.connect(database)) as connection:
        # A crash may have come after a step and before the version file, or that was lost: the database itself knows.
        (done,) = connection.execute("PRAGMA user_version").fetchone()
        _check_known(database.parent, done - 1)
        connection.execute(f"PRAGMA page_size = {wal.PAGE}")
        connection.execute("PRAGMA journal_mode = WAL")
        for target in range(max(version + 1, done), VERSION + 1):
            connection.executescript(
                f"BEGIN IMMEDIATE;\n{statements.version(target)}\nPRAGMA user_version = {target + 1};\nCOMMIT;"
            )


def _write(path: Path, text: str) -> None:
    with whole.file(path, mode=0o600) as file:
        file.write(text.encode())
