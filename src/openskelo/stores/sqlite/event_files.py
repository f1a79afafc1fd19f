"""`events/*.jsonl`: a copy of the log for people and their tools, in the order of commits, written after the commit.

The log is the truth; the copy follows it. It is cut into segments, each named after the position of its first row:

    events/000000000001.jsonl             the lines of the rows from position 1 on
    events/000000004711.jsonl             the lines from position 4,711 on: the newest segment, which grows
    events/000000004711.differs-1.jsonl   a segment that was not what the log holds, kept as evidence
    events/end                            locked while a process writes; how far the copy reaches

All runs share the segments: a file for each run would cost more than the run itself. Every line has its run's id.
Any process may copy what is missing, whichever process committed it: it takes the lock, reads where the copy ends,
reads the next rows of the log and appends their lines. A driver that is killed leaves nothing but a torn line.

Where the copy ends is written into `end`. If that is not the size of the newest segment (a process was killed while it
wrote, or a user changed the file), the segment is compared with the log from its first row on. A segment is never
overwritten: one that is not the beginning of what the log holds is renamed to `…differs-N.jsonl` and written again.
Only the lines of runs that a user prunes are taken out of the files (`rewrite_runs`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from openskelo import errors, files
from openskelo.stores import storage_errors
from openskelo.structs import frozen

#: A segment that has this many bytes is followed by a new one. `verify` reads whole segments, pruning rewrites them.
SEGMENT_BYTES = 16 * 1024 * 1024
#: How many rows of the log are read and written at a time, between which other tasks run.
ROWS_PER_STEP = 512
#: How long a caller that cannot try again waits for another process, which blocks the event loop.
LOCK_SECONDS = 0.1
#: Events hold prompts and outputs: other users of the machine may not read them.
_MODE = 0o600
_SEGMENT = re.compile(r"([0-9]{12,})\.jsonl")
_END = re.compile(rb"([0-9]{12,})\.jsonl ([0-9]+) ([0-9]+)\n")
# The keys of a line are sorted: after the `data`, which may hold anything, come the envelope's `runId` and `seq`.
_RUN_ID_KEY = b'"runId":"'
_RUN_AND_SEQ = re.compile(rb'([0-9A-Za-z_-]+)","seq":([0-9]+),')

#: A row of the log: its position and its lines, joined by newlines; no lines if its run was deleted.
Row: TypeAlias = tuple[int, bytes | None]
#: Returns the rows of the log after a position, up to a number of them.
ReadRows = Callable[[int, int], Sequence[Row]]
#: Returns the lines that the log holds for a run, by seq.
ReadRun = Callable[[str], Mapping[int, bytes]]


@frozen
class _End:
    """The end of the copy: first position and size of the newest segment, and the position of the last copied row."""

    first: int = 0
    size: int = 0
    position: int = 0


class EventSegments:
    """The `events` folder of one data dir. A file is open only while it is read or written.

    The methods raise StoreError or StoreFull if a file cannot be written, STORE_BUSY while another process writes: at
    once with `wait=False`, else after LOCK_SECONDS.
    """

    def __init__(self, folder: Path, read_rows: ReadRows) -> None:
        self._folder = folder
        self._read_rows = read_rows

    def copy_rows(self, *, wait: bool) -> bool:
        """Append the next rows of the log to the copy; return False if there were none."""
        with self._locked(wait=wait) as lock:
            end = self._find_end(lock)
            rows = self._read_rows(end.position, ROWS_PER_STEP)
            if not rows:
                return False
            if end.first == 0 or end.size >= SEGMENT_BYTES:
                end = _End(first=rows[0][0])
            text = _text_of(rows)
            _append(self._path(end.first), text, end.size)
            _save_end(lock, _End(first=end.first, size=end.size + len(text), position=rows[-1][0]))
            return True

    def check_end(self, *, wait: bool) -> None:
        """Make sure that the copy ends with a row of the log: the log may have lost its newest rows in a crash.

        Call it before the first append of a store: new rows would take the positions of the lost ones.
        """
        if not self._folder.exists():
            return
        with self._locked(wait=wait) as lock:
            end = self._find_end(lock)
            if end.position == 0:
                return
            rows = self._read_rows(end.position - 1, 1)
            if rows and rows[0][0] == end.position:
                text = _text_of(rows)
                if _read_at(self._path(end.first), max(0, end.size - len(text)), len(text)) == text:
                    return
            elif self._read_rows(end.position, 1):
                return  # the last copied row was deleted, and newer ones are there
            self._compare_newest(lock)

    def compare_newest(self) -> None:
        """Compare the two newest segments with the log: a crash of the system may have left holes in them."""
        if not self._folder.exists():
            return
        with self._locked() as lock:
            firsts = self._firsts()
            if len(firsts) > 1:
                self._compare(firsts[-2], before=firsts[-1])
            self._compare_newest(lock)

    def compare_all(self) -> Iterator[Path]:
        """Make all segments what the log holds; yield each file that was not, under its new name (`…differs-N`)."""
        with self._locked():
            firsts = self._firsts()
            oldest = self._read_rows(0, 1)
            if oldest and firsts and oldest[0][0] < firsts[0]:
                firsts.insert(0, oldest[0][0])
        for first, before in zip(firsts, [*firsts[1:], None], strict=False):
            with self._locked() as lock:
                set_aside_path = self._compare_newest(lock) if before is None else self._compare(first, before=before)
            if set_aside_path is not None:
                yield set_aside_path

    def find_lost(self, read_run: ReadRun) -> dict[str, int]:
        """Return, by run, how many lines of files that were set aside are not in the log."""
        lost_seqs: dict[str, set[int]] = {}
        for run_id, seq, _ in self._lost_lines(read_run):
            lost_seqs.setdefault(run_id, set()).add(seq)
        return {run_id: len(seqs) for run_id, seqs in lost_seqs.items()}

    def lost_lines(self, read_run: ReadRun) -> Iterator[bytes]:
        """Yield the lines of files that were set aside which are not in the log."""
        return (line for _, _, line in self._lost_lines(read_run))

    def _lost_lines(self, read_run: ReadRun) -> Iterator[tuple[str, int, bytes]]:
        """Yield run, seq and line of each line that was set aside and is not in the log."""
        logged_lines: dict[str, Mapping[int, bytes]] = {}
        for path in sorted(self._folder.glob("*.differs-*.jsonl")):
            for line in files.read_plain(path).split(b"\n"):
                run_id, seq = _run_and_seq(line)
                if run_id and run_id not in logged_lines:
                    logged_lines[run_id] = read_run(run_id)
                if run_id and logged_lines[run_id].get(seq) != line:
                    yield run_id, seq, line

    def rewrite_runs(self, run_ids: Collection[str], read_run: ReadRun, *, wait: bool) -> Iterator[None]:
        """Make the lines of these runs what the log holds of them by now, in all files; sync what has changed.

        Yields after each file, so that other tasks can run.
        """
        if not self._folder.exists():
            return
        with self._locked(wait=wait):  # a process that has read lines before they were pruned has written them by now
            paths = sorted(self._folder.glob("*.jsonl"))
        for path in paths:
            with self._locked(wait=wait) as lock:
                self._rewrite(path, run_ids, read_run, lock)
            yield

    def read_run(self, run_id: str, positions: tuple[int, int]) -> Iterator[bytes]:
        """Yield the run's lines in the segments that cover its positions, the first and the last (StoreError)."""
        firsts = self._firsts()
        marker = _RUN_ID_KEY + run_id.encode() + b'","seq":'
        for first, before in zip(firsts, [*firsts[1:], None], strict=False):
            if first > positions[1] or (before is not None and before <= positions[0]):
                continue
            data = self._read(first)
            at = data.find(marker)
            while at >= 0:
                start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
                line = data[start:] if end < 0 else data[start:end]
                if _run_and_seq(line)[0] == run_id:
                    yield line
                at = -1 if end < 0 else data.find(marker, end)

    # Where the copy ends

    def _find_end(self, lock: int) -> _End:
        """Return where the copy ends: as it is written down, or by comparing the newest segment with the log."""
        firsts = self._firsts()
        saved_end = _END.fullmatch(os.pread(lock, 100, 0))
        if saved_end is not None and firsts and int(saved_end[1]) == firsts[-1]:
            end = _End(first=firsts[-1], size=int(saved_end[2]), position=int(saved_end[3]))
            if self._path(end.first).stat().st_size == end.size:
                return end
        self._compare_newest(lock)
        saved_end = _END.fullmatch(os.pread(lock, 100, 0))
        if saved_end is None:
            return _End()
        return _End(first=int(saved_end[1]), size=int(saved_end[2]), position=int(saved_end[3]))

    def _compare_newest(self, lock: int) -> Path | None:
        """Compare the newest segment with the log, and write down where it ends; return it if it was set aside."""
        set_aside_path = None
        while firsts := self._firsts():
            if self._read_rows(firsts[-1] - 1, 1):
                return self._compare(firsts[-1], lock=lock) or set_aside_path
            set_aside_path = self._set_aside(
                self._path(firsts[-1])
            )  # the log, which never loses its newest row, ends before it
        os.ftruncate(lock, 0)
        return set_aside_path

    def _compare(self, first: int, *, before: int | None = None, lock: int | None = None) -> Path | None:
        """Complete a segment up to the row `before`, or set it aside and write it again; return it if set aside."""
        path = self._path(first)
        matched_bytes = self._matched_bytes(path, first, before)
        set_aside_path = None
        if matched_bytes is None:
            set_aside_path = self._set_aside(path)
            matched_bytes = 0
        position, size = self._complete(path, first, before, matched_bytes)
        if lock is not None:
            _save_end(lock, _End(first=first, size=size, position=position))
        return set_aside_path

    def _matched_bytes(self, path: Path, first: int, before: int | None) -> int | None:
        """Return how many bytes of whole rows a segment holds, None if it holds anything else than the log does."""
        offset = 0
        try:
            file = files.open_plain(path)
        except FileNotFoundError:
            return 0
        with file:
            for _, text in self._rows(first, before):
                actual = file.read(len(text))
                if actual != text:
                    is_cut = text.startswith(actual) and not file.read(1)
                    return offset if is_cut else None
                offset += len(text)
            return None if file.read(1) else offset

    def _complete(self, path: Path, first: int, before: int | None, matched: int) -> tuple[int, int]:
        """Append what a segment lacks after the matched bytes; return the last position and the size.

        What follows the matched bytes is a torn row, of which the log has all.
        """
        offset, last = 0, first - 1
        descriptor = _open(path)
        try:
            os.ftruncate(descriptor, matched)
            for position, text in self._rows(first, before):
                if offset >= matched:
                    _write_all(descriptor, text, offset)
                offset += len(text)
                last = position
        finally:
            os.close(descriptor)
        return last, offset

    def _set_aside(self, path: Path) -> Path:
        number = 1
        while (new_path := path.with_name(f"{path.stem}.differs-{number}.jsonl")).exists():
            number += 1
        return path.rename(new_path)

    def _rows(self, first: int, before: int | None) -> Iterator[tuple[int, bytes]]:
        """Yield the positions and lines, each with its newline, of the rows from `first` on."""
        position = first - 1
        while rows := self._read_rows(position, ROWS_PER_STEP):
            for position, lines in rows:
                if before is not None and position >= before:
                    return
                yield position, _text_of([(position, lines)])

    # Taking lines out

    def _rewrite(self, path: Path, run_ids: Collection[str], read_run: ReadRun, lock: int) -> None:
        logged_lines: dict[str, Mapping[int, bytes]] = {}
        kept_lines: list[bytes] = []
        has_changed = False
        for line in files.read_plain(path).split(b"\n"):
            run_id, seq = _run_and_seq(line)
            if run_id not in run_ids:
                kept_lines.append(line)
                continue
            if run_id not in logged_lines:
                logged_lines[run_id] = read_run(run_id)
            now = logged_lines[run_id].get(seq)
            has_changed = has_changed or line != now
            if now is not None:
                kept_lines.append(now)
        if not has_changed:
            return
        end = _END.fullmatch(os.pread(lock, 100, 0))
        with files.atomic_file(path, mode=_MODE) as file:
            size = file.write(b"\n".join(kept_lines))
        files.sync_folder(self._folder)
        if end is not None and path == self._path(int(end[1])):
            _save_end(lock, _End(first=int(end[1]), size=size, position=int(end[3])))

    # Files

    def _read(self, first: int) -> bytes:
        try:
            return files.read_plain(self._path(first))
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise storage_errors.from_os(error, "for the files in events/") from error

    def _firsts(self) -> list[int]:
        """Return the first positions of the segments, in order."""
        try:
            names = [path.name for path in self._folder.iterdir()]
        except FileNotFoundError:
            return []
        return sorted(int(match[1]) for match in map(_SEGMENT.fullmatch, names) if match is not None)

    def _path(self, first: int) -> Path:
        return self._folder / f"{first:012d}.jsonl"

    @contextlib.contextmanager
    def _locked(self, *, wait: bool = True) -> Generator[int]:
        """Yield the descriptor of the locked file `end`. Errors of files inside become errors of the store."""
        try:
            descriptor = self._open_end()
            try:
                _lock(descriptor, LOCK_SECONDS if wait else 0.0)
                yield descriptor
            finally:
                os.close(descriptor)
        except OSError as error:
            raise storage_errors.from_os(error, "for the files in events/") from error

    def _open_end(self) -> int:
        path = self._folder / "end"
        try:
            return _open(path)
        except FileNotFoundError:
            # Creates `events/`, not the data dir: if that is gone, the file would not be found.
            self._folder.mkdir(mode=0o700, exist_ok=True)
            return _open(path)


def _run_and_seq(line: bytes) -> tuple[str, int]:
    """Return the run's id and the seq of a line of the log, ("", 0) of anything else."""
    match = _RUN_AND_SEQ.match(line, line.rfind(_RUN_ID_KEY) + len(_RUN_ID_KEY))
    if match is None:
        return ("", 0)
    return (match[1].decode(), int(match[2]))


def _text_of(rows: Sequence[Row]) -> bytes:
    """Return all lines of the rows, each with its newline."""
    return b"".join(lines + b"\n" for _, lines in rows if lines is not None)


def _lock(descriptor: int, seconds: float) -> None:
    """Lock the file; raise STORE_BUSY if another process holds it for longer than `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise errors.StoreError(
                    "another process writes the files in events/", code="STORE_BUSY", hint="try again in a moment"
                ) from error
        else:
            return
        time.sleep(0.001)


def _save_end(lock: int, end: _End) -> None:
    text = b"%012d.jsonl %d %d\n" % (end.first, end.size, end.position)
    os.pwrite(lock, text, 0)
    os.ftruncate(lock, len(text))


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, _MODE)


def _append(path: Path, text: bytes, size: int) -> None:
    descriptor = _open(path)
    try:
        _write_all(descriptor, text, size)
    finally:
        os.close(descriptor)


def _read_at(path: Path, offset: int, length: int) -> bytes:
    with files.open_plain(path) as file:
        file.seek(offset)
        return file.read(length)


def _write_all(descriptor: int, data: bytes, offset: int) -> None:
    while data:
        byte_count = os.pwrite(descriptor, data, offset)
        offset += byte_count
        data = data[byte_count:]
