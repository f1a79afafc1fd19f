"""Which work a step of a plan stands for: its op, whose one value becomes the step's outputs.

An op is made of a node and the means to do its work. Its job's `inputs` are the step's arguments with a value in the
place of every ref; it gives the step's value, raises AttemptFailed (Denied when it was not allowed), and says in
`job.holds` what its check or its condition came to.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias, assert_never

from openskelo import errors
from openskelo.executors import job, limit, work
from openskelo.kernel import definition
from openskelo.kernel.flows import plan
from openskelo.kernel.json import Json

Op: TypeAlias = Callable[[job.Job], Awaitable[Json]]
Performed: TypeAlias = Literal["branch", "retry", "emit", "transform", "verify", "tool_call", "route_expert"]


def resolve(node: definition.Node, step: definition.Step, means: work.Means) -> job.Work:
    """The work of a plan's step (AttemptFailed, never retried, when its op has what it needs not)."""
    op = make(node, step, means)
    timeout_ms = node.timeout_ms

    async def perform(one: job.Job) -> object:
        work = op(one)
        return plan.outputs(
            step, await (work if timeout_ms is None else limit.within(timeout_ms, work, one.spent.idle))
        )

    return perform


def make(node: definition.Node, step: definition.Step, means: work.Means) -> Op:
    """The op of a step, which gives its value for a job whose inputs are the step's arguments."""
    if step.op == "ask_human":
        raise errors.AttemptFailed(
            "a question is answered by a person, not performed", code="NOT_PERFORMED", retryable=False
        )
    return _load(step.op)(node, step, means)


@functools.cache
def _load(op: Performed) -> Callable[[definition.Node, definition.Step, work.Means], Op]:
    """What makes an op of this name; each is loaded when first used."""
    match op:
        case "branch":
            from openskelo.executors.ops import branch  # noqa: PLC0415

            return lambda _, step, __: branch.make(step)
        case "retry":
            from openskelo.executors.ops import retry  # noqa: PLC0415

            return lambda _, step, __: retry.make(step)
        case "emit":
            from openskelo.executors.ops import emit  # noqa: PLC0415

            return lambda _, step, __: emit.make(step)
        case "transform":
            from openskelo.executors.ops import transform  # noqa: PLC0415

            return lambda _, step, means: transform.make(step, means)
        case "verify":
            from openskelo.executors.ops import verify  # noqa: PLC0415

            return lambda _, __, means: verify.make(means)
        case "tool_call":
            from openskelo.executors.ops import tool_call  # noqa: PLC0415

            return lambda _, __, means: tool_call.make(means)
        case "route_expert":
            from openskelo.executors.ops import route_expert  # noqa: PLC0415

            return lambda node, _, means: route_expert.make(node, means)
        case _:
            assert_never(op)
