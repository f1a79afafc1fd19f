"""Who is alive: a driver holds an operating-system lock on a file of its own for as long as its process lives."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from openskelo import files
from openskelo.stores import faults

_NAME = re.compile(r"[0-9a-f]{32}")
#: How the name of a lock begins that is not locked yet.
_UNBORN = "new-"
#: A number that is another one after each start of the system, where there is one.
BOOT = Path("/proc/sys/kernel/random/boot_id")
_DONE = re.compile(rb"([0-9a-f-]{36}) ([0-9]{20})")


class Drivers:
    """The folder of driver locks, and (once `me` was called) this store's own.

    The lock belongs to the open file, so it is gone at once when the process is killed. A child that is forked without
    an exec would inherit it and keep its dead parent's runs claimed: start children with an exec.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: tuple[str, IO[bytes]] | None = None  # a file, which is closed with a store that nobody closes

    def me(self) -> str:
        """This store's driver id; the first call makes its lock."""
        while self._held is None:
            name = uuid.uuid4().hex
            unborn = self._folder / f"{_UNBORN}{name}"
            try:
                self._folder.mkdir(mode=0o700, exist_ok=True)
                descriptor = os.open(unborn, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
                lock = os.fdopen(descriptor, "rb", buffering=0)
                fcntl.flock(lock, fcntl.LOCK_EX)
                # Under its own name only once it is locked: nobody may take it for a dead driver's in between.
                try:
                    unborn.rename(self._path(name))
                    self._held = (name, lock)
                except FileNotFoundError:  # somebody has cleared it away before it was locked
                    lock.close()
            except OSError as error:
                raise faults.of_os(error, "making a driver's lock") from error
        return self._held[0]

    def is_me(self, name: str) -> bool:
        """Whether that is this store's own driver id."""
        return self._held is not None and name == self._held[0]

    def alive(self, name: str) -> bool:
        """Whether the driver of that id (this store's own included) still runs."""
        if self.is_me(name):
            return True
        try:
            descriptor = os.open(self._path(name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise faults.of_os(error, "reading a driver's lock") from error
        try:
            # Shared, so that two who ask at the same time do not take each other for the driver.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            return False
        finally:
            os.close(descriptor)

    def note(self, position: int) -> None:
        """Leave word, in this store's own lock if it has one, that all of its files are written up to a position."""
        if self._held is not None and (boot := _boot()):
            with contextlib.suppress(OSError):  # no room for the first word: without one, all files are looked at
                os.pwrite(self._held[1].fileno(), b"%b %020d" % (boot, position), 0)

    def noted(self, name: str) -> int:
        """Up to where a dead driver's files are written; 0 when nobody knows, as after the system itself went down."""
        try:
            found = _DONE.fullmatch(files.read_plain(self._path(name)))
        except OSError:
            return 0
        return int(found[2]) if found is not None and found[1] == _boot() else 0

    def dead(self) -> Sequence[str]:
        """Ids of drivers that ended without leaving: their locks are there, and nobody holds them."""
        try:
            names = [path.stem for path in self._folder.iterdir() if _NAME.fullmatch(path.stem)]
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise faults.of_os(error, "reading the drivers' locks") from error
        return [name for name in names if not self.alive(name)]

    def clear(self) -> None:
        """Remove the locks of those that were killed while they made them; one that is being made is made again."""
        try:
            left = list(self._folder.glob(f"{_UNBORN}*"))
        except OSError as error:
            raise faults.of_os(error, "reading the drivers' locks") from error
        for path in left:
            with contextlib.suppress(OSError):
                descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()
                finally:
                    os.close(descriptor)

    def bury(self, name: str) -> None:
        """Remove a dead driver's lock: nothing of it is left to repair."""
        self._path(name).unlink(missing_ok=True)

    def leave(self, *, owing: bool = False) -> None:
        """Give up this store's own lock, if it has one; `owing` leaves the file, as if the process had been killed."""
        if self._held is not None:
            name, lock = self._held
            self._held = None
            if not owing:
                self._path(name).unlink(missing_ok=True)
            lock.close()

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise ValueError(f"not a driver id: {name!r}")
        return self._folder / f"{name}.lock"


def _boot() -> bytes:
    try:
        return BOOT.read_bytes().strip()
    except OSError:
        return b""
