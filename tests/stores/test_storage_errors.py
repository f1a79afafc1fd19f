"""Errors of SQLite and of the file system become errors of ours that say what to do."""

from __future__ import annotations

import errno
import sqlite3

import pytest

from openskelo import errors
from openskelo.stores import storage_errors

_CODES = {name: value for name, value in vars(sqlite3).items() if name.startswith("SQLITE_") and isinstance(value, int)}


@pytest.mark.parametrize("name", ["SQLITE_FULL", "SQLITE_IOERR", "SQLITE_IOERR_FSYNC", "SQLITE_CORRUPT", "SQLITE_BUSY"])
def test_a_known_error_of_sqlite_has_its_own_code(name: str) -> None:
    assert _from_sqlite(name).code != errors.StoreError.default_code


def test_every_error_of_sqlite_says_what_to_do() -> None:
    assert len(_CODES) > 50
    assert [name for name in _CODES if not _from_sqlite(name).hint] == []


def _from_sqlite(name: str) -> errors.StoreError:
    error = sqlite3.OperationalError("it failed")
    error.sqlite_errorcode, error.sqlite_errorname = _CODES[name], name
    return storage_errors.from_sqlite(error)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EIO])
def test_every_error_of_the_file_system_says_what_to_do(number: int) -> None:
    assert storage_errors.from_os(OSError(number, "it failed"), "to write events").hint


def test_a_text_or_number_that_cannot_be_stored_says_what_is_wrong_with_it() -> None:
    with pytest.raises(errors.InvalidInput, match="lone surrogate") as surrogate, storage_errors.translated():
        sqlite3.connect(":memory:").execute("select ?", ("\ud800",))
    with pytest.raises(errors.InvalidInput, match="beyond") as number, storage_errors.translated():
        sqlite3.connect(":memory:").execute("select ?", (2**63,))
    assert (surrogate.value.code, number.value.code) == ("TEXT_INVALID", "NUMBER_RANGE")
    assert surrogate.value.hint
    assert number.value.hint
