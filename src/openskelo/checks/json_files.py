"""Read a JSON file that a checker judges, into the class that says its format."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from openskelo import errors, files
from openskelo.values import canonical

#: A larger file is not read.
MAX_BYTES = 64 * 1024 * 1024
_Class = TypeVar("_Class")


def read(path: Path, kind: type[_Class], code: str) -> _Class:
    """Return the content of a file; raise InvalidInput `code` about any key or value that the class does not have.

    Raise NotFound PATH_NOT_FOUND without the file.
    """
    return decode(read_bytes(path, code), kind, path.name, code)


def decode(data: bytes, kind: type[_Class], name: str, code: str) -> _Class:
    """Return what `read` returns, of the bytes of the file `name`."""
    try:
        return msgspec.convert(canonical.loads_untrusted(data), kind)
    except msgspec.ValidationError as error:
        raise errors.InvalidInput(f"{name}: {error}", code=code) from error
    except errors.InvalidInput as error:
        raise errors.InvalidInput(f"{name}: {error.message}", code=code, hint=error.hint) from error


def read_bytes(path: Path, code: str) -> bytes:
    """Return the bytes of a regular file (InvalidInput `code`, NotFound PATH_NOT_FOUND)."""
    try:
        with files.open_plain(path) as file:
            data = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise errors.NotFound(f"there is no file {str(path)!r}", code="PATH_NOT_FOUND") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise errors.InvalidInput(f"{path.name} cannot be read: {reason}", code=code) from error
    if len(data) > MAX_BYTES:
        raise errors.InvalidInput(f"{path.name} has more than {MAX_BYTES} bytes", code=code)
    return data
