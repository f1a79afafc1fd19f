"""emit: the result of the run, the evidence for it, and how the run ends."""

from __future__ import annotations

from openskelo.executors import job
from openskelo.executors.ops import step as steps
from openskelo.kernel import definition
from openskelo.kernel.json import Json


def make(step: definition.Step) -> steps.Op:
    """Gives `result`, `audit` and `status`; refs that were never set are null by now."""

    async def op(one: job.Job) -> Json:
        audit = one.inputs.get("audit_refs")
        return {
            "result": one.inputs.get("result_ref"),
            "audit": audit if isinstance(audit, list) else [],
            "status": one.inputs.get("status") or step.ending or "ok",
        }

    return op
