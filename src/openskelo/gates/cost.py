"""The `cost` gate: the attempt has cost at most `max_usd`."""

from __future__ import annotations

from openskelo import gates
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    limit = gates.number(parameters, "max_usd", 0)
    evidence: dict[str, Json] = {"cost_nanousd": ctx.cost_nanousd, "max_usd": limit}
    if ctx.cost_nanousd <= limit * definition.NANO_PER_USD:
        return gates.passed(evidence)
    return gates.failed(f"it cost more than {limit} USD", evidence)


GATE = gates.Gate(
    name="cost",
    summary="The attempt has cost at most `max_usd`.",
    parameters={"max_usd": gates.number_parameter("what the attempt may have cost", 0, 1_000_000, required=True)},
    check=_check,
    measures_work=True,
)
