"""`write-file`: writes one file by `builtin:write-file`."""

from __future__ import annotations

from openskelo.kernel.json import Json
from openskelo.ops import tools


async def _call(ctx: tools.ToolContext) -> Json:
    from openskelo.handlers.builtin import write_file  # noqa: PLC0415 -- imported when it is used

    config = {"path_from": "path", "content_from": "content", **ctx.some("mkdir", "overwrite")}
    return await write_file.run(ctx.handler_context(ctx.some("path", "content"), config), ctx.project)


TOOL = tools.Tool(
    name="write-file",
    summary="`file_path`, `bytes_written`; only inside the write roots",
    args=tools.args_schema(
        {"path": tools.TEXT, "content": tools.ANY_TEXT, "mkdir": tools.FLAG, "overwrite": tools.FLAG},
        required=["path", "content"],
    ),
    call=_call,
    effect="idempotent",
)
