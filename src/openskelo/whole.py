"""Files that have their name only once all of them is on disk: whoever looks finds the old one or the new one."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Generator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def file(path: Path, *, mode: int = 0o666) -> Generator[BinaryIO]:
    """A file to write to, which takes the place of `path` at the end; whatever is raised inside, nothing has changed.

    OSError where it cannot be written. That its name outlives a power loss, `sync_folder` sees to.
    """
    unfinished = path.with_name(f".new-{uuid.uuid4().hex}")
    try:
        descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as opened:
            yield opened
            opened.flush()
            os.fsync(opened.fileno())
        unfinished.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):  # the first error says what is wrong
            unfinished.unlink()
        raise


def sync_folder(folder: Path) -> None:
    """Make the names in a folder outlive a power loss."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
