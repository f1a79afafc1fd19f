"""`builtin:step`: a block that does the work of a plan's verify, tool_call, transform or emit.

Its config holds the op and its arguments as a plan writes them, and `refs`: which input port stands for which root of
a ref (`{"var:patch": "patch"}`). Its one output port gets the step's value. An emit with another status than ok has
none: it ends the run; with `optional` its refs without a value are null. `mode` is that of the plan in which a tool
would be called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from openskelo import errors
from openskelo.executors import api
from openskelo.executors.attempt import running_attempt
from openskelo.executors.ops import plan_step
from openskelo.handlers import builtin
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import emit
from openskelo.programs import time_limit
from openskelo.structs import replace
from openskelo.values import plan_refs


def resolve(node: definition.Node, services: api.Services) -> api.Work:
    """Return the work of the block; raise AttemptFailed, not retryable, if its config is invalid."""
    builtin.check_config(builtin.HANDLERS["builtin:step"], node.config)
    if len(node.outputs) != 1:
        raise errors.AttemptFailed(
            "builtin:step has exactly one output", code="DET_CONFIG_INVALID", hint="name one port", retryable=False
        )
    step = definition.Step(op=cast("definition.Op", node.config["op"]), args=cast("JsonObject", node.config["args"]))
    op = plan_step.prepare_value(node, step, services)
    port = node.outputs[0].name

    mode = cast("definition.PlanMode", node.config.get("mode") or "normal")

    async def perform(attempt: running_attempt.RunningAttempt) -> object:
        inner = replace(
            attempt, request=replace(attempt.request, plan_mode=mode), inputs=_arguments(node, step, attempt.inputs)
        )
        value = await time_limit.within(node.timeout_ms, op(inner), attempt.usage.idle)
        if step.op == "emit":
            _raise_ending(node.key, value)
        return {port: value}

    return perform


def _arguments(node: definition.Node, step: definition.Step, inputs: Mapping[str, Json]) -> dict[str, Json]:
    """Return the step's arguments with the values of the block's inputs (AttemptFailed REF_UNSET)."""
    ports = cast("Mapping[str, str]", node.config.get("refs") or {})
    status = "failed" if node.config.get("optional") else str(step.args.get("status") or "ok")

    def replaced(name: str, value: Json) -> JsonObject:
        def value_of(ref: plan_refs.Ref) -> Json:
            try:
                return plan_refs.follow(inputs, (ports.get(ref.root, ref.name), *ref.path))
            except plan_refs.Unset:
                if step.op == "emit" and emit.may_be_null(status, name):
                    return None
                message = f"{ref} is read, and no input stands for it"
                raise errors.AttemptFailed(message, code="REF_UNSET", retryable=False) from None

        return plan_refs.replace(step.op, {name: value}, value_of)

    args: dict[str, Json] = {}
    for name, value in step.args.items():
        args |= replaced(name, value)
    return args


def _raise_ending(key: str, emitted: Json) -> None:
    """Raise the failure that ends the run as the emit says, unless its status is ok."""
    status = emitted["status"] if isinstance(emitted, Mapping) else "ok"
    message = f"{key} ends the run as {status}"
    if status == "denied":
        raise errors.Denied(message, code="EMITTED")
    if status == "escalated":
        raise errors.Escalated(message)
    if status != "ok":
        raise errors.AttemptFailed(message, code="EMITTED", retryable=False)
