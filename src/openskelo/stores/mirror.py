"""Each run's `events.jsonl`: a copy of its lines for people and their tools, written after the commit.

It may lag by a moment and needs no sync: the log is the truth, and `repair` makes the file equal to it again.
"""

from __future__ import annotations

import fcntl
import os
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from openskelo import errors
from openskelo.stores import faults

#: A run's lines are written once there are so many bytes of them, and everybody's once the whole buffer is so large.
RUN_BYTES = 64 * 1024
ALL_BYTES = 8 * 1024 * 1024

#: All of a run's lines as the log has them, in chunks.
ReadLog = Callable[[str], Iterable[Sequence[bytes]]]


class _Tail:
    """What of one run is not in its file yet; `size` is the file's size as this process left it, None if unknown."""

    __slots__ = ("bytes", "chunks", "size")

    def __init__(self, size: int | None) -> None:
        self.size = size
        self.chunks: list[bytes] = []
        self.bytes = 0


class Mirror:
    """The mirror files of one data dir; opens a file only while it writes to it."""

    def __init__(self, folder: Path, read_log: ReadLog) -> None:
        self._folder = folder
        self._read_log = read_log
        self._tails: dict[str, _Tail] = {}
        self._bytes = 0

    def add(self, run_id: str, joined: bytes, *, first: bool) -> None:
        """Take lines (joined by newlines) that were just committed; `first` if they begin the run.

        Never fails: a file that cannot be written now is repaired by a later flush, which says what is wrong.
        """
        tail = self._tails.get(run_id)
        if tail is None:
            tail = self._tails[run_id] = _Tail(0 if first else None)
        size = len(joined) + 1
        tail.chunks.append(joined)
        tail.bytes += size
        self._bytes += size
        if tail.bytes >= RUN_BYTES:
            self._flush_now(run_id)
        elif self._bytes >= ALL_BYTES:
            for waiting in self.waiting():
                self._flush_now(waiting)

    def owe(self, run_id: str) -> None:
        """Expect the run's file to be behind the log: the next flush repairs it."""
        tail = self._tails.setdefault(run_id, _Tail(None))
        tail.size = None
        tail.chunks.append(b"")

    def waiting(self) -> Sequence[str]:
        """The runs that have lines not yet in their files."""
        return [run_id for run_id, tail in self._tails.items() if tail.chunks]

    def flush_run(self, run_id: str) -> None:
        """Bring one run's file up to date (StoreFull, StoreError)."""
        tail = self._tails.get(run_id)
        if tail is None or not tail.chunks:
            return
        if tail.size is not None:
            size, tail.size = tail.size, None  # unknown again if anything goes wrong
            try:
                tail.size = self._add_to_file(run_id, size, b"\n".join([*tail.chunks, b""]))
            except OSError as error:
                raise faults.of_os(error, "for events.jsonl") from error
        if tail.size is None:
            self.repair(run_id)
        else:
            self._taken(tail)

    def _flush_now(self, run_id: str) -> None:
        try:
            self.flush_run(run_id)
        except errors.StoreError:
            # The lines are durable and the caller of an append has nothing to mend: forget the bytes, not the debt.
            self._taken(self._tails[run_id])
            self.owe(run_id)

    def _add_to_file(self, run_id: str, size: int, data: bytes) -> int | None:
        """Write the data at the end of the file; gives the new size, or None if the file is not as we left it."""
        descriptor = self._locked(run_id)
        try:
            if os.fstat(descriptor).st_size != size:
                return None
            _write_all(descriptor, data, size)
            return size + len(data)
        finally:
            os.close(descriptor)

    def forget(self, run_id: str) -> None:
        """Bring a run's file up to date and keep no memory of it: somebody else may write it from now on."""
        self.flush_run(run_id)
        self._tails.pop(run_id, None)

    def repair(self, run_id: str) -> None:
        """Make the run's file exactly the log's lines, each followed by a newline.

        A file that is the beginning of it gets what is missing; any other is replaced at once by a whole one.
        """
        try:
            descriptor = self._locked(run_id)
            try:
                size = self._complete(run_id, descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise faults.of_os(error, "for events.jsonl") from error
        tail = self._tails.get(run_id)
        if tail is not None:
            tail.size = size
            self._taken(tail)

    def _taken(self, tail: _Tail) -> None:
        self._bytes -= tail.bytes
        tail.bytes = 0
        tail.chunks.clear()

    def _complete(self, run_id: str, descriptor: int) -> int:
        """Compare the locked file with the log and mend it; gives its new size."""
        size = os.fstat(descriptor).st_size
        at = 0
        for lines in self._read_log(run_id):
            data = b"".join(line + b"\n" for line in lines)
            kept = os.pread(descriptor, len(data), at) if at < size else b""
            if not data.startswith(kept):
                return self._replace(run_id)
            if len(kept) < len(data):
                _write_all(descriptor, data[len(kept) :], at + len(kept))
            at += len(data)
        if size > at:
            return self._replace(run_id)
        return at

    def _replace(self, run_id: str) -> int:
        path = self.path(run_id)
        unfinished = path.with_name(f"new-{uuid.uuid4().hex}")
        at = 0
        try:
            with unfinished.open("xb") as file:
                for lines in self._read_log(run_id):
                    at += file.write(b"".join(line + b"\n" for line in lines))
            unfinished.replace(path)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise
        return at

    def path(self, run_id: str) -> Path:
        """Where the run's file is."""
        return self._folder / run_id / "events.jsonl"

    def _locked(self, run_id: str) -> int:
        """The run's file, made if it is missing, locked against every other writer of mirrors."""
        path = self.path(run_id)
        while True:
            descriptor = _open(path)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                there = path.stat()
                mine = os.fstat(descriptor)
            except FileNotFoundError:
                os.close(descriptor)
                continue
            except OSError:
                os.close(descriptor)
                raise
            if (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino):
                return descriptor
            os.close(descriptor)  # replaced while we waited for the lock


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, flags, 0o600)


def _write_all(descriptor: int, data: bytes, at: int) -> None:
    while data:
        written = os.pwrite(descriptor, data, at)
        at += written
        data = data[written:]
