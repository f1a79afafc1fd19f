"""The `latency` gate: the work took at most `max_ms`."""

from __future__ import annotations

from openskelo import gates
from openskelo.kernel.json import JsonObject


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    limit = gates.number(parameters, "max_ms", 0)
    if ctx.wall_ms <= limit:
        return gates.Finding(passed=True, took_ms=ctx.wall_ms)
    return gates.Finding(passed=False, reason=f"it took more than {limit} ms", took_ms=ctx.wall_ms)


GATE = gates.Gate(
    name="latency",
    summary="The work took at most `max_ms`.",
    parameters={
        "max_ms": gates.integer_parameter(
            "how long the work may have taken, without the wait for a worker process", 0, 86_400_000, required=True
        )
    },
    check=_check,
    measures_work=True,
)
