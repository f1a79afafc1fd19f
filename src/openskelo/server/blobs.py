"""The bytes of artifacts: served to clients, and removed after their runs were deleted.

Bytes come from a file of the data dir or from the store, whole or as a range. Nothing that a client sends becomes part
of a path: an artifact is found by its id, its bytes by their hash, and a file is opened only if its real path is in the
folder of blobs. The range is our own because the file response of Starlette follows a link that takes the place of the
file after the check, answers up to 100 ranges at once, and has no answer for bytes that are in the store.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from urllib.parse import quote

from fastapi import Response
from fastapi.responses import StreamingResponse

from openskelo import clock, errors
from openskelo.history import prune
from openskelo.kernel.json import JsonObject
from openskelo.server import problems
from openskelo.stores import api, blobs
from openskelo.structs import frozen

_CHUNK_BYTES = 256 * 1024
_RANGE = re.compile(r"bytes=(\d*)-(\d*)\Z")
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*(; ?charset=[a-z0-9_-]+)?\Z")
#: Types that a browser may show in place, because it executes nothing in them.
_INLINE_TYPES = frozenset({"text/plain", "application/json", "image/png", "image/jpeg", "image/gif", "image/webp"})


@frozen
class Span:
    """The range of bytes in a response."""

    #: The first byte.
    start: int
    #: The byte after the last one.
    end: int
    #: The client asked for a range.
    partial: bool


class ArtifactContents:
    """Responds with the bytes of artifacts, after checking them against their hash."""

    def __init__(self, store: api.BlobReader, data_dir: Path) -> None:
        self._store = store
        self._folder = (data_dir / "blobs").resolve()
        self._checked: dict[str, tuple[int, int, int]] = {}  # files whose hash was checked, by version

    async def respond(self, artifact: JsonObject, range_header: str | None) -> Response:
        """Return the artifact's bytes, or a range of them.

        Raise NotFound if the bytes are gone, Corrupt if they do not match their hash, and a 416 for a bad range.
        """
        name = str(artifact["hash"])
        path = await asyncio.to_thread(self._find_file, name)
        data = b"" if path is not None else await self._store.read_blob(name)
        size = len(data) if path is None else path.stat().st_size
        span = _parse_range(range_header, size)
        headers = _headers(artifact, span, size)
        status = 206 if span.partial else 200
        media_type = headers.pop("content-type")
        if path is None:
            return Response(data[span.start : span.end], status, headers=headers, media_type=media_type)
        return StreamingResponse(_read_chunks(path, span), status, headers=headers, media_type=media_type)

    def _find_file(self, name: str) -> Path | None:
        """Return the file with the value; None if the value is in the store. Raise Corrupt if its bytes are wrong."""
        digest = blobs.digest_of(name)
        path = self._folder / digest[:2] / digest
        try:
            real = path.resolve(strict=True)
            status = real.stat()
        except FileNotFoundError:
            return None
        if not real.is_relative_to(self._folder) or not real.is_file():
            raise errors.Corrupt(f"the file of {name} is outside the data dir")
        version = (status.st_ino, status.st_mtime_ns, status.st_size)
        if self._checked.get(name) != version:
            with real.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                    raise errors.Corrupt(f"the bytes of {name} do not match their hash")
            if len(self._checked) > 10_000:
                self._checked.clear()
            self._checked[name] = version
        return real


def _parse_range(range_header: str | None, size: int) -> Span:
    """Return the range in a Range header; all bytes if it is not understood, as RFC 9110 says."""
    whole = Span(start=0, end=size, partial=False)
    match = None if range_header is None else _RANGE.match(range_header.strip())
    if match is None:
        return whole
    first, last = match[1], match[2]
    if len(first) > 18 or len(last) > 18 or not (first or last):
        return whole
    if first:
        start = int(first)
        end = min(size, int(last) + 1) if last else size
    else:
        start, end = max(0, size - int(last)), size
    if first and last and int(last) < start:
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
    media_type = str(artifact["mediaType"]).lower()
    if not _MEDIA_TYPE.match(media_type):
        media_type = "application/octet-stream"
    bare_type = media_type.partition(";")[0].strip()
    if bare_type == "text/plain" and "charset" not in media_type:
        media_type = "text/plain; charset=utf-8"
    disposition = "inline" if bare_type in _INLINE_TYPES else "attachment"
    file_name = quote(_file_name(str(artifact["name"])), safe="")
    headers = {
        "content-type": media_type,
        "content-length": str(span.end - span.start),
        "content-disposition": f"{disposition}; filename*=UTF-8''{file_name}",
        "accept-ranges": "bytes",
        "etag": f'"{str(artifact["hash"]).removeprefix("sha256:")}"',
        "cache-control": "private, max-age=31536000, immutable",
        "content-security-policy": "sandbox; default-src 'none'",
    }
    if span.partial:
        headers["content-range"] = f"bytes {span.start}-{span.end - 1}/{size}"
    return headers


def _file_name(name: str) -> str:
    """Return the last part of an artifact's name, so that a browser saves nothing in another folder."""
    return name.replace("\\", "/").rpartition("/")[2][:200] or "artifact"


async def _read_chunks(path: Path, span: Span) -> AsyncIterator[bytes]:
    descriptor = await asyncio.to_thread(os.open, path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        offset = span.start
        while offset < span.end:
            chunk = await asyncio.to_thread(os.pread, descriptor, min(_CHUNK_BYTES, span.end - offset), offset)
            if not chunk:
                return
            offset += len(chunk)
            yield chunk
    finally:
        os.close(descriptor)


# -- the blobs of deleted runs ----------------------------------------------------------------------------------------

#: The sweeper waits this long for more runs to be deleted.
GATHER_SECONDS = 1.0
#: The pause after an error of the store.
RETRY_SECONDS = 30.0
_PREFIX = "sweep:"
_LOG = logging.getLogger("openskelo.server.blobs")


class Sweeper:
    """Deletes runs and, in the background, the blobs that they leave behind. Belongs to one event loop.

    A sweep reads the whole log, so one sweep serves all runs that were deleted within a second. Which runs still need
    one is stored, so that the next server goes on after a crash.
    """

    def __init__(self, store: api.Store) -> None:
        self._store = store
        self._wake = asyncio.Event()

    async def delete_run(self, run_id: str, data_dir: Path) -> None:
        """Delete a run that has ended, with its record (NotFound, Refused, Busy)."""
        await prune.delete_run(self._store, run_id, data_dir)
        await self.schedule(run_id)

    async def schedule(self, run_id: str) -> None:
        """Store that a run was deleted and its blobs need a sweep."""
        await self._store.save_note(f"{_PREFIX}{run_id}", {}, at=clock.wall_ms())
        self._wake.set()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Sweep while this is open; the next server does what is left."""
        self._wake.set()
        task = asyncio.create_task(self._run(), name="sweeper")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._wake.clear()
            try:
                await self._sweep_scheduled()
            except errors.StoreError as error:
                _LOG.warning("blobs of deleted runs are removed later: %s %s", error.code, error.message)
                self._wake.set()
                await asyncio.sleep(RETRY_SECONDS)

    async def _sweep_scheduled(self) -> None:
        notes = await self._store.list_notes(_PREFIX)
        if notes:
            await self._store.sweep_blobs(forget=[key.removeprefix(_PREFIX) for key in notes])
        for key in notes:
            await self._store.delete_notes(key, before=2**53)
