"""The `length` gate: the length of a port's text, list or object lies within bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openskelo import gates
from openskelo.kernel.json import JsonObject


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    port = gates.text(parameters, "port")
    value = ctx.port(port)
    if not isinstance(value, str | Sequence | Mapping):
        return gates.failed(f"{port!r} has no length")
    unit = "characters" if isinstance(value, str) else "entries"
    return gates.within(len(value), parameters, f"{port!r} has {len(value)} {unit}", "length")


GATE = gates.Gate(
    name="length",
    summary="The length of the port's text, list or object lies within bounds.",
    parameters={
        "port": gates.port_parameter("a text (counted in characters), list or map"),
        "min": gates.integer_parameter("at least", 0, 10_000_000),
        "max": gates.integer_parameter("at most", 0, 10_000_000),
    },
    any_of=("min", "max"),
    check=_check,
)
