"""`read-file`: the content of one file, read by `builtin:read-file`."""

from __future__ import annotations

from openskelo.kernel.json import Json
from openskelo.ops import tools


async def _call(ctx: tools.ToolContext) -> Json:
    from openskelo.handlers.builtin import read_file  # noqa: PLC0415 -- imported when it is used

    config = {"path_from": "path", **ctx.some("encoding", "max_bytes")}
    return await read_file.run(ctx.handler_context(ctx.some("path"), config), ctx.project)


TOOL = tools.Tool(
    name="read-file",
    summary="`content`, `file_path`, `bytes`; only files that the project may read",
    args=tools.args_schema(
        {
            "path": tools.TEXT,
            "encoding": {"enum": ["utf-8", "ascii", "latin-1", "base64"]},
            "max_bytes": tools.COUNT,
        },
        required=["path"],
    ),
    call=_call,
    effect="pure",
)
