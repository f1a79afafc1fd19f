"""A copy of a repository's working tree, for trying something out: gone afterwards, and the original untouched."""

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
from openskelo.executors import git
from openskelo.handlers import aside

#: What may be copied at most.
MAX_FILES = 20_000
MAX_BYTES = 512 * 1024 * 1024


@contextlib.asynccontextmanager
async def copy(repository: Path) -> AsyncGenerator[Path]:
    """A folder with every file that git knows or would add there, as they are now (AttemptFailed SCRATCH_FAILED)."""
    listed = await git.read(repository, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = tuple(dict.fromkeys(name for name in listed.split("\0") if name))
    if len(names) > MAX_FILES:
        raise _failed(f"the repository has more than {MAX_FILES} files")
    folder = Path(tempfile.mkdtemp(prefix="skelo-scratch-"))
    filling = _Filling()
    try:
        await aside.run(lambda: filling.fill(repository, folder, names))
        yield folder
    finally:
        # In a thread, but waited for: whoever asked may look right afterwards whether anything is left.
        await aside.run(lambda: filling.remove(folder))


class _Filling:
    """The copying, which goes on in its thread when nobody waits for it any more: it is stopped before the end."""

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
    """Copy one file or symlink and give its size; what git lists but is deleted, or no file, is left out."""
    try:
        found = origin.lstat()
    except FileNotFoundError:
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISLNK(found.st_mode):
        target.symlink_to(os.readlink(origin))  # noqa: PTH115 -- as it is written, not resolved
        return 0
    if not stat.S_ISREG(found.st_mode):
        return 0
    shutil.copy2(origin, target)
    return found.st_size


def _failed(message: str) -> errors.AttemptFailed:
    return errors.AttemptFailed(message, code="SCRATCH_FAILED", retryable=False)
