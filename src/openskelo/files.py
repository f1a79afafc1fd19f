"""Files opened without waiting: what stands in a file's place may be a pipe that nobody writes to, or have no end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_CHUNK = 64 * 1024


def open_plain(path: Path | str) -> BinaryIO:
    """A file of our own, to be read; OSError for everything that is no plain file, links to one excepted."""
    descriptor = _open(path)
    try:
        _check_plain(os.fstat(descriptor).st_mode, path)
        return os.fdopen(descriptor, "rb")  # which refuses a folder
    except OSError:
        os.close(descriptor)
        raise


def read_plain(path: Path | str) -> bytes:
    """All that is in such a file."""
    with open_plain(path) as file:
        return file.read()


def read_given(path: Path | str, most: int) -> bytes:
    """What a path that a person gave leads to, at most so many bytes and one, which tells that there are more.

    That may be a pipe or a terminal, too, as in `<(command)`; OSError where nobody is at the other end.
    """
    descriptor = _open(path)
    try:
        first = _first(descriptor, path) if stat.S_ISFIFO(os.fstat(descriptor).st_mode) else b""
        os.set_blocking(descriptor, True)
        file = os.fdopen(descriptor, "rb")
    except OSError:
        os.close(descriptor)
        raise
    with file:
        return (first + file.read(max(0, most + 1 - len(first))))[: most + 1]


def _open(path: Path | str) -> int:
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def _check_plain(mode: int, path: Path | str) -> None:
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a device"
        raise OSError(errno.EINVAL, f"it is {kind}, not a file", str(path))


def _first(pipe: int, path: Path | str) -> bytes:
    try:
        first = os.read(pipe, _CHUNK)
    except BlockingIOError:
        return b""  # somebody will write
    if not first:
        raise OSError(errno.EPIPE, "it is a pipe, and nobody writes to it", str(path))
    return first
