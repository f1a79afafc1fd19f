"""The embedded model under constraint: how often it is asked for one answer that keeps its schema."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import bounded, measure, report
from openskelo import errors
from openskelo.kernel.json import JsonObject
from openskelo.providers import config, protocol, router
from openskelo.values import canonical
from openskelo.values.schema import validator

#: How often each schema is asked for, each time with another seed and another heat.
TIMES = 10
HEATS = (0.0, 0.3, 1.0, 1.8)
MAX_TOKENS = 48


def figures(plan: measure.Plan) -> Iterator[report.Figure]:
    """Every schema ten times; an answer that is cut, is no JSON or breaks its schema counts as broken."""
    settings = config.embedded().providers["local"]
    times = 1 if plan.quick else TIMES
    asked = times * len(bounded.SCHEMAS)
    what = f"requests for a valid constrained answer, over {asked}"
    missing = router.missing_requirement(settings, root=plan.folder, environment={})
    if missing is not None:
        yield report.Figure(name="constrained", what=what, value=None, unit="requests", bar=1, note=missing)
        return
    started = time.perf_counter()
    broken = asyncio.run(_broken(router.make_provider(settings, root=Path(), environment={}), times))
    seconds = time.perf_counter() - started
    valid = asked - len(broken)
    note = f"{valid} of {asked} valid, {seconds:.0f} s" + (f"; not: {', '.join(sorted(set(broken)))}" if broken else "")
    value = asked / valid if valid else float(asked)
    yield report.Figure(name="constrained", what=what, value=value, unit="requests", bar=1, note=note)


async def _broken(model: protocol.Provider, times: int) -> list[str]:
    """The names of the schemas that were broken, one entry for each answer."""
    found: list[str] = []
    for number in range(times):
        for name, wanted in bounded.SCHEMAS.items():
            if not await _kept(model, wanted, number):
                found.append(name)
    return found


async def _kept(model: protocol.Provider, wanted: JsonObject, number: int) -> bool:
    request = protocol.Request(
        node="bench",
        messages=(protocol.Message(role="user", text="Invent an example."),),
        schema=wanted,
        parameters={"seed": number, "temperature": HEATS[number % len(HEATS)]},
        max_tokens=MAX_TOKENS,
    )
    try:
        answer = await model.complete(request, lambda _: None)
        return not validator.compile(wanted).check(canonical.loads(answer.text))
    except (errors.AttemptFailed, errors.InvalidInput):
        return False
