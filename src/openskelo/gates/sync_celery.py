"""The `sync_celery` gate: the Python module in a port can run in a synchronous Celery worker.

It is `skelo check sync-celery` for code that a model has written. What does not parse has not passed. A comment
`# sync-ok` does not count unless the author of the workflow says so: the model that is judged could write it.
"""

from __future__ import annotations

from collections.abc import Sequence

from openskelo import gates
from openskelo.checks import sync_celery
from openskelo.kernel.json import Json, JsonObject

#: How many findings the evidence lists: as many as fit into what a model is told.
_MOST_LISTED = 15
#: How many of them the reason names.
_MOST_NAMED = 3


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    from openskelo.handlers import blocking_call  # noqa: PLC0415 -- imports asyncio

    port = gates.text(parameters, "port")
    code = ctx.port(port)
    if not isinstance(code, str):
        return gates.failed(f"{port!r} is not a text")
    if not code.strip():
        return gates.failed(f"{port!r} has no code")
    report = await blocking_call.run(lambda: sync_celery.check_source(code, port))
    accepted = parameters.get("accept_suppressed") is True
    evidence = _evidence(report)
    found = [
        *(f"line {entry.line}: {entry.message}" for entry in report.unreadable),
        *(f"line {entry.line}: {entry.code}, {entry.message}" for entry in report.violations),
        *(f"line {entry.line}: {entry.code} behind `# sync-ok`" for entry in report.suppressed if not accepted),
    ]
    if not found:
        return gates.passed(evidence)
    return gates.failed(f"{port!r} cannot run in a synchronous worker: {_first_of(found)}", evidence)


def _evidence(report: sync_celery.Report) -> JsonObject:
    """Return what was found by its kind; what is empty is left out."""
    document = report.document()
    evidence: dict[str, Json] = {}
    for kind in ("violations", "suppressed", "unreadable"):
        entries = document[kind]
        if isinstance(entries, Sequence) and entries:
            evidence[kind] = list(entries[:_MOST_LISTED])
    return evidence


def _first_of(found: Sequence[str]) -> str:
    more = len(found) - _MOST_NAMED
    return "; ".join(found[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


#: More of the reference, after the table of its keys.
_DOC = """\
The evidence lists `violations`, `suppressed` and `unreadable` as `skelo check sync-celery --json` does, up to 15 of
each, and goes back to the model with the reason.
[The sync-celery checker](../guide/sync-celery.md) says what is found.
"""

GATE = gates.Gate(
    name="sync_celery",
    summary="The Python module in a port can run in a synchronous Celery worker.",
    parameters={
        "port": gates.port_parameter("the text of a Python module"),
        "accept_suppressed": gates.flag_parameter(
            "findings with a comment `# sync-ok: REASON` pass; whoever writes the code can write that comment",
            default=False,
        ),
    },
    check=_check,
    doc=_DOC,
)
