"""The `word_count` gate: the number of words of a port's text lies within bounds."""

from __future__ import annotations

from openskelo import gates
from openskelo.kernel.json import JsonObject


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    port = gates.text(parameters, "port")
    value = ctx.port(port)
    if not isinstance(value, str):
        return gates.failed(f"{port!r} is not text")
    words = len(value.split())
    return gates.within(words, parameters, f"{port!r} has {words} words", "words")


GATE = gates.Gate(
    name="word_count",
    summary="The number of words of the port's text lies within bounds.",
    parameters={
        "port": gates.port_parameter("a text"),
        "min": gates.integer_parameter("at least", 0, 10_000_000),
        "max": gates.integer_parameter("at most", 0, 10_000_000),
    },
    any_of=("min", "max"),
    check=_check,
)
