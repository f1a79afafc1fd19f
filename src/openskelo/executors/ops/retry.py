"""retry: names the step that is tried from here on; the kernel does the trying."""

from __future__ import annotations

from openskelo.executors import job
from openskelo.executors.ops import step as steps
from openskelo.kernel import definition
from openskelo.kernel.json import Json


def make(step: definition.Step) -> steps.Op:
    """Gives the name of the step that is tried."""

    async def op(one: job.Job) -> Json:  # noqa: ARG001 -- every op is given its job
        return {"step_id": step.target}

    return op
