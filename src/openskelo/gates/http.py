"""The `http` gate: a URL answers with the expected status, or with any of 200 to 299.

A server that does not answer has not passed: whether it answers is the question. An address that the project does not
allow, or for which this machine has no open file left, was not asked, which is no verdict.
"""

from __future__ import annotations

import time

from openskelo import errors, gates
from openskelo.kernel.json import Json, JsonObject

_TIMEOUT_MS = 10_000


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    from openskelo.handlers import http_exchange  # noqa: PLC0415 -- imports httpx
    from openskelo.programs import time_limit  # noqa: PLC0415 -- imports asyncio

    request = http_exchange.Request(
        method=gates.text(parameters, "method", "GET"),
        url=gates.text(parameters, "url"),
        allow_private=ctx.project.allow_private_addresses,
    )
    timeout_ms = int(gates.number(parameters, "timeout_ms", _TIMEOUT_MS))
    start_time = time.perf_counter()
    try:
        response = await time_limit.within(timeout_ms, http_exchange.exchange(request))
    except errors.AttemptFailed as error:
        took_ms = gates.milliseconds_since(start_time)
        if error.code == "HTTP_ADDRESS_REFUSED" or errors.is_out_of_descriptors(error):
            return gates.not_asked("the address", error, took_ms)
        return gates.Finding(passed=False, reason=f"{error.message} ({error.code})", took_ms=took_ms)
    expected_status = parameters.get("expect_status")
    ok = response.status == expected_status if isinstance(expected_status, int) else 200 <= response.status < 300
    evidence: dict[str, Json] = {"status": response.status}
    reason = "" if ok else f"the address answered with status {response.status}"
    return gates.Finding(passed=ok, reason=reason, evidence=evidence, took_ms=gates.milliseconds_since(start_time))


#: More of the reference, after the table of its keys.
_DOC = """\
An address that does not answer (a refused connection, a timeout) has not passed, nor has one that answers with an
error: whether it answers as expected is the question.
"""

GATE = gates.Gate(
    name="http",
    summary="A URL answers with the expected status.",
    parameters={
        "url": gates.Parameter(
            kind="url",
            schema={"type": "string", "pattern": "^https?://"},
            required=True,
            doc="private addresses are refused unless the project allows them",
        ),
        "timeout_ms": gates.timeout_parameter("then it has not passed", default=10000),
        "method": gates.choice_parameter(
            "the method of the request", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", default="GET"
        ),
        "expect_status": gates.integer_parameter("the status that means yes; any 200 to 299 when absent", 100, 599),
    },
    check=_check,
    doc=_DOC,
    no_verdict=(
        ("the address is private, and the project does not allow that; not retried", "`HTTP_ADDRESS_REFUSED`"),
        ("the machine has no open file left for the request", "`HTTP_FAILED`"),
    ),
)
