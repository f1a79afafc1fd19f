"""`builtin:step`: a block that does the work of a plan's verify, tool_call, transform or emit.

Its config holds the op and its arguments as a plan writes them, and `refs`: which input port stands for which root of
a ref (`{"var:patch": "patch"}`). Its one output port gets the step's value. An emit with another status than ok has
none: it ends the run. `mode` is that of the plan in which a tool would be called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from openskelo import errors
from openskelo.executors import job, limit, work
from openskelo.executors.ops import step as steps
from openskelo.frozen import replace
from openskelo.handlers import catalog
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import refs


def resolve(node: definition.Node, means: work.Means) -> job.Work:
    """The work of the block (AttemptFailed, never retried, when its config is none)."""
    catalog.check_config("builtin:step", node.config)
    if len(node.outputs) != 1:
        raise errors.AttemptFailed(
            "builtin:step has exactly one output", code="DET_CONFIG_INVALID", hint="name one port", retryable=False
        )
    step = definition.Step(op=cast("definition.Op", node.config["op"]), args=cast("JsonObject", node.config["args"]))
    ports = cast("Mapping[str, str]", node.config.get("refs") or {})
    op = steps.make(node, step, means)
    port = node.outputs[0].name

    mode = cast("definition.PlanMode", node.config.get("mode") or "normal")

    async def perform(one: job.Job) -> object:
        inner = replace(one, task=replace(one.task, plan_mode=mode), inputs=_given(step, ports, one.inputs))
        value = await limit.within(node.timeout_ms, op(inner), one.spent.idle)
        if step.op == "emit":
            _end(node.key, value)
        return {port: value}

    return perform


def _given(step: definition.Step, ports: Mapping[str, str], inputs: Mapping[str, Json]) -> dict[str, Json]:
    """The step's arguments with the values of the block's inputs in them (AttemptFailed REF_UNSET)."""

    def value_of(ref: refs.Ref) -> Json:
        try:
            return refs.follow(inputs, (ports.get(ref.root, ref.name), *ref.path))
        except refs.Unset:
            if step.op == "emit":
                return None
            message = f"{ref} is read, and no input stands for it"
            raise errors.AttemptFailed(message, code="REF_UNSET", retryable=False) from None

    return dict(refs.replace(step.op, step.args, value_of))


def _end(key: str, emitted: Json) -> None:
    """Nothing when all is well; else the failure that ends the run as the emit says."""
    status = emitted["status"] if isinstance(emitted, Mapping) else "ok"
    message = f"{key} ends the run as {status}"
    if status == "denied":
        raise errors.Denied(message, code="EMITTED")
    if status == "escalated":
        raise errors.Escalated(message)
    if status != "ok":
        raise errors.AttemptFailed(message, code="EMITTED", retryable=False)
