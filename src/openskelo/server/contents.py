"""The bytes of artifacts: whole or a range of them, from a file of the data dir or from the log, checked by their hash.

Nothing that a client says becomes part of a path: an artifact is found by its id, its bytes by their hash, and a file
is opened only when its real path lies in the folder of blobs.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

from fastapi import Response
from fastapi.responses import StreamingResponse

from openskelo import errors
from openskelo.frozen import frozen
from openskelo.kernel.json import JsonObject
from openskelo.server import problems
from openskelo.stores import blobs, log

_CHUNK = 256 * 1024
_RANGE = re.compile(r"bytes=(\d*)-(\d*)\Z")
_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*(; ?charset=[a-z0-9_-]+)?\Z")
#: Types that a browser may show in place; it runs nothing of them.
_HARMLESS = frozenset({"text/plain", "application/json", "image/png", "image/jpeg", "image/gif", "image/webp"})


@frozen
class Span:
    """The bytes from `start` up to but not including `end`; `partial` when somebody asked for less than all."""

    start: int
    end: int
    partial: bool


class Contents:
    """Answers with the bytes of artifacts."""

    def __init__(self, store: log.Log, data_dir: Path) -> None:
        self._store = store
        self._folder = (data_dir / "blobs").resolve()
        self._checked: dict[str, tuple[int, int, int]] = {}  # files whose bytes were found to be the right ones

    async def response(self, artifact: JsonObject, wanted: str | None) -> Response:
        """The artifact's bytes, or the range of them that is wanted (NotFound, Corrupt, 416)."""
        name = str(artifact["hash"])
        path = await asyncio.to_thread(self._file, name)
        data = b"" if path is not None else await self._store.blob(name)
        size = len(data) if path is None else path.stat().st_size
        span = _span(wanted, size)
        headers = _headers(artifact, span, size)
        status = 206 if span.partial else 200
        kind = headers.pop("content-type")
        if path is None:
            return Response(data[span.start : span.end], status, headers=headers, media_type=kind)
        return StreamingResponse(_stream(path, span), status, headers=headers, media_type=kind)

    def _file(self, name: str) -> Path | None:
        """The file of a large value, if it is one and its bytes are those that were kept (Corrupt)."""
        digest = blobs.digest_of(name)
        path = self._folder / digest[:2] / digest
        try:
            real = path.resolve(strict=True)
            found = real.stat()
        except FileNotFoundError:
            return None
        if not real.is_relative_to(self._folder) or not real.is_file():
            raise errors.Corrupt(f"the file of {name} lies outside of the data dir")
        stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
        if self._checked.get(name) != stamp:
            with real.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                    raise errors.Corrupt(f"the bytes kept as {name} are not the ones that were written")
            if len(self._checked) > 10_000:
                self._checked.clear()
            self._checked[name] = stamp
        return real


def _span(wanted: str | None, size: int) -> Span:
    """The range that a Range header names; one that is not understood counts as none, as RFC 9110 says."""
    whole = Span(start=0, end=size, partial=False)
    found = None if wanted is None else _RANGE.match(wanted.strip())
    if found is None or len(found[1]) > 18 or len(found[2]) > 18 or not (found[1] or found[2]):
        return whole
    if found[1]:
        start = int(found[1])
        end = min(size, int(found[2]) + 1) if found[2] else size
    else:
        start, end = max(0, size - int(found[2])), size
    if found[1] and found[2] and int(found[2]) < start:
        return whole
    if start >= size or start >= end:
        raise problems.Problem(
            416,
            "RANGE_INVALID",
            f"the content has {size} bytes",
            headers={"content-range": f"bytes */{size}"},
        )
    return Span(start=start, end=end, partial=True)


def _headers(artifact: JsonObject, span: Span, size: int) -> dict[str, str]:
    kind = str(artifact["mediaType"]).lower()
    if not _TYPE.match(kind):
        kind = "application/octet-stream"
    plain = kind.partition(";")[0].strip()
    if plain == "text/plain" and "charset" not in kind:
        kind = "text/plain; charset=utf-8"
    shown = "inline" if plain in _HARMLESS else "attachment"
    headers = {
        "content-type": kind,
        "content-length": str(span.end - span.start),
        "content-disposition": f"{shown}; filename*=UTF-8''{quote(_file_name(str(artifact['name'])), safe='')}",
        "accept-ranges": "bytes",
        "etag": f'"{str(artifact["hash"]).removeprefix("sha256:")}"',
        "cache-control": "private, max-age=31536000, immutable",
        "content-security-policy": "sandbox; default-src 'none'",
    }
    if span.partial:
        headers["content-range"] = f"bytes {span.start}-{span.end - 1}/{size}"
    return headers


def _file_name(name: str) -> str:
    """The last part of an artifact's name, so that nothing is saved in another folder."""
    return name.replace("\\", "/").rpartition("/")[2][:200] or "artifact"


async def _stream(path: Path, span: Span) -> AsyncIterator[bytes]:
    descriptor = await asyncio.to_thread(os.open, path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        at = span.start
        while at < span.end:
            part = await asyncio.to_thread(os.pread, descriptor, min(_CHUNK, span.end - at), at)
            if not part:
                return
            at += len(part)
            yield part
    finally:
        os.close(descriptor)
