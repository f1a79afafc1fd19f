"""Translates the errors of SQLite and of the file system into StoreErrors that say what to do next."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Generator

from openskelo import errors

_SYNC_FAILED = frozenset({sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC})
_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextlib.contextmanager
def translated() -> Generator[None]:
    """Raise a StoreError for what SQLite raises inside, and InvalidInput for a value that it cannot store."""
    try:
        yield
    except sqlite3.Error as error:
        raise from_sqlite(error) from error
    except UnicodeDecodeError as error:  # SQLite's message about a damaged schema quotes its bytes
        raise errors.Corrupt("the log's database is damaged", hint="restore the data dir from a copy") from error
    except UnicodeEncodeError as error:
        raise errors.InvalidInput(
            "a text with a lone surrogate in it",
            code="TEXT_INVALID",
            hint="remove it: it is half of a character, which UTF-8 cannot write",
        ) from error
    except OverflowError as error:
        raise errors.InvalidInput("a number beyond 2^63", code="NUMBER_RANGE", hint="use a string") from error


def from_sqlite(error: sqlite3.Error) -> errors.StoreError:
    """Return the StoreError for an error of SQLite."""
    if isinstance(error, sqlite3.ProgrammingError) and "closed database" in str(error):  # it has no error code
        return errors.StoreError("the engine was closed", code="ENGINE_CLOSED", hint="open another one")
    if isinstance(error, sqlite3.ProgrammingError) and "same thread" in str(error):
        return errors.StoreError(
            "the engine was opened in another thread", code="ENGINE_LOOP", hint="open one in each thread"
        )
    code = getattr(error, "sqlite_errorcode", 0)
    if code in _SYNC_FAILED:
        return sync_failed(str(error))
    match code & 0xFF:  # the primary code; the upper bits say more about it
        case sqlite3.SQLITE_FULL:
            return errors.StoreFull(
                f"no space left for the log: {error}", hint="free some space, then resume; nothing durable was lost"
            )
        case sqlite3.SQLITE_IOERR:
            return errors.StoreError(
                f"the disk refused the log: {error} ({getattr(error, 'sqlite_errorname', 'SQLITE_IOERR')})",
                code="STORE_IO",
                hint="check the disk, its free space and quotas, then resume; nothing durable was lost",
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return errors.Corrupt(f"the log's database is damaged: {error}", hint="restore the data dir from a copy")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return errors.StoreError(
                f"another process holds the log: {error}", code="STORE_BUSY", hint="try again in a moment"
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return errors.StoreError(
                f"the data dir cannot be written: {error}",
                code="STORE_READONLY",
                hint="check its owner and permissions",
            )
        case _:
            return errors.StoreError(
                f"the log's database refused: {error}", hint="`skelo doctor` checks the data dir and its disk"
            )


def sync_failed(reason: str) -> errors.StoreError:
    """Return the error for a commit that the disk has not confirmed, and for every write until the log was checked."""
    return errors.StoreError(
        f"the disk did not confirm a write: {reason}",
        code="STORE_SYNC",
        hint="check the disk. Nothing new is stored until the log can be written again; stored data is intact",
    )


def from_os(error: OSError, activity: str) -> errors.StoreError:
    """Return the StoreError for a file of the data dir that could not be read or written."""
    if error.errno in _DISK_FULL:
        return errors.StoreFull(f"no space left {activity}: {error.strerror}", hint="free some space, then resume")
    return errors.StoreError(
        f"the file system refused {activity}: {error.strerror or error}",
        code="STORE_IO",
        hint="check the data dir's disk, owner and permissions",
    )
