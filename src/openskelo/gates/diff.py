"""The `diff` gate: two ports hold equal values (`mode: equal`, the default) or different ones."""

from __future__ import annotations

from openskelo import gates
from openskelo.kernel.json import JsonObject
from openskelo.values import canonical


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    left, right = gates.text(parameters, "left"), gates.text(parameters, "right")
    equal = canonical.dumps(ctx.port(left)) == canonical.dumps(ctx.port(right))
    if equal is (gates.text(parameters, "mode", "equal") == "equal"):
        return gates.passed()
    return gates.failed(f"{left!r} and {right!r} are {'equal' if equal else 'different'}")


GATE = gates.Gate(
    name="diff",
    summary="Two ports hold equal values, or different ones.",
    parameters={
        "left": gates.port_parameter("the one value"),
        "right": gates.port_parameter("the other value"),
        "mode": gates.choice_parameter(
            "whether the two values, as JSON, have to be the same", "equal", "not_equal", default="equal"
        ),
    },
    check=_check,
)
