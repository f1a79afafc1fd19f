"""`builtin:write-file`: writes one input to a file, atomically.

After a crash the retry of a visit recognises the file that the visit wrote before (`_Marker`), so a file is never
reported as "already exists" by the block that wrote it.

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
from openskelo.handlers import builtin, context, file_access, file_path
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen


@frozen
class _Target:
    """A path to write."""

    path: Path
    #: Opens a descriptor of the folder that holds it, or will hold it.
    open_folder: Callable[[], AbstractContextManager[int]]


async def run(ctx: context.Context, access: file_access.Access) -> JsonObject:
    """Write `content_from` to the path; a retry that finds the file of the same visit returns the same outputs."""
    builtin.check_config(HANDLER, ctx.config)
    data = _content(ctx)
    target = _target(ctx, access)
    overwrite = ctx.config.get("overwrite", False) is True
    try:
        with target.open_folder() as folder:
            if overwrite:
                _replace(target.path.name, folder, data, ctx)
            else:
                _create(target.path, folder, data, _Marker.of(ctx, access, target.path, data))
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
    """Return the bytes to write: a string as it is, other JSON indented (AttemptFailed DET_CONTENT_MISSING).

    Null, the empty string and an absent input are no content.
    """
    port = builtin.text(ctx.config, "content_from") or ""
    value: Json = ctx.inputs.get(port)
    if value is None or value == "":
        raise errors.AttemptFailed(
            f"the input {port!r} has no content to write", code="DET_CONTENT_MISSING", retryable=False
        )
    if isinstance(value, str):
        return value.encode()
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def _target(ctx: context.Context, access: file_access.Access) -> _Target:
    """Return where to write. A path from an input must be inside the write roots; the author's may lead anywhere.

    `confined` binds the author's path, too. Raise AttemptFailed DET_PATH_INVALID.
    """
    create = ctx.config.get("mkdir", True) is True
    port = builtin.text(ctx.config, "path_from")
    input_path: Json = ctx.inputs.get(port) if port is not None else None
    if input_path is not None and input_path != "":
        if not isinstance(input_path, str):
            raise file_access.invalid_path(f"the input {port!r} is not a path")
        return _confined_target(input_path, access, create=create)
    template = builtin.text(ctx.config, "default_path_template")
    if template is None:
        raise file_access.invalid_path("there is no path: the input is unset and no `default_path_template` is given")
    pattern = builtin.text(ctx.config, "timestamp_format") or file_path.DEFAULT_TIMESTAMP
    relative_path = file_path.expand(template, ctx, pattern)
    if file_path.is_confined(ctx):
        return _confined_target(relative_path, access, create=create)
    path = Path(os.path.normpath(file_access.absolute_path(relative_path, access)))
    return _Target(path=path, open_folder=lambda: file_access.open_folder(path.parent, create=create))


def _confined_target(path: str, access: file_access.Access, *, create: bool) -> _Target:
    """Return where to write a file whose path must be inside the write roots."""
    real, root = file_access.resolve_writable(path, access)
    return _Target(path=real, open_folder=lambda: file_access.open_folder_beneath(root, real.parent, create=create))


def marker_path(data_dir: Path, idempotency_key: str) -> Path:
    """Return the file in which a visit notes that it is about to create a file; useless once its run has ended."""
    return data_dir / "writes" / f"{hashlib.sha256(idempotency_key.encode()).hexdigest()}.json"


@frozen
class _Marker:
    """A durable note that this visit is about to create one file, written to the data dir before the file appears.

    After a crash it tells the file of this visit from another file with the same bytes.
    """

    path: Path
    body: bytes

    @classmethod
    def of(cls, ctx: context.Context, access: file_access.Access, target: Path, data: bytes) -> _Marker:
        body = orjson.dumps({"path": str(target), "sha256": hashlib.sha256(data).hexdigest()})
        return cls(path=marker_path(access.data_dir, ctx.idempotency_key), body=body)

    def exists(self) -> bool:
        try:
            return files.read_plain(self.path) == self.body
        except FileNotFoundError:
            return False

    def write(self) -> None:
        with file_access.open_folder(self.path.parent, create=True, mode=0o700) as folder:
            _fill(self.path.name, folder, self.body, 0o600)
            os.fsync(folder)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def _create(path: Path, folder: int, data: bytes, marker: _Marker) -> None:
    """Create the file at `path` (AttemptFailed DET_OVERWRITE_BLOCKED); do nothing when this visit has created it."""
    temporary = _temporary(marker.path.stem)
    if file_access.stat_regular(path.name, folder) is not None:
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
    """Replace the content of `name` by `data`; a reader sees either the old bytes or the new ones."""
    before = file_access.stat_regular(name, folder)
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
    """Return the name of the temporary file: one per visit, so that a retry overwrites what a crash left behind."""
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


def _check(block: builtin.BlockCheck) -> None:
    file_path.check(block, "default_path_template", required=True)


#: More of the reference, after the table of its keys.
_DOC = """\
At every moment there is either the old file or the whole new one. A retry, also after a crash, knows its own file
again and does not fail on it.

One of `path_from` and `default_path_template` is needed; relative paths start at the project's root. A template may
hold `{timestamp}` (the recorded start of the visit, the same in every attempt), `{run_id}`, `{block_id}`, `{index}`
(of a foreach) and `{home}` (`~` is no home here).

Outputs: `file_path` (absolute), `bytes_written`, `save_summary`.
Codes: `DET_CONFIG_INVALID`, `DET_CONTENT_MISSING` (null, empty or absent), `DET_PATH_INVALID`, `DET_OVERWRITE_BLOCKED`,
`DET_WRITE_FAILED`.
"""

HANDLER = builtin.Handler(
    name="builtin:write-file",
    summary="Writes one input to a file, atomically.",
    config=builtin.config_schema(
        {
            "content_from": builtin.key("what to write: text as it is, other values as indented JSON", builtin.TEXT),
            "path_from": builtin.key(
                (
                    "where; a path from data stays inside `write_roots` (by default `out/`), follows no "
                    "link out of them, and never reaches the data dir, or a `.git`, `.skelo` or "
                    "`skelo.yaml` at any depth"
                ),
                builtin.TEXT,
            ),
            "default_path_template": builtin.key(
                ("where, when `path_from` is absent or unset; written by the author, so it may lead anywhere"),
                builtin.TEXT,
            ),
            "timestamp_format": builtin.key(
                "of `{timestamp}`: `YYYY MM DD HH mm ss SSS`, in UTC; other letters stay as they are",
                builtin.TEXT,
                default="YYYYMMDD-HHmmss",
            ),
            "mkdir": builtin.key("make missing folders", builtin.FLAG, default=True),
            "overwrite": builtin.key("replace a file that is there", builtin.FLAG, default=False),
            "confined": builtin.key(
                ("the template, too, stays inside `write_roots`; always so in a document that is sent to a server"),
                builtin.FLAG,
                default=False,
            ),
        },
        required=["content_from"],
    ),
    run=run,
    outputs={
        "file_path": {"type": "string"},
        "bytes_written": {"type": "integer"},
        "save_summary": {"type": "string"},
    },
    check=_check,
    uncacheable="a later run would write no file",
    writes_anywhere=True,
    doc=_DOC,
)
