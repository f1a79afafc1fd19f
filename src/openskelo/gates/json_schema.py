"""The `json_schema` gate: a port, or all values of this side of the block, satisfies a JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import errors, gates
from openskelo.kernel.json import Json, JsonObject
from openskelo.values.schema import validator


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    port = parameters.get("port")
    all_values: Json = ctx.inputs if ctx.outputs is None else ctx.outputs
    value = ctx.port(port) if isinstance(port, str) else all_values
    schema = parameters.get("schema", {})
    if not isinstance(schema, Mapping):
        raise errors.InvalidInput("the gate's schema is not an object", code="SCHEMA_INVALID")
    violations = [
        f"{violation.path or '/'}: {violation.message}" for violation in validator.compile(schema).check(value)
    ]
    if not violations:
        return gates.passed()
    return gates.failed("; ".join(violations), {"violations": list[Json](violations)})


GATE = gates.Gate(
    name="json_schema",
    summary="The port, or all values of this side, satisfies a JSON Schema.",
    parameters={
        "schema": gates.Parameter(
            kind="schema",
            schema={"type": "object"},
            required=True,
            doc="what the value has to keep; formats are checked",
        ),
        "port": gates.port_parameter("which value; all of the side when absent", required=False),
    },
    check=_check,
)
