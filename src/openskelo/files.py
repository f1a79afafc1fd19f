"""Read files without blocking on pipes, and write files atomically.

A path from a user may be a named pipe without a writer, or a device without an end; reading must not hang on either.
A file that others read must never be half written: it gets its name only after all of its bytes are on disk.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import uuid
from collections.abc import Generator
from pathlib import Path
from typing import BinaryIO

_CHUNK = 64 * 1024


def open_plain(path: Path | str) -> BinaryIO:
    """Return a regular file (or a link to one), opened for reading; raise OSError for pipes, devices and folders."""
    descriptor = _open(path)
    try:
        _check_plain(os.fstat(descriptor).st_mode, path)
        return os.fdopen(descriptor, "rb")  # raises for a folder
    except OSError:
        os.close(descriptor)
        raise


def read_plain(path: Path | str) -> bytes:
    """Return the content of a regular file; raise OSError as `open_plain` does."""
    with open_plain(path) as file:
        return file.read()


def read_given(path: Path | str, limit: int) -> bytes:
    """Return the content at a path that a user typed, at most `limit` bytes and one more to show that it is longer.

    The path may lead to a pipe or a terminal too, as in `<(command)`. Raise OSError for a pipe without a writer.
    """
    descriptor = _open(path)
    try:
        first = _read_first_chunk(descriptor, path) if stat.S_ISFIFO(os.fstat(descriptor).st_mode) else b""
        os.set_blocking(descriptor, True)
        file = os.fdopen(descriptor, "rb")
    except OSError:
        os.close(descriptor)
        raise
    with file:
        return (first + file.read(max(0, limit + 1 - len(first))))[: limit + 1]


def _open(path: Path | str) -> int:
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def _check_plain(mode: int, path: Path | str) -> None:
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a device"
        raise OSError(errno.EINVAL, f"it is {kind}, not a file", str(path))


def _read_first_chunk(pipe: int, path: Path | str) -> bytes:
    try:
        first = os.read(pipe, _CHUNK)
    except BlockingIOError:
        return b""  # it has a writer, which has not written yet
    if not first:
        raise OSError(errno.EPIPE, "it is a pipe without a writer", str(path))
    return first


@contextlib.contextmanager
def atomic_file(path: Path, *, mode: int = 0o666, sync: bool = True) -> Generator[BinaryIO]:
    """Yield a file to write to, which replaces `path` at the end; after an exception `path` is unchanged.

    Raise OSError where it cannot be written. Call `sync_folder` to make the new name survive a power loss. Without
    `sync` not even the bytes survive one: for files that can be written again.
    """
    new_path = path.with_name(f".new-{uuid.uuid4().hex}")
    try:
        descriptor = os.open(new_path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
        new_path.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):  # the first error is the one to report
            new_path.unlink()
        raise


def sync_file(path: Path) -> None:
    """Make the bytes of an existing file survive a power loss, whichever process wrote them."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power loss."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
