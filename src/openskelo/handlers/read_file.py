"""`builtin:read-file`: the content of one file, within a size limit.

Codes: DET_CONFIG_INVALID, DET_PATH_INVALID, DET_READ_FAILED, DET_TOO_LARGE, DET_DECODE_FAILED.
"""

from __future__ import annotations

import base64
import os
import stat
from contextlib import AbstractContextManager
from pathlib import Path

from openskelo import errors
from openskelo.handlers import catalog, context, path_template, place
from openskelo.kernel.json import Json, JsonObject

_MAX_BYTES = 4 * 1024 * 1024


async def read_file(ctx: context.Context, where: place.Place) -> JsonObject:
    """Read `path_from` (confined to the read roots) or, when that is unset, the author's `path`."""
    catalog.check_config("builtin:read-file", ctx.config)
    path, folder = _target(ctx, where)
    try:
        with folder as descriptor:
            data = _read(path, descriptor, catalog.number(ctx.config, "max_bytes", _MAX_BYTES))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise errors.AttemptFailed(f"cannot read {str(path)!r}: {reason}", code="DET_READ_FAILED") from error
    content = _decode(data, catalog.text(ctx.config, "encoding") or "utf-8")
    return {"content": content, "file_path": str(path), "bytes": len(data)}


def _target(ctx: context.Context, where: place.Place) -> tuple[Path, AbstractContextManager[int]]:
    port = catalog.text(ctx.config, "path_from")
    named: Json = ctx.inputs.get(port) if port is not None else None
    if named is not None and named != "":
        if not isinstance(named, str):
            raise place.invalid(f"the input {port!r} is not a path")
        real, root = place.confined(named, place.readable_roots(where), where)
        return real, place.folder_beneath(root, real.parent, create=False)
    template = catalog.text(ctx.config, "path")
    if template is None:
        raise place.invalid(f"there is no path: the input {port!r} is unset and no `path` is given")
    path = Path(os.path.realpath(place.absolute(path_template.expand(template, ctx), where)))
    return path, place.folder_at(path.parent, create=False)


def _read(path: Path, folder: int, limit: int) -> bytes:
    # Not blocking: a pipe must be recognised, not waited for.
    descriptor = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise place.invalid(f"{path.name!r} is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(limit + 1) if found.st_size <= limit else b""
    if found.st_size > limit or len(data) > limit:
        raise errors.AttemptFailed(
            f"{str(path)!r} has more than {limit} bytes",
            code="DET_TOO_LARGE",
            hint="raise `max_bytes`",
            retryable=False,
        )
    return data


def _decode(data: bytes, encoding: str) -> str:
    if encoding == "base64":
        return base64.b64encode(data).decode("ascii")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise errors.AttemptFailed(
            f"the file is not {encoding} (at byte {error.start})",
            code="DET_DECODE_FAILED",
            hint="set `encoding` to latin-1, or to base64 for binary files",
            retryable=False,
        ) from error
