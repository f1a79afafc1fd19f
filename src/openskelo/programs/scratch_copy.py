"""A temporary copy of a repository's working tree, in which a checker may change files. The original is untouched."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import AsyncGenerator
from pathlib import Path

from openskelo import errors
from openskelo.handlers import blocking_call
from openskelo.programs import git

#: What may be copied at most.
MAX_FILES = 20_000
MAX_BYTES = 512 * 1024 * 1024


@contextlib.asynccontextmanager
async def copy(repository: Path) -> AsyncGenerator[Path]:
    """Yield a folder with a copy of every file that git tracks or would add (AttemptFailed SCRATCH_FAILED)."""
    file_list = await git.read(repository, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = tuple(dict.fromkeys(name for name in file_list.split("\0") if name))
    if len(names) > MAX_FILES:
        raise _failed(f"the repository has more than {MAX_FILES} files")
    folder = Path(tempfile.mkdtemp(prefix="skelo-scratch-"))
    filling = _Filling()
    try:
        await blocking_call.run(lambda: filling.fill(repository, folder, names))
        yield folder
    finally:
        # In a thread, but awaited: when the caller continues, the folder is gone.
        await blocking_call.run(lambda: filling.remove(folder))


class _Filling:
    """Copies files in a thread. The thread outlives a cancelled caller, so `remove` stops it first."""

    def __init__(self) -> None:
        self._wanted = True
        self._turn = threading.Lock()

    def fill(self, repository: Path, folder: Path, names: tuple[str, ...]) -> None:
        room = MAX_BYTES
        try:
            for name in names:
                with self._turn:
                    if not self._wanted:
                        return
                    room -= _copy(repository / name, folder / name)
                if room < 0:
                    raise _failed(f"the repository has more than {MAX_BYTES} bytes")
        except OSError as error:
            raise _failed(f"the working tree cannot be copied: {error.strerror}") from error

    def remove(self, folder: Path) -> None:
        with self._turn:
            self._wanted = False
        shutil.rmtree(folder, ignore_errors=True)


def _copy(origin: Path, target: Path) -> int:
    """Copy one file or symlink and return its size; 0 for an entry that was deleted or is not a file."""
    try:
        status = origin.lstat()
    except FileNotFoundError:
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISLNK(status.st_mode):
        target.symlink_to(os.readlink(origin))  # noqa: PTH115 -- as it is written, not resolved
        return 0
    if not stat.S_ISREG(status.st_mode):
        return 0
    shutil.copy2(origin, target)
    return status.st_size


def _failed(message: str) -> errors.AttemptFailed:
    return errors.AttemptFailed(message, code="SCRATCH_FAILED", retryable=False)
