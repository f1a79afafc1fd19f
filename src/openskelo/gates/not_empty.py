"""The `not_empty` gate: a port holds something other than null, blank text, and an empty list or object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openskelo import gates
from openskelo.kernel.json import JsonObject


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    port = gates.text(parameters, "port")
    value = ctx.port(port)
    is_blank = value is None or (isinstance(value, str) and not value.strip())
    if is_blank or (isinstance(value, Sequence | Mapping) and not value):
        return gates.failed(f"{port!r} is empty")
    return gates.passed()


GATE = gates.Gate(
    name="not_empty",
    summary="The port is not null, blank text, or an empty list or object.",
    parameters={"port": gates.port_parameter("no null, no blank text, no empty list or map")},
    check=_check,
)
