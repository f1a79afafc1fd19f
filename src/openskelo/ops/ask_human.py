"""`ask_human`: asks a person. No executor performs it: the run waits until the approval is answered."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import ops
from openskelo.kernel.json import JsonObject

_REQUEST: JsonObject = {
    "type": "object",
    "properties": {"kind": ops.TEXT, "message": ops.TEXT, "details": {}},
    "required": ["message"],
    "additionalProperties": False,
}
_TIMEOUT: JsonObject = {"type": "integer", "minimum": 1, "maximum": 366 * 86_400_000}


def _words(ctx: ops.ExplainContext) -> str:
    request = ctx.arg("request")
    return f'"{request.get("message") if isinstance(request, Mapping) else request}"'


#: More of the reference, after the table of its keys.
_DOC = """\
If an `ask_human` has a `save_as` and no `answer`, the person must give the text. A `request` has `message`
(required), `kind` and `details`. The person sees the details under the message: their beginning at the terminal, all
of them with `--json` and in the dashboard.
"""

OP = ops.Op(
    name="ask_human",
    summary="asks a person, waits durably, and saves the answer",
    args={
        "request": ops.value_arg(
            "the question: `message`, a `kind` for programs, and `details`, with refs at any depth",
            _REQUEST,
            required=True,
        ),
        "answer": ops.free_arg(
            "the answer's form, as of an approval: names with types, or a JSON Schema; by default one text `answer`",
            {"type": "object"},
        ),
        "resume": ops.step_arg(
            "where the run continues; by default the next step, or the end if there is no next step"
        ),
        "timeout_ms": ops.plain_arg("how long it waits; by default for ever", _TIMEOUT),
        "approvers": ops.plain_arg(
            "who may answer; by default anyone", {"type": "array", "items": ops.TEXT, "minItems": 1}
        ),
    },
    perform=None,
    words=_words,
    mark="?",
    free_paths=frozenset({("request", "kind"), ("request", "message"), ("answer",)}),
    node_mode="approval",
    controls_flow=True,
    doc=_DOC,
)
