"""The `artifacts` gate: a folder has what its steps require. `openskelo.checks.artifacts` judges."""

from __future__ import annotations

from openskelo import gates
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import as_dict

_MOST_LISTED = 20


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    from openskelo.checks import artifacts  # noqa: PLC0415 -- reads files with what is slow to import
    from openskelo.handlers import blocking_call  # noqa: PLC0415 -- imports asyncio

    folder = gates.path_in_folder(parameters, "folder", ctx)
    report = await blocking_call.run(lambda: artifacts.check(folder))
    evidence: dict[str, Json] = {
        **report.document(),
        "broken": [as_dict(broken) for broken in report.broken[:_MOST_LISTED]],
    }
    if report.ok:
        return gates.passed(evidence)
    reasons = list(report.reasons())
    return gates.failed(f"{len(reasons)} faults, the first: {reasons[0]}" if len(reasons) > 1 else reasons[0], evidence)


#: More of the reference, after the table of its keys.
_DOC = """\
The path is relative to the folder of the work: the workspace of an agent, else the project's root. The evidence is the
report of [`skelo check artifacts`](../guide/evidence.md), with up to 20 broken artifacts. A folder that is not there,
or has no manifest, has not passed.
"""

GATE = gates.Gate(
    name="artifacts",
    summary="A folder has all artifacts that the steps in its manifest require, each with the hash that it says.",
    parameters={"folder": gates.path_parameter("the folder with `manifest.json`", required=True)},
    check=_check,
    reads_folder=True,
    doc=_DOC,
)
