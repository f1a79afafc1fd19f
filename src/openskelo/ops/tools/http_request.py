"""`http-request`: one HTTP request, sent by `builtin:http-request`."""

from __future__ import annotations

from openskelo import errors
from openskelo.handlers import secrets
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import tools


async def _call(ctx: tools.ToolContext) -> Json:
    from openskelo.handlers.builtin import http_request  # noqa: PLC0415 -- imported when it is used

    tool = ctx.registered
    if secrets.referenced_in(tool.config) and "url" not in tool.config and tool.args == TOOL.args:
        raise errors.Denied(
            f"{tool.name!r} sends a secret along, and a plan may send it anywhere",
            hint="fix `url` under its `config`, or narrow it by a `pattern` under its `args`",
        )
    # A plan's arguments go in as inputs, not as config: they hold no expressions and name no secrets.
    inputs: JsonObject = {**ctx.some("url", "body", "json"), "headers": ctx.plan_args.get("headers") or {}}
    config: dict[str, Json] = {f"{name}_from": name for name in inputs}
    config |= ctx.some("method", "timeout_ms", "max_bytes")
    config["headers"] = tool.config.get("headers") or {}  # as written: the handler resolves and masks its secrets
    config["follow_redirects"] = tool.args == TOOL.args  # a project that limits the address limits redirects, too
    return await http_request.run(ctx.handler_context(inputs, config), ctx.project)


#: More of the reference, after the table of its keys.
_DOC = """\
An `http-request` whose `config` names a secret is denied, unless the project also fixes `url` there or restricts it by
the tool's own `args`. With its own `args` the tool follows no redirects.
"""

TOOL = tools.Tool(
    name="http-request",
    summary="`status`, `ok`, `body`, `headers`",
    args=tools.args_schema(
        {
            "url": tools.TEXT,
            "method": {"enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]},
            "headers": {"type": "object", "additionalProperties": {"type": "string"}},
            "body": tools.ANY_TEXT,
            "json": {},
            "timeout_ms": tools.COUNT,
            "max_bytes": tools.COUNT,
        },
        required=["url"],
    ),
    call=_call,
    network=True,
    doc=_DOC,
)
