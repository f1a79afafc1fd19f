"""`emit`: ends the run with a result, the evidence for it, and a status."""

from __future__ import annotations

from openskelo import ops
from openskelo.kernel.json import Json


def may_be_null(status: str, argument: str) -> bool:
    """True if a ref without a value is null in this argument of an emit: a run that ends as ok must have its result.

    Evidence may be missing, because a run gathers it only on the paths that it takes.
    """
    return status != "ok" or argument != "result_ref"


async def _perform(ctx: ops.StepContext) -> Json:
    audit = ctx.args.get("audit_refs")
    return {
        "result": ctx.args.get("result_ref"),
        "audit": audit if isinstance(audit, list) else [],
        "status": ctx.args.get("status") or ctx.step.ending or "ok",
    }


def _words(ctx: ops.ExplainContext) -> str:
    return f"{ctx.step.ending} ← {ctx.step.args.get('result_ref', 'nothing')}"


#: More of the reference, after the table of its keys.
_DOC = """\
An emit with the status `ok` must have its result: a `result_ref` that leads to no value fails the run with `REF_UNSET`.
With another status, and in `audit_refs`, it is null.
"""

OP = ops.Op(
    name="emit",
    summary="ends the run with a result and its evidence; without its result it cannot end as ok",
    args={
        "result_ref": ops.ref_arg("the result; by default that of the plan's `outputs`"),
        "audit_refs": ops.refs_arg("the evidence; by default that of the plan's `outputs`; null if a ref has no value"),
        "status": ops.plain_arg("how the run ends", {"enum": ["ok", "failed", "denied", "escalated"]}, "ok"),
    },
    perform=_perform,
    words=_words,
    mark="■",
    controls_flow=True,
    saves_value=False,
    doc=_DOC,
)
