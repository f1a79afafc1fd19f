"""A small disk that can be filled to the last byte and freed again."""

from __future__ import annotations

import contextlib
import resource
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Protocol


class Disk(Protocol):
    """`folder` is on it. `codes` are what a store may say when it is full."""

    folder: Path
    codes: frozenset[str]

    def fill(self) -> None: ...

    def free(self) -> None: ...


class _Mounted:
    """A file system in memory."""

    codes = frozenset({"STORE_FULL"})

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        with (self.folder / "filler").open("ab", buffering=0) as file, contextlib.suppress(OSError):
            for size in (64 * 1024, 1):  # the rest of the last page is taken by single bytes
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(size))

    def free(self) -> None:
        (self.folder / "filler").unlink()


class _Limited:
    """Where nothing may be mounted: no file of this process may grow. SQLite cannot tell that from a bad disk."""

    codes = frozenset({"STORE_FULL", "STORE_IO"})

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, self._before[1]))

    def free(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)


@contextlib.contextmanager
def small(folder: Path) -> Generator[Disk]:
    """A disk of a few megabytes at `folder`, or what comes nearest to it for a user who may not mount one."""
    folder.mkdir()
    mount = shutil.which("mount") or "mount"
    try:
        command = [mount, "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)]
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        limited = _Limited(folder)
        try:
            yield limited
        finally:
            limited.free()
        return
    try:
        yield _Mounted(folder)
    finally:
        subprocess.run([shutil.which("umount") or "umount", str(folder)], check=True)
