"""The `expr` gate: a CEL expression is true.

An expression that cannot be evaluated, or does not evaluate to a boolean, is not true.
"""

from __future__ import annotations

from openskelo import gates
from openskelo.kernel.json import JsonObject
from openskelo.values.cel import expression


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    text = gates.text(parameters, "expression")
    types: dict[str, JsonObject | None] = {"inputs": {"type": "object"}, "outputs": {"type": "object"}, "run": None}
    for name in ctx.variables:
        types.setdefault(name, None)
    result = expression.compile(text, types).evaluate(ctx.variables)
    if result is True:
        return gates.passed()
    return gates.failed(f"`{text}` is false" if result is False else f"`{text}` gives neither true nor false")


GATE = gates.Gate(
    name="expr",
    summary="A CEL expression is true.",
    parameters={
        "expression": gates.Parameter(
            kind="expression",
            schema={
                "type": "string",
                "minLength": 1,
            },
            required=True,
            doc=("has to be true; sees `inputs`, `run`, after the work `outputs`, and the item of a foreach"),
        )
    },
    check=_check,
)
