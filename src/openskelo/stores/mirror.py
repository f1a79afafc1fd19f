"""Each run's `events.jsonl`: a copy of its lines for people and their tools, written after the commit.

It may lag by a moment and needs no sync: the log is the truth, and `repair` makes the file equal to it again.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path

from openskelo import whole
from openskelo.stores import faults

#: A run's lines are written once there are so many bytes of them.
RUN_BYTES = 256 * 1024
#: So many bytes of all runs may wait to be written; then whoever appends waits for a flush.
ALL_BYTES = 16 * 1024 * 1024

#: So many files are written at once; a thread for more of them costs less than they do.
FEW = 4

#: What went through a run is not for everybody on the machine to read.
_MODE = 0o600

#: All of a run's lines as the log has them, in chunks.
ReadLog = Callable[[str], Iterable[Sequence[bytes]]]


class _Tail:
    """What of one run is not in its file yet.

    `size` is the file's size as this process left it; None when that is unknown, and the file must be repaired.
    """

    __slots__ = ("bytes", "chunks", "owing", "size", "writing")

    def __init__(self, size: int | None) -> None:
        self.size = size
        self.chunks: list[bytes] = []
        self.bytes = 0
        self.owing = False
        self.writing = False


class Mirror:
    """The mirror files of one data dir; opens a file only while it writes to it. `bytes` are those that wait."""

    def __init__(self, folder: Path, read_log: ReadLog) -> None:
        self._folder = folder
        self._read_log = read_log
        self._tails: dict[str, _Tail] = {}
        self.bytes = 0

    def path(self, run_id: str) -> Path:
        """Where the run's file is."""
        return self._folder / run_id / "events.jsonl"

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
        self.bytes += size
        if tail.bytes >= RUN_BYTES:
            self._write_now(run_id, tail)

    def owe(self, run_id: str) -> None:
        """Expect the run's file to be behind the log: the next flush repairs it."""
        tail = self._tails.setdefault(run_id, _Tail(None))
        tail.size = None
        tail.owing = True

    @property
    def owing(self) -> bool:
        """Whether any run's file is expected to be behind the log."""
        return any(tail.owing for tail in self._tails.values())

    async def flush(self, keep: Container[str]) -> None:
        """Bring all files up to date (StoreFull, StoreError), and forget the runs that are not to be kept in mind.

        More than a few files are written in a thread: making them is slow, and nobody waits for it. Only one flush may
        run at a time.
        """
        waiting = self._waiting()
        self._forget(keep)
        if len(waiting) <= FEW:
            for run_id, tail in waiting:
                self._write_now(run_id, tail)
                self._settle(run_id, tail, keep)
            return
        work = [(run_id, tail.size, self._take(tail)) for run_id, tail in waiting]
        for run_id, tail in waiting:
            tail.writing = True
            self.owe(run_id)  # until it is known to be written
        try:
            sizes = await asyncio.to_thread(self._write_files, work)
        finally:
            for _, tail in waiting:
                tail.writing = False
        for (run_id, tail), size in zip(waiting, sizes, strict=True):
            tail.size = size
            tail.owing = size is None
            self._settle(run_id, tail, keep)

    def _forget(self, keep: Container[str]) -> None:
        """Forget runs of which nothing waits: their last lines were many, or they are driven here no more."""
        for run_id in [each for each, tail in self._tails.items() if not (tail.chunks or tail.owing or each in keep)]:
            del self._tails[run_id]

    def _settle(self, run_id: str, tail: _Tail, keep: Container[str]) -> None:
        if tail.owing:
            self.repair(run_id)
        if run_id not in keep and not tail.chunks:
            del self._tails[run_id]

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
        if tail is not None and not tail.writing:
            self._take(tail)
            tail.size = size
            tail.owing = False

    def sync(self, run_id: str) -> None:
        """Make the run's file durable as it is: what it no longer holds must not come back with a power loss."""
        path = self.path(run_id)
        try:
            for each in (path, path.parent):
                descriptor = os.open(each, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
        except OSError as error:
            raise faults.of_os(error, "for events.jsonl") from error

    def run_ids(self) -> Sequence[str]:
        """The runs that have a folder; what a person or a file manager has put beside those is none of ours."""
        return [path.name for path in self._folder.iterdir() if _is_ours(path)] if self._folder.is_dir() else []

    def erase(self, run_id: str) -> None:
        """Remove the run's folder."""
        self._tails.pop(run_id, None)
        try:
            shutil.rmtree(self._folder / run_id)
        except FileNotFoundError:
            return
        except OSError as error:
            raise faults.of_os(error, "for the folder of a run") from error

    def _write_files(self, work: Sequence[tuple[str, int | None, bytes]]) -> Sequence[int | None]:
        return [self._add_to_file(run_id, size, data) for run_id, size, data in work]

    def _waiting(self) -> Sequence[tuple[str, _Tail]]:
        return [
            (run_id, tail) for run_id, tail in self._tails.items() if (tail.chunks or tail.owing) and not tail.writing
        ]

    def _write_now(self, run_id: str, tail: _Tail) -> None:
        if not tail.writing:
            tail.size = self._add_to_file(run_id, tail.size, self._take(tail))
            tail.owing = tail.size is None

    def _take(self, tail: _Tail) -> bytes:
        """The tail's lines, each with its newline; they are not in the tail any more."""
        data = b"\n".join([*tail.chunks, b""]) if tail.chunks else b""
        self.bytes -= tail.bytes
        tail.chunks.clear()
        tail.bytes = 0
        return data

    def _add_to_file(self, run_id: str, size: int | None, data: bytes) -> int | None:
        """Write the data at the end of the file; gives the new size, or None if the file must be repaired.

        So it must be when it could not be written: the repair then says why.
        """
        if size is None:
            return None
        try:
            descriptor = self._locked(run_id)
            try:
                if os.fstat(descriptor).st_size != size:
                    return None
                _write_all(descriptor, data, size)
                return size + len(data)
            finally:
                os.close(descriptor)
        except OSError:
            return None

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
        at = 0
        with whole.file(self.path(run_id), mode=_MODE) as file:
            for lines in self._read_log(run_id):
                at += file.write(b"".join(line + b"\n" for line in lines))
        return at

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


def _is_ours(path: Path) -> bool:
    """Whether it is a folder of ours, which holds a run's file, or nothing yet."""
    if path.is_symlink() or not path.is_dir():
        return False
    return (path / "events.jsonl").exists() or not any(path.iterdir())


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, _MODE)
    except FileNotFoundError:
        # Not the data dir: where that is gone, nobody would find the file.
        path.parent.parent.mkdir(mode=0o700, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        return os.open(path, flags, _MODE)


def _write_all(descriptor: int, data: bytes, at: int) -> None:
    while data:
        written = os.pwrite(descriptor, data, at)
        at += written
        data = data[written:]
