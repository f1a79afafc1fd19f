"""How long a log that another program holds is waited for: a moment by SQLite itself, then beside the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Generator

from openskelo.stores import faults

#: So long a commit waits for another program's.
BUSY_SECONDS = 10.0
#: So much of that SQLite waits itself, and the loop with it: most commits take a few milliseconds.
AT_ONCE_SECONDS = 0.25
#: How often it is seen whether the other one has done.
LOOK_SECONDS = 0.02
#: The same for a batch of many runs. SQLite looks ever less often: another batch would have been committed meanwhile.
SOON_SECONDS = 0.0003


async def until_free(connection: sqlite3.Connection) -> None:
    """Return once nobody holds the log; others have the loop meanwhile (StoreError STORE_BUSY)."""
    until = time.monotonic() + BUSY_SECONDS
    while not _is_free(connection, last=time.monotonic() >= until):  # noqa: ASYNC110  another program tells nobody
        await asyncio.sleep(LOOK_SECONDS)


def _is_free(connection: sqlite3.Connection, *, last: bool) -> bool:
    """Whether it can be written now; at the `last` look one who holds it is an error."""
    try:
        with _waiting(connection, 0):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        fault = faults.of_sqlite(error)
        if last or fault.code != "STORE_BUSY":
            raise fault from error
        return False
    return True


def begin(connection: sqlite3.Connection) -> None:
    """Begin to write as soon as nobody else does, within the moment that SQLite would wait itself (sqlite3.Error)."""
    until = time.monotonic() + min(AT_ONCE_SECONDS, BUSY_SECONDS)
    with _waiting(connection, 0):
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if faults.of_sqlite(error).code != "STORE_BUSY" or time.monotonic() >= until:
                    raise
            else:
                return
            time.sleep(SOON_SECONDS)


@contextlib.contextmanager
def insisting(connection: sqlite3.Connection) -> Generator[None]:
    """SQLite itself waits all the time: for work in several transactions, which has the process to itself."""
    with _waiting(connection, BUSY_SECONDS):
        yield


@contextlib.contextmanager
def _waiting(connection: sqlite3.Connection, seconds: float) -> Generator[None]:
    wait(connection, seconds)
    try:
        yield
    finally:
        wait(connection, min(AT_ONCE_SECONDS, BUSY_SECONDS))


def wait(connection: sqlite3.Connection, seconds: float) -> None:
    """Let SQLite itself wait so long."""
    connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
