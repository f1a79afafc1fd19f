"""`builtin:write-file`: puts one input into a file, atomically, and knows its own file again after a crash.

Codes: DET_CONFIG_INVALID, DET_CONTENT_MISSING, DET_PATH_INVALID, DET_OVERWRITE_BLOCKED, DET_WRITE_FAILED.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import orjson

from openskelo import errors, files
from openskelo.frozen import frozen
from openskelo.handlers import catalog, context, path_template, place
from openskelo.kernel.json import Json, JsonObject


@frozen
class _Target:
    """Where to write: `open_folder` gives the descriptor of the folder that holds (or will hold) `path`."""

    path: Path
    open_folder: Callable[[], AbstractContextManager[int]]


async def write_file(ctx: context.Context, where: place.Place) -> JsonObject:
    """Write `content_from` to the path; a retry of the same visit that finds its own file done says so again."""
    catalog.check_config("builtin:write-file", ctx.config)
    data = _content(ctx)
    target = _target(ctx, where)
    overwrite = ctx.config.get("overwrite", False) is True
    try:
        with target.open_folder() as folder:
            if overwrite:
                _replace(target.path.name, folder, data, ctx)
            else:
                _create(target.path, folder, data, _Marker.of(ctx, where, target.path, data))
    except OSError as error:
        raise errors.AttemptFailed(
            f"cannot write {str(target.path)!r}: {error.strerror or error.__class__.__name__}", code="DET_WRITE_FAILED"
        ) from error
    return {
        "file_path": str(target.path),
        "bytes_written": len(data),
        "save_summary": f"Saved {len(data)} bytes to {target.path}",
    }


def _content(ctx: context.Context) -> bytes:
    """Strings as they are, other JSON indented; null, empty and absent are no content."""
    port = catalog.text(ctx.config, "content_from") or ""
    value: Json = ctx.inputs.get(port)
    if value is None or value == "":
        raise errors.AttemptFailed(
            f"the input {port!r} has no content to write", code="DET_CONTENT_MISSING", retryable=False
        )
    if isinstance(value, str):
        return value.encode()
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def _target(ctx: context.Context, where: place.Place) -> _Target:
    """From data: confined to the write roots. From the author's template: anywhere."""
    create = ctx.config.get("mkdir", True) is True
    port = catalog.text(ctx.config, "path_from")
    named: Json = ctx.inputs.get(port) if port is not None else None
    if named is not None and named != "":
        if not isinstance(named, str):
            raise place.invalid(f"the input {port!r} is not a path")
        real, root = place.confined(named, place.writable_roots(where), where)
        return _Target(path=real, open_folder=lambda: place.folder_beneath(root, real.parent, create=create))
    template = catalog.text(ctx.config, "default_path_template")
    if template is None:
        raise place.invalid("there is no path: the input is unset and no `default_path_template` is given")
    pattern = catalog.text(ctx.config, "timestamp_format") or path_template.DEFAULT_TIMESTAMP
    path = Path(os.path.normpath(place.absolute(path_template.expand(template, ctx, pattern), where)))
    return _Target(path=path, open_folder=lambda: place.folder_at(path.parent, create=create))


def marker_path(data_dir: Path, idempotency_key: str) -> Path:
    """Where a visit keeps its intention to create a file; of no use to anybody once its run has ended."""
    return data_dir / "writes" / f"{hashlib.sha256(idempotency_key.encode()).hexdigest()}.json"


@frozen
class _Marker:
    """This visit's durable intention to create one file, kept in the data dir from before the file appears.

    After a crash it is what tells our own finished file from somebody else's file with the same bytes.
    """

    path: Path
    body: bytes

    @classmethod
    def of(cls, ctx: context.Context, where: place.Place, target: Path, data: bytes) -> _Marker:
        body = orjson.dumps({"path": str(target), "sha256": hashlib.sha256(data).hexdigest()})
        return cls(path=marker_path(where.data_dir, ctx.idempotency_key), body=body)

    def exists(self) -> bool:
        try:
            return files.read_plain(self.path) == self.body
        except FileNotFoundError:
            return False

    def write(self) -> None:
        with place.folder_at(self.path.parent, create=True, mode=0o700) as folder:
            _fill(self.path.name, folder, self.body, 0o600)
            os.fsync(folder)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def _create(path: Path, folder: int, data: bytes, marker: _Marker) -> None:
    """A new file at `path`, or nothing; done already when this visit made it before a crash."""
    temporary = _temporary(marker.path.stem)
    if place.regular(path.name, folder) is not None:
        if marker.exists() and _read(path.name, folder) == data:
            _discard(temporary, folder)
            return
        raise _blocked(path)
    _fill(temporary, folder, data, 0o666)
    try:
        marker.write()
        os.link(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        marker.remove()
        raise _blocked(path) from None
    finally:
        _discard(temporary, folder)
    os.fsync(folder)


def _replace(name: str, folder: int, data: bytes, ctx: context.Context) -> None:
    """`name` holds exactly `data` afterwards, and at every moment either the old bytes or the new ones."""
    before = place.regular(name, folder)
    temporary = _temporary(hashlib.sha256(ctx.idempotency_key.encode()).hexdigest())
    try:
        _fill(temporary, folder, data, 0o666)
        if before is not None:
            os.chmod(temporary, before.st_mode & 0o777, dir_fd=folder)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        _discard(temporary, folder)
        raise
    os.fsync(folder)


def _temporary(key: str) -> str:
    """One name per visit, so that a retry takes over what a crash left behind."""
    return f".skelo-{key[:32]}.tmp"


def _fill(name: str, folder: int, data: bytes, mode: int) -> None:
    descriptor = os.open(
        name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode, dir_fd=folder
    )
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(name: str, folder: int) -> bytes:
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def _discard(name: str, folder: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _blocked(path: Path) -> errors.AttemptFailed:
    return errors.AttemptFailed(
        f"{str(path)!r} already exists",
        code="DET_OVERWRITE_BLOCKED",
        hint="set `overwrite: true`, or choose a path with {timestamp} or {run_id}",
        retryable=False,
    )
