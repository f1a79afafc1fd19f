"""The `trace_map` gate: every field of a schema is traced to a source. `openskelo.checks.trace_map` judges."""

from __future__ import annotations

from openskelo import gates
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import as_dict

_MOST_LISTED = 20


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    from openskelo.checks import trace_map  # noqa: PLC0415 -- reads files with what is slow to import
    from openskelo.handlers import blocking_call  # noqa: PLC0415 -- imports asyncio

    file = gates.path_in_folder(parameters, "file", ctx)
    schema = gates.path_in_folder(parameters, "schema", ctx) if "schema" in parameters else None
    sources = gates.path_in_folder(parameters, "sources", ctx) if "sources" in parameters else None
    report = await blocking_call.run(lambda: trace_map.check(file, schema=schema, sources=sources))
    evidence: dict[str, Json] = {
        **report.document(),
        "untraced": list[Json](report.untraced[:_MOST_LISTED]),
        "broken": [as_dict(broken) for broken in report.broken[:_MOST_LISTED]],
    }
    if report.ok:
        return gates.passed(evidence)
    reasons = list(report.reasons())
    return gates.failed(f"{len(reasons)} faults, the first: {reasons[0]}" if len(reasons) > 1 else reasons[0], evidence)


#: More of the reference, after the table of its keys.
_DOC = """\
Paths are relative to the folder of the work: the workspace of an agent, else the project's root. The evidence is the
report of [`skelo check trace-map`](../guide/evidence.md), with up to 20 untraced and 20 broken fields. A file that is
not there, or is no trace map, has not passed.
"""

GATE = gates.Gate(
    name="trace_map",
    summary="Every field of a schema is traced to the lines of a source, and at most 30% are assumed.",
    parameters={
        "file": gates.path_parameter("the trace map", required=True),
        "schema": gates.path_parameter("the schema; without it the file that the map names, beside it"),
        "sources": gates.path_parameter("the folder of the sources; without it that of the map"),
    },
    check=_check,
    reads_folder=True,
    doc=_DOC,
)
