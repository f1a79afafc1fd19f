"""Detect living processes: each holds an operating-system lock on a file of its own while it lives.

A process that owns something in a data dir makes an id and a file `<id>.lock`, on which it holds a lock. What it owns
carries the id: the rows of the runs that it drives (`drivers/`), the requests that a server works on (`servers/`). The
operating system drops the lock when the process ends, however it ends: a file without a lock belongs to a dead process,
and what that process owned is free at once.

    new-<id>          created, then locked ...
    <id>.lock         ... then renamed, so that no process ever sees a file of a living process without a lock

The lock belongs to the open file. A child that is forked without an exec would inherit it and keep what its dead parent
owned: start children with an exec.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from openskelo.stores import storage_errors

_OWNER_ID = re.compile(r"[0-9a-f]{32}")
#: The prefix of a lock file that is not locked yet.
_DRAFT_PREFIX = "new-"


class ProcessLocks:
    """The folder of lock files, and this process's own lock once `own_id` was called."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # A file object closes its file, which drops the lock, even if its owner never calls `release`.
        self._own: tuple[str, IO[bytes]] | None = None

    def own_id(self) -> str:
        """Return the id of this process. The first call creates its lock file."""
        while self._own is None:
            self._own = self._create()
        return self._own[0]

    def _create(self) -> tuple[str, IO[bytes]] | None:
        """Create a locked file; None if another process has deleted it before it was locked."""
        owner_id = uuid.uuid4().hex
        draft = self._folder / f"{_DRAFT_PREFIX}{owner_id}"
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
            lock = os.fdopen(descriptor, "rb", buffering=0)
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                draft.rename(self._path(owner_id))
            except FileNotFoundError:
                lock.close()
                return None
        except OSError as error:
            raise storage_errors.from_os(error, "making the lock of a process") from error
        return owner_id, lock

    def is_own(self, owner_id: str) -> bool:
        """True if that is the id of this process."""
        return self._own is not None and owner_id == self._own[0]

    def is_alive(self, owner_id: str) -> bool:
        """True if the process with that id, which may be this one, is still running."""
        if self.is_own(owner_id):
            return True
        try:
            descriptor = os.open(self._path(owner_id), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise storage_errors.from_os(error, "reading the lock of a process") from error
        try:
            # A shared lock: two processes that ask at the same time do not take each other for its owner.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            return False
        finally:
            os.close(descriptor)

    def dead_ids(self) -> Sequence[str]:
        """Return the ids of processes that ended without `release`: their files are there, without a lock."""
        return [owner_id for owner_id in self._owner_ids() if not self.is_alive(owner_id)]

    def is_any_known(self) -> bool:
        """True if there is a process that has not called `release`, be it alive or dead."""
        return bool(self._owner_ids())

    def is_any_alive(self) -> bool:
        """True if a process with an id is still running."""
        return any(map(self.is_alive, self._owner_ids()))

    def _owner_ids(self) -> Sequence[str]:
        try:
            return [path.stem for path in self._folder.iterdir() if _OWNER_ID.fullmatch(path.stem)]
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise storage_errors.from_os(error, "reading the locks of processes") from error

    def delete_unlocked_drafts(self) -> None:
        """Delete the files of processes that were killed between creating and locking them.

        One that another process is about to lock may be among them: that process then creates another.
        """
        try:
            drafts = list(self._folder.glob(f"{_DRAFT_PREFIX}*"))
        except OSError as error:
            raise storage_errors.from_os(error, "reading the locks of processes") from error
        for path in drafts:
            with contextlib.suppress(OSError):
                descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()
                finally:
                    os.close(descriptor)

    def delete(self, owner_id: str) -> None:
        """Delete the file of a dead process, once nothing is left to do about what it owned."""
        self._path(owner_id).unlink(missing_ok=True)

    def release(self, *, keep_file: bool = False) -> None:
        """Release the own lock, if it has one; `keep_file` leaves the file, as if the process was killed."""
        if self._own is None:
            return
        owner_id, lock = self._own
        self._own = None
        if not keep_file:
            self._path(owner_id).unlink(missing_ok=True)
        lock.close()

    def _path(self, owner_id: str) -> Path:
        if not _OWNER_ID.fullmatch(owner_id):
            raise ValueError(f"not an id of a process: {owner_id!r}")
        return self._folder / f"{owner_id}.lock"
