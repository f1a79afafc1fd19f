"""`builtin:read-file`: the content of one file, within a size limit.

Codes: DET_CONFIG_INVALID, DET_PATH_INVALID, DET_READ_FAILED, DET_TOO_LARGE, DET_DECODE_FAILED.
"""

from __future__ import annotations

import base64

from openskelo import errors
from openskelo.handlers import builtin, context, file_access, file_path
from openskelo.kernel.json import JsonObject

_MAX_BYTES = 4 * 1024 * 1024


async def run(ctx: context.Context, access: file_access.Access) -> JsonObject:
    """Return the content of `path_from` (inside the read roots) or, when that is unset, of the author's `path`."""
    builtin.check_config(HANDLER, ctx.config)
    path, data = file_path.read_bytes(ctx, access, builtin.number(ctx.config, "max_bytes", _MAX_BYTES))
    content = _decode(data, builtin.text(ctx.config, "encoding") or "utf-8")
    return {"content": content, "file_path": str(path), "bytes": len(data)}


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


def _check(block: builtin.BlockCheck) -> None:
    file_path.check(block, "path")


#: More of the reference, after the table of its keys.
_DOC = """\
It must be a regular file.

One of `path` and `path_from` is needed. Outputs: `content`, `file_path`, `bytes`.
Codes: `DET_CONFIG_INVALID`, `DET_PATH_INVALID`, `DET_READ_FAILED`, `DET_TOO_LARGE`, `DET_DECODE_FAILED`.
"""

HANDLER = builtin.Handler(
    name="builtin:read-file",
    summary="Reads one file, within a size limit.",
    config=builtin.config_schema(
        {
            "path": builtin.key(
                "which file; written by the author, with the fields of the template of `builtin:write-file`",
                builtin.TEXT,
            ),
            "path_from": builtin.key(
                "which file; a path from data stays inside the project, `read_roots` and `write_roots`", builtin.TEXT
            ),
            "encoding": builtin.key(
                "how bytes become text", {"enum": ["utf-8", "ascii", "latin-1", "base64"]}, default="utf-8"
            ),
            "max_bytes": builtin.key("the largest file", builtin.COUNT, default=_MAX_BYTES),
            "confined": builtin.key(
                (
                    "`path`, too, stays inside the project, `read_roots` and `write_roots`; always so in "
                    "a document that is sent to a server"
                ),
                builtin.FLAG,
                default=False,
            ),
        },
        anyOf=[{"required": ["path"]}, {"required": ["path_from"]}],
    ),
    run=run,
    outputs={"content": {"type": "string"}, "file_path": {"type": "string"}, "bytes": {"type": "integer"}},
    effect="pure",
    check=_check,
    uncacheable="a later run would not see what is in the file by then",
    doc=_DOC,
)
