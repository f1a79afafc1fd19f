"""Values too large for an event, kept under the digest of their bytes, one file each."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import time
from collections.abc import Container, Generator, Iterable
from pathlib import Path

from openskelo import errors, files, whole
from openskelo.stores import faults, log

#: A file is kept at least so long after somebody wanted it: the event that refers to it may still be on its way.
YOUNG_SECONDS = 3600.0

_NAME = re.compile(r"sha256:([0-9a-f]{64})")
#: A digest in a text, but for those of receipts: they say what was there, and do not need it.
_NAMED = re.compile(  # what stands before is looked at last: a fixed beginning is found twenty times as fast
    rb'sha256:(?<!"inputs_hash":"sha256:)(?<!"output_hash":"sha256:)(?<!"workflow_hash":"sha256:)(?<!"prev":"sha256:)'
    rb"([0-9a-f]{64})"
)


def name_of(data: bytes) -> str:
    """The `sha256:` name of these bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def digest_of(name: str) -> str:
    """The hexadecimal digest inside a name; anything that is not such a name is refused (InvalidInput)."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise errors.InvalidInput(
            f"not the name of a blob: {name[:100]!r}", code="BLOB_NAME", hint="sha256:<64 hex digits>"
        )
    return found[1]


def named_in(texts: Iterable[bytes]) -> set[str]:
    """The hexadecimal digests that JSON texts may refer to: rather too many than too few."""
    return {found.decode() for text in texts for found in _NAMED.findall(text)}


def check(name: str, data: bytes) -> bytes:
    """The same bytes, if they are the ones that the name stands for (Corrupt)."""
    if name_of(data) != name:
        raise errors.Corrupt(f"the bytes kept as {name} are not the ones that were written")
    return data


class BlobFiles:
    """Files `ab/<digest>` under one folder. A name is all that ever becomes part of a path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, data: bytes) -> str:
        """Keep the bytes, durably before this returns; what is there already is not written again."""
        name = name_of(data)
        path = self._path(name)
        try:
            _make_folder(path.parent)
            with _locked(self._folder, fcntl.LOCK_SH):
                if _holds(path, data):
                    os.utime(path)  # wanted again: a sweep leaves it alone until somebody refers to it
                else:
                    with whole.file(path, mode=0o600) as file:
                        file.write(data)
                # Also for a file that was there: whoever wrote it may not have come to this point.
                whole.sync_folder(path.parent)
                whole.sync_folder(self._folder)
        except OSError as error:
            raise faults.of_os(error, "for a blob") from error
        return name

    def get(self, name: str) -> bytes:
        """The bytes of that name, checked (NotFound, Corrupt)."""
        try:
            data = files.read_plain(self._path(name))
        except FileNotFoundError:
            raise errors.NotFound(f"no blob {name}", code="BLOB_NOT_FOUND") from None
        except OSError as error:
            raise faults.of_os(error, "for a blob") from error
        return check(name, data)

    def sweep(self, used: Container[str]) -> log.Swept:
        """Remove the files whose digest is not `used`, unless somebody wanted them within the last hour."""
        count = size = 0
        oldest = time.time() - YOUNG_SECONDS
        try:
            for path in self._folder.glob("[0-9a-f][0-9a-f]/*"):
                if path.name in used:
                    continue
                with _locked(self._folder, fcntl.LOCK_EX), contextlib.suppress(FileNotFoundError):
                    found = path.stat()
                    if found.st_mtime < oldest:
                        path.unlink()
                        count += 1
                        size += found.st_size
        except OSError as error:
            raise faults.of_os(error, "for a blob") from error
        return log.Swept(blobs=count, bytes=size)

    def _path(self, name: str) -> Path:
        digest = digest_of(name)
        return self._folder / digest[:2] / digest


@contextlib.contextmanager
def _locked(folder: Path, kind: int) -> Generator[None]:
    """Whoever keeps a value and whoever removes values do not do it at the same time."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, kind)
        yield
    finally:
        os.close(descriptor)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except FileNotFoundError:
        return False
