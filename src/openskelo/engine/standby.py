"""Whether some process stands by on a data dir: a server that drives whatever nobody else does.

Each holds a shared lock on one file for as long as it lives; whoever could have it alone knows that nobody is there.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from openskelo import errors

_FILE = "standby.lock"


class Standby:
    """This process stands by until `leave`, or until it dies."""

    def __init__(self, data_dir: Path) -> None:
        try:
            self._descriptor = os.open(data_dir / _FILE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)
        except OSError as error:
            raise errors.StoreError(f"cannot lock {data_dir / _FILE}: {error.strerror}", code="STORE_IO") from error

    def leave(self) -> None:
        """Stand by no longer."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def is_there(data_dir: Path) -> bool:
    """Whether anybody stands by. Two who ask in the same moment may take each other for somebody."""
    try:
        descriptor = os.open(data_dir / _FILE, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)
