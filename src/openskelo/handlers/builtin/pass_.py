"""`builtin:pass`: the outputs are the inputs."""

from __future__ import annotations

from openskelo.handlers import builtin, context, file_access
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject


async def run(ctx: context.Context, access: file_access.Access) -> JsonObject:  # noqa: ARG001 -- the signature of a handler
    return ctx.inputs


def _outputs(node: definition.Node) -> builtin.Outputs:
    return {port.name: port.schema for port in node.inputs}


#: More of the reference, after the table of its keys.
_DOC = """\
No config. It is what a block with `uses` begins and ends with, and a place to hang gates on.
"""

HANDLER = builtin.Handler(
    name="builtin:pass",
    summary="Passes every input on under its own name.",
    config=builtin.config_schema({}),
    run=run,
    outputs_by=_outputs,
    effect="pure",
    config_outputs=lambda config, inputs: inputs,  # noqa: ARG005 -- the signature of the field
    doc=_DOC,
)
