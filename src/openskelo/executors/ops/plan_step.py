"""The work of a plan's step: its op (`openskelo.ops`) performs it, and the op's one value becomes the step's outputs.

The inputs of the attempt are the step's arguments with a value in the place of every ref.
"""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import errors, ops
from openskelo.executors import api
from openskelo.executors.attempt import running_attempt
from openskelo.executors.ops import step_context
from openskelo.kernel import definition
from openskelo.kernel.flows import plan
from openskelo.programs import time_limit


def prepare(node: definition.Node, step: definition.Step, services: api.Services) -> api.Work:
    """Return the work of a plan's step, within its time limit; raise AttemptFailed, not retryable, if there is none.

    OP_UNKNOWN (the run was started by another version), NOT_PERFORMED (a person answers).
    """
    op = ops.OPS.get(step.op)
    if op is None:
        raise errors.AttemptFailed(f"there is no op {step.op!r}", code="OP_UNKNOWN", retryable=False)
    perform = op.perform
    if perform is None:
        message = "a question is answered by a person, not performed"
        raise errors.AttemptFailed(message, code="NOT_PERFORMED", retryable=False)

    async def work(attempt: running_attempt.RunningAttempt) -> object:
        ctx = step_context.AttemptStepContext(node=node, step=step, services=services, attempt=attempt)
        value = await time_limit.within(node.timeout_ms, perform(ctx), attempt.usage.idle)
        if isinstance(value, Mapping) and isinstance(ok := value.get("ok"), bool):
            attempt.holds = ok  # a verdict, of a verify or of any other step
        return plan.outputs(step, value)

    return work
