"""Values too large for an event, stored under the SHA-256 digest of their bytes.

    WaitingBlobs   up to COMMITTED_BYTES: in memory until the commit that names the blob, which writes it too
    BlobFiles      larger ones: a file each, written and synced before the commit that names it

A file without a reference may be garbage, or its event may still be on the way: `BlobFiles.sweep` leaves files alone
that were written, or wanted again, within the last hour.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import time
from collections.abc import Container, Generator, Iterable
from pathlib import Path

from openskelo import errors, files
from openskelo.stores import api, storage_errors

#: Blobs up to this size are committed with what names them. Above it a file of its own is cheaper (ADR 0003).
COMMITTED_BYTES = 1024 * 1024
#: How many bytes wait in memory at most. Beyond that the oldest become files.
MAX_WAITING_BYTES = 32 * 1024 * 1024
#: How many blobs stay in memory after their commit.
MAX_RECENT = 8
#: How long an unreferenced file is kept after it was last wanted.
GRACE_SECONDS = 3600.0

_NAME = re.compile(r"sha256:([0-9a-f]{64})")
# A digest in a text. Those of receipts do not count: they say what a value was, and do not need the value. The
# look-behinds stand after the fixed text `sha256:`, which the regular expression engine finds twenty times faster.
_REFERENCE = re.compile(
    rb'sha256:(?<!"inputs_hash":"sha256:)(?<!"output_hash":"sha256:)(?<!"workflow_hash":"sha256:)(?<!"prev":"sha256:)'
    rb"([0-9a-f]{64})"
)


def name_of(data: bytes) -> str:
    """Return the `sha256:` name of the bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def digest_of(name: str) -> str:
    """Return the hexadecimal digest in a blob's name; raise InvalidInput for any other text."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise errors.InvalidInput(
            f"not the name of a blob: {name[:100]!r}", code="BLOB_NAME", hint="sha256:<64 hex digits>"
        )
    return match[1]


def find_digests(texts: Iterable[bytes]) -> set[str]:
    """Return the hexadecimal digests that JSON texts may refer to: rather too many than too few."""
    return {digest.decode() for text in texts for digest in _REFERENCE.findall(text)}


def check(name: str, data: bytes) -> bytes:
    """Return the bytes; raise Corrupt if they do not have that name."""
    if name_of(data) != name:
        raise errors.Corrupt(f"the bytes kept as {name} are not the ones that were written")
    return data


class WaitingBlobs:
    """Blobs in memory, until a commit names them. They cost no sync of their own.

    The newest ones stay a little longer: the next step reads what the step before it has written.
    """

    def __init__(self) -> None:
        self._data: dict[str, bytes] = {}
        self._bytes = 0
        self._recent: dict[str, bytes] = {}

    def add(self, data: bytes, name: str | None = None) -> str:
        """Keep the bytes; return their name, which a caller that knows it passes."""
        name = name or name_of(data)
        if name not in self._data:
            self._data[name] = data
            self._bytes += len(data)
        return name

    def get(self, name: str) -> bytes | None:
        """Return the bytes of that name, if they are in memory."""
        return self._data.get(name) or self._recent.get(name)

    def oldest(self) -> tuple[str, bytes] | None:
        """Return the oldest blob if more than MAX_WAITING_BYTES wait: its attempt may have been stopped."""
        if self._bytes > MAX_WAITING_BYTES:
            return next(iter(self._data.items()))
        return None

    def named_in(self, texts: Iterable[bytes]) -> dict[str, bytes]:
        """Return the waiting blobs that the JSON texts name, which the caller commits together with the texts."""
        if not self._data:
            return {}
        names = (f"sha256:{digest}" for digest in find_digests(texts))
        return {name: self._data[name] for name in names if name in self._data}

    def remove(self, names: Iterable[str]) -> None:
        """Drop blobs that the caller has made durable from those that wait; the newest stay readable from memory."""
        for name in names:
            if name in self._data:
                self._recent[name] = self._data.pop(name)
                self._bytes -= len(self._recent[name])
        while len(self._recent) > MAX_RECENT:
            del self._recent[next(iter(self._recent))]

    def forget_recent(self) -> None:
        """Drop the durable blobs that are kept for reading, because the caller is about to delete some of them."""
        self._recent.clear()


class BlobFiles:
    """Files `ab/<digest>` in one folder. Paths are made of digests only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._synced: set[Path] = set()  # subfolders whose names are known to be durable
        #: Files whose sync, or that of their name, failed: the next sync would succeed without having written them, so
        #: they are written anew.
        self._doubted: set[Path] = set()

    def put(self, data: bytes, name: str | None = None) -> str:
        """Write the bytes durably, unless they are there already; return their name, as `WaitingBlobs.add` does."""
        name = name or name_of(data)
        path = self._path(name)
        try:
            _create_folder(path.parent)
            with _locked(self._folder, fcntl.LOCK_SH):
                is_there = _has_content(path, data) and path not in self._doubted
                self._doubted.add(path)
                if is_there:
                    os.utime(path)  # wanted again: starts a new period of grace
                    files.sync_file(path)  # its writer may have been killed before, and `locate` does not sync
                else:
                    with files.atomic_file(path, mode=0o600) as file:
                        file.write(data)
                # Also for a file that was there, for the same reason.
                files.sync_folder(path.parent)
                if path.parent not in self._synced:
                    files.sync_folder(self._folder)
                    self._synced.add(path.parent)
                self._doubted.discard(path)
        except OSError as error:
            if error.errno == errno.EIO:
                raise storage_errors.sync_failed(str(error)) from error
            raise storage_errors.from_os(error, "for a blob") from error
        return name

    def get(self, name: str) -> bytes:
        """Return the bytes of that name. Raise NotFound, or Corrupt if their hash differs."""
        try:
            data = files.read_plain(self._path(name))
        except FileNotFoundError:
            raise blob_not_found(name) from None
        except OSError as error:
            raise storage_errors.from_os(error, "for a blob") from error
        return check(name, data)

    def locate(self, name: str, data: bytes | None) -> str | None:
        """Return the absolute path of a blob's file; None if the blob is missing, or its file cannot be written.

        `data` are the bytes of a blob that is kept elsewhere: its file is a copy for readers, and is not synced. So a
        copy that a power loss has cut is written again.
        """
        path = self._path(name)
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            size = None
        except OSError:
            return None
        if size is not None and (data is None or size == len(data)):
            return str(path.absolute())
        if data is None:
            return None
        try:
            _create_folder(path.parent)
            with _locked(self._folder, fcntl.LOCK_SH), files.atomic_file(path, mode=0o600, sync=False) as file:
                file.write(data)
        except OSError:
            return None
        return str(path.absolute())

    def sweep(self, used: Container[str]) -> api.SweepResult:
        """Delete the files whose digest is not in `used` and whose period of grace is over."""
        count = size = 0
        oldest = time.time() - GRACE_SECONDS
        try:
            for path in self._folder.glob("[0-9a-f][0-9a-f]/*"):
                if path.name in used:
                    continue
                with _locked(self._folder, fcntl.LOCK_EX), contextlib.suppress(FileNotFoundError):
                    status = path.stat()
                    if status.st_mtime < oldest:
                        path.unlink()
                        count += 1
                        size += status.st_size
        except OSError as error:
            raise storage_errors.from_os(error, "for a blob") from error
        return api.SweepResult(blobs=count, bytes=size)

    def _path(self, name: str) -> Path:
        digest = digest_of(name)
        return self._folder / digest[:2] / digest


def blob_not_found(name: str) -> errors.NotFound:
    """Return the error for a name that no blob has."""
    return errors.NotFound(f"no blob {name}", code="BLOB_NOT_FOUND")


@contextlib.contextmanager
def _locked(folder: Path, kind: int) -> Generator[None]:
    """Hold a lock on the folder: writers share it, a sweep has it alone."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, kind)
        yield
    finally:
        os.close(descriptor)


def _create_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)


def _has_content(path: Path, data: bytes) -> bool:
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except FileNotFoundError:
        return False
