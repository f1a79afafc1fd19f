"""The standard streams of `skelo`: whatever is wrong with one of them, a command does its work."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Enduring(io.FileIO):
    """A standard stream that a full disk does not stop: what cannot be written is left out, and `failure` says why.

    A reader that has left still stops whoever writes (BrokenPipeError).
    """

    failure: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        if self.failure is None:
            try:
                return super().write(data)
            except BrokenPipeError:
                raise
            except OSError as error:
                self.failure = error
        return memoryview(data).nbytes


def harden() -> None:
    """Make odd characters printable, and streams that are closed or cannot be written harmless."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream: TextIO | None = getattr(sys, name)
        if stream is None:
            flags = os.O_RDONLY if name == "stdin" else os.O_WRONLY
            os.dup2(os.open(os.devnull, flags), number)
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w"))
        elif name != "stdin" and isinstance(stream, io.TextIOWrapper):
            text = cast("io.TextIOWrapper", stream)
            text.reconfigure(errors="backslashreplace")
            if type(_raw(text)) is io.FileIO and text.fileno() == number:
                setattr(sys, name, _enduring(text))


def lost() -> OSError | None:
    """Why something that was meant for standard output is not there, if so; the stream has been flushed."""
    raw = _raw(sys.stdout)
    return raw.failure if isinstance(raw, _Enduring) else None


def _raw(stream: TextIO) -> object:
    return getattr(stream.buffer, "raw", stream.buffer)  # without a buffer (python -u) they are the same


def _enduring(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    raw = _Enduring(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        raw if stream.buffer is _raw(stream) else io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        newline="\n",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
