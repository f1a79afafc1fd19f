"""Keep a write-ahead log that was damaged: SQLite drops everything behind the first frame whose checksum is wrong.

    header   32 bytes: magic, version, page size, checkpoint, salt 1, salt 2, checksum 1, checksum 2
    frame    24 bytes and a page: page number, size of the database, salt 1, salt 2, checksum 1, checksum 2

Each checksum goes on from the one before. A frame with other salts is left over from an earlier use of the file. So a
frame that fails its checksum, and still has a salt of the header, was written and has changed since. `keep_damaged`
copies such a file to `log.db-wal.damaged-N` before SQLite opens it; `skelo doctor` names the copy, and it and `skelo
verify` name the runs whose events the log has lost. The copy is never deleted.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from openskelo import files
from openskelo.stores import process_locks, storage_errors

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MAGIC = 0x377F0682
_MASK = 0xFFFFFFFF
_EVENT = re.compile(rb'"runId":"([0-9A-Za-z_-]{1,64})","seq":([0-9]{1,15}),')


def keep_damaged(database: Path) -> None:
    """Copy the database's write-ahead log aside if it is damaged and not kept yet (StoreError).

    Call it before SQLite opens the database. While a process may be writing, nothing is done.
    """
    if _may_be_in_use(database):
        return
    path = database.with_name(f"{database.name}-wal")
    try:
        data = files.read_plain(path)
        if not is_damaged(data) or any(
            files.read_plain(earlier_copy) == data for earlier_copy in find_kept(database.parent)
        ):
            return
        number = 1
        while (copy := path.with_name(f"{path.name}.damaged-{number}")).exists():
            number += 1
        with files.atomic_file(copy, mode=0o600) as file:
            file.write(data)
        files.sync_folder(database.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_errors.from_os(error, "keeping a damaged write-ahead log") from error


def _may_be_in_use(database: Path) -> bool:
    """True unless all processes that wrote were killed, or this is a copy of a data dir without their files."""
    locks = process_locks.ProcessLocks(database.parent / "drivers")
    if locks.is_any_known():
        return locks.is_any_alive()
    return database.with_name(f"{database.name}-shm").exists()


def find_kept(data_dir: Path) -> Sequence[Path]:
    """Return the damaged write-ahead logs that were kept."""
    return sorted(data_dir.glob("log.db-wal.damaged-*"))


def find_newest_events(data_dir: Path) -> dict[str, int]:
    """Return, by run, the seq of the newest event that can be read in the kept files (StoreError)."""
    newest: dict[str, int] = {}
    for data in read_kept(data_dir):
        for run_id, seq in _EVENT.findall(data):
            newest[run_id.decode()] = max(int(seq), newest.get(run_id.decode(), 0))
    return newest


def read_kept(data_dir: Path) -> Iterator[bytes]:
    """Yield the bytes of each kept file (StoreError)."""
    try:
        for path in find_kept(data_dir):
            yield files.read_plain(path)
    except OSError as error:
        raise storage_errors.from_os(error, "reading a damaged write-ahead log") from error


def is_damaged(data: bytes) -> bool:
    """True if a frame that was written whole, or the header before one, is not as it was written."""
    if len(data) < _HEADER.size + _FRAME.size:
        return False
    magic, _, page_size, _, *salts, first, second = _HEADER.unpack_from(data)
    order = ">" if magic & 1 else "<"
    if magic & ~1 != _MAGIC or _checksum(order, data[: _HEADER.size - 8], 0, 0) != (first, second):
        return True
    is_whole = True
    for at in range(_HEADER.size, len(data) - _FRAME.size - page_size + 1, _FRAME.size + page_size):
        *_, salt_1, salt_2, wanted_1, wanted_2 = _FRAME.unpack_from(data, at)
        if is_whole and [salt_1, salt_2] == salts:
            page = data[at + _FRAME.size : at + _FRAME.size + page_size]
            first, second = _checksum(order, data[at : at + 8] + page, first, second)
            is_whole = (first, second) == (wanted_1, wanted_2)
        else:
            is_whole = False
        if not is_whole and (salt_1 == salts[0] or salt_2 == salts[1]):
            return True
    return False


def _checksum(order: str, data: bytes, first: int, second: int) -> tuple[int, int]:
    words = iter(struct.unpack(f"{order}{len(data) // 4}I", data))
    for word in words:
        first = (first + word + second) & _MASK
        second = (second + next(words) + first) & _MASK
    return first, second
