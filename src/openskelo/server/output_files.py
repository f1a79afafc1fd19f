"""The files that a run's outputs name, such as files written by `builtin:write-file`.

An output is a text, and a model may have chosen it. So a text counts as a file only inside the folders that data may
write to, where neither code nor settings nor runs are, and a client gets no file that the outputs do not name.
"""

from __future__ import annotations

import mimetypes
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from fastapi import Response

from openskelo import errors
from openskelo.handlers import file_access
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project
from openskelo.structs import frozen

#: A longer text is not taken for a path.
_MAX_PATH_CHARACTERS = 500
#: Only this many texts of the outputs are looked at.
_MAX_TEXTS = 1000
_MAX_FILES = 100
#: A larger file is refused: it would be held in memory.
MAX_BYTES = 64 * 1024 * 1024
#: What a browser may show by itself; all else is a download.
_INLINE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "text/plain"})


@frozen
class OutputFile:
    """A file as an output names it, its real path, and the write root that holds it."""

    named: str
    path: Path
    root: Path
    size: int

    @property
    def media_type(self) -> str:
        """The type by the file's name; `application/octet-stream` if it is not known."""
        return mimetypes.guess_type(self.path.name)[0] or "application/octet-stream"

    def document(self) -> JsonObject:
        """Return the file as JSON."""
        return {"path": self.named, "name": self.path.name, "size": self.size, "mediaType": self.media_type}


def find(project: Project, outputs: JsonObject) -> list[OutputFile]:
    """Return the files that the outputs name and that exist, each once, in the order of the outputs."""
    files: dict[str, OutputFile] = {}
    for number, text in enumerate(_texts(outputs)):
        if number >= _MAX_TEXTS or len(files) >= _MAX_FILES:
            break
        file = None if text in files else _file(project, text)
        if file is not None:
            files[text] = file
    return list(files.values())


def respond(project: Project, outputs: JsonObject, named: str) -> Response:
    """Return the bytes of a file; raise NotFound if the outputs do not name it, or if it is gone."""
    file = _file(project, named) if named in _texts(outputs) else None
    if file is None:
        raise errors.NotFound(f"the outputs name no file {named[:200]!r}", code="FILE_NOT_FOUND")
    media_type = file.media_type
    is_text = media_type.startswith("text/") or media_type == "application/json"
    disposition = "inline" if is_text or media_type in _INLINE_TYPES else "attachment"
    headers = {
        "content-disposition": f"{disposition}; filename*=UTF-8''{quote(file.path.name, safe='')}",
        "cache-control": "private, no-store",
        "content-security-policy": "sandbox; default-src 'none'",
    }
    return Response(_read(file), headers=headers, media_type="text/plain; charset=utf-8" if is_text else media_type)


def _texts(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for part in value.values():
                yield from _texts(part)
        case Sequence():
            for part in value:
                yield from _texts(part)
        case _:
            return


def _file(project: Project, text: str) -> OutputFile | None:
    if not 0 < len(text) <= _MAX_PATH_CHARACTERS or "\n" in text:
        return None
    try:
        path, root = file_access.resolve_writable(text, project)
        status = path.stat()
    except (errors.AttemptFailed, OSError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return OutputFile(named=text, path=path, root=root, size=status.st_size)


def _read(file: OutputFile) -> bytes:
    """Return the bytes, reached from the root without following links: a folder may be replaced meanwhile."""
    if file.size > MAX_BYTES:
        raise errors.NotFound(f"{file.named} is larger than {MAX_BYTES} bytes", code="FILE_TOO_LARGE")
    try:
        with file_access.open_folder_beneath(file.root, file.path.parent, create=False) as folder:
            descriptor = os.open(file.path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            with os.fdopen(descriptor, "rb") as stream:
                return stream.read(MAX_BYTES)
    except (OSError, errors.AttemptFailed) as error:
        raise errors.NotFound(f"{file.named} cannot be read", code="FILE_NOT_FOUND") from error
