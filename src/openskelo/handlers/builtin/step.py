"""`builtin:step`: a block that does the work of a plan's `verify`, `tool_call`, `transform` or `emit`.

It has no function of its own: `executors/ops/block_handler.py` performs the op that its config names.
"""

from __future__ import annotations

from openskelo.handlers import builtin
from openskelo.kernel.json import JsonObject

_EMIT_ARGUMENTS: JsonObject = {"properties": {"status": {"enum": ["ok", "failed", "denied", "escalated"]}}}

HANDLER = builtin.Handler(
    name="builtin:step",
    summary="Performs the op of a plan's step.",
    config=builtin.config_schema(
        {
            "op": {"enum": ["verify", "tool_call", "transform", "emit"]},
            "args": {"type": "object"},
            "refs": builtin.TEXTS,
            "optional": {"type": "boolean"},
            "mode": {"enum": ["normal", "degraded", "offline"]},
        },
        required=["op", "args"],
        **{"if": {"properties": {"op": {"const": "emit"}}}, "then": {"properties": {"args": _EMIT_ARGUMENTS}}},
    ),
    run=None,
)
