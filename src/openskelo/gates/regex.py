"""The `regex` gate: the text of a port matches a pattern somewhere, or with `negate` nowhere."""

from __future__ import annotations

from openskelo import gates
from openskelo.kernel.json import JsonObject
from openskelo.values import regex


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    port, pattern = gates.text(parameters, "port"), gates.text(parameters, "pattern")
    value = ctx.port(port)
    if not isinstance(value, str):
        return gates.failed(f"{port!r} is not text")
    negate = parameters.get("negate") is True
    if regex.compile(pattern).search(value) is not negate:
        return gates.passed()
    return gates.failed(f"{port!r} {'matches' if negate else 'does not match'} {pattern!r}")


GATE = gates.Gate(
    name="regex",
    summary="The text of a port matches a regular expression, or with `negate` does not.",
    parameters={
        "port": gates.port_parameter("a text"),
        "pattern": gates.Parameter(
            kind="pattern",
            schema={"type": "string", "minLength": 1},
            required=True,
            doc="has to occur somewhere in it; linear time",
        ),
        "negate": gates.flag_parameter("has to occur nowhere", default=False),
    },
    check=_check,
)
