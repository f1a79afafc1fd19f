"""The work of a plan's step: its op (`openskelo.ops`) performs it, and the op's one value becomes the step's outputs.

The inputs of the attempt are the step's arguments with a value in the place of every ref.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from openskelo import errors, ops
from openskelo.executors import api
from openskelo.executors.attempt import running_attempt
from openskelo.executors.ops import step_context
from openskelo.kernel import definition
from openskelo.kernel.flows import plan
from openskelo.kernel.json import Json
from openskelo.programs import time_limit

#: Performs a step in one attempt, and returns its value (AttemptFailed; Denied if it is not allowed).
StepWork: TypeAlias = Callable[[running_attempt.RunningAttempt], Awaitable[Json]]


def prepare(node: definition.Node, step: definition.Step, services: api.Services) -> api.Work:
    """Return the work of a plan's step, within its time limit; raise AttemptFailed as `prepare_value` does."""
    work = prepare_value(node, step, services)

    async def perform(attempt: running_attempt.RunningAttempt) -> object:
        value = await time_limit.within(node.timeout_ms, work(attempt), attempt.usage.idle)
        if isinstance(value, Mapping) and isinstance(ok := value.get("ok"), bool):
            attempt.holds = ok  # a verdict, of a verify or of any other step
        return plan.outputs(step, value)

    return perform


def prepare_value(node: definition.Node, step: definition.Step, services: api.Services) -> StepWork:
    """Return the function that performs the op of a step; raise AttemptFailed, not retryable, for an unknown op.

    OP_UNKNOWN (the run was started by another version), NOT_PERFORMED (a person answers).
    """
    op = ops.OPS.get(step.op)
    if op is None:
        raise errors.AttemptFailed(f"there is no op {step.op!r}", code="OP_UNKNOWN", retryable=False)
    perform = op.perform
    if perform is None:
        message = "a question is answered by a person, not performed"
        raise errors.AttemptFailed(message, code="NOT_PERFORMED", retryable=False)

    async def work(attempt: running_attempt.RunningAttempt) -> Json:
        ctx = step_context.AttemptStepContext(node=node, step=step, services=services, attempt=attempt)
        return await perform(ctx)

    return work
