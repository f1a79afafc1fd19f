"""A small JSON document in the data dir that several processes read, and one at a time replaces as a whole.

Readers ask for the `version` first, which costs one system call, and read again only when it has changed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any, TypeAlias, cast

import orjson

from openskelo import errors, files

#: What changes whenever the file is replaced; None if there is no file.
Version: TypeAlias = tuple[int, int, int] | None


class JsonFile:
    """The document at `path`, readable by the owner alone. Every method raises StoreError if the disk refuses."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock_path = path.with_suffix(".lock")

    def version(self) -> Version:
        """Return the version of the document."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._io_error(error) from error
        return status.st_mtime_ns, status.st_ino, status.st_size

    def read(self) -> dict[str, Any]:
        """Return the document, empty if there is no file. Raise Corrupt if it is no JSON object."""
        try:
            document = orjson.loads(files.read_plain(self.path))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._io_error(error) from error
        except ValueError as error:
            raise self.corrupt() from error
        if not isinstance(document, dict):
            raise self.corrupt()
        return cast("dict[str, Any]", document)

    @contextlib.contextmanager
    def change(self) -> Generator[dict[str, Any]]:
        """Yield the document to change; it is written at the end. One process at a time may do this."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self._lock_path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._io_error(error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            document = self.read()
            yield document
            self._write(document)
        finally:
            os.close(lock)

    def corrupt(self) -> errors.Corrupt:
        """Return the error for a file with another content."""
        return errors.Corrupt(f"{self.path} is not what OpenSkelo writes there", hint="remove it and start again")

    def _write(self, document: dict[str, Any]) -> None:
        try:
            with files.atomic_file(self.path, mode=0o600) as file:
                file.write(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
        except OSError as error:
            raise self._io_error(error) from error

    def _io_error(self, error: OSError) -> errors.StoreError:
        return errors.StoreError(f"{self.path}: {error.strerror}", code="STORE_IO")
