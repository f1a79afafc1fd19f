"""`builtin:transform`: outputs computed from the inputs by CEL (`map`) and by text templates (`template`)."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import errors
from openskelo.extensions import Position
from openskelo.handlers import builtin, context, file_access
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import suggestions, template
from openskelo.values.cel import expression, limits
from openskelo.values.schema import compatibility


async def run(ctx: context.Context, access: file_access.Access) -> JsonObject:  # noqa: ARG001 -- the signature of a handler
    """Return an output for each entry of `map` and `template`; they see `inputs` and, in a foreach, the item."""
    builtin.check_config(HANDLER, ctx.config)
    values: dict[str, Json] = {"inputs": ctx.inputs}
    types: dict[str, JsonObject | None] = {"inputs": {"type": "object"}}
    if ctx.item_index is not None:
        for name in ("item", ctx.item_name):
            values[name], types[name] = ctx.item, None
    outputs: dict[str, Json] = {}
    size = 0
    for name, text in _texts(ctx.config.get("map")):
        outputs[name] = expression.compile(text, types).evaluate(values)
        size = _add_size(size, outputs[name])
    for name, text in _texts(ctx.config.get("template")):
        outputs[name] = template.compile(text, types).render(values)
        size = _add_size(size, outputs[name])
    return outputs


def _add_size(size: int, output: Json) -> int:
    """Return `size` with that of another output; raise AttemptFailed EXPR_FAILED if together they take too much."""
    total = size + limits.json_size(output)
    if total > limits.MAX_BYTES:
        raise errors.AttemptFailed(
            f"the outputs of this block take more than {limits.MAX_BYTES} bytes", code="EXPR_FAILED", retryable=False
        )
    return total


def _texts(section: Json) -> list[tuple[str, str]]:
    """Return the entries of a checked mapping of texts."""
    if not isinstance(section, Mapping):
        return []
    return [(name, text) for name, text in section.items() if isinstance(text, str)]


def _check(block: builtin.BlockCheck) -> None:
    """Report texts that do not compile, and outputs that are unknown, assigned twice, missing or of another type."""
    ports = {port.name: port for port in block.node.outputs}
    assigned_names: set[str] = set()
    for section in ("map", "template"):
        texts = block.node.config.get(section)
        for name, text in texts.items() if isinstance(texts, Mapping) else ():
            position = block.config.at(section, texts).at(name, text)
            if name in assigned_names:
                position.key_problem("CONFLICT", f"{name[:60]!r} has a value in `map` already", hint="leave one out")
            assigned_names.add(name)
            if name not in ports:
                hint = suggestions.did_you_mean(name, ports)
                position.key_problem("UNKNOWN_PORT", f"this block has no output {name[:60]!r}", hint=hint)
            _check_type(position, _compile(block, section, position), ports.get(name))
    for name, port in ports.items():
        if port.required and not port.has_default and name not in assigned_names:
            block.config.problem("OUTPUT_MISSING", f"nothing here sets the output {name!r}")


def _compile(block: builtin.BlockCheck, section: str, position: Position) -> JsonObject | None:
    """Return the schema of what the text at `position` evaluates to; None after a Problem."""
    if section == "map":
        return block.check_expression(position)
    block.check_template(position)
    return {"type": "string"}


def _check_type(position: Position, result: JsonObject | None, port: definition.Port | None) -> None:
    if port is None or result is None:
        return
    if (mismatch := compatibility.find_conflict(result, port.schema)) is not None:
        position.problem("TYPE_MISMATCH", f"this does not fit the output {port.name!r}: {mismatch}")


def _config_outputs(config: JsonObject, inputs: JsonObject) -> JsonObject:  # noqa: ARG001 -- the signature of the field
    sections = [config.get("map"), config.get("template")]
    return {name: "json" for section in sections if isinstance(section, Mapping) for name in section}


#: More of the reference, after the table of its keys.
_DOC = """\
At least one of the two; an output is in one of them. Expressions see `inputs` and, in a foreach, the item; see
[expressions](../guide/expressions.md).
Codes: `DET_CONFIG_INVALID`, `EXPR_FAILED`, `EXPR_RESULT`, `NUMBER_RANGE`, `TEMPLATE_TOO_LARGE`.
"""

HANDLER = builtin.Handler(
    name="builtin:transform",
    summary="Computes outputs from the inputs by CEL expressions and text templates.",
    config=builtin.config_schema(
        {
            "map": builtin.key("the value of each output, in CEL", builtin.TEXTS),
            "template": builtin.key("the text of each output, with `{{ CEL }}`", builtin.TEXTS),
        },
        anyOf=[{"required": ["map"]}, {"required": ["template"]}],
    ),
    run=run,
    exact_outputs=True,
    effect="pure",
    check=_check,
    config_outputs=_config_outputs,
    sees_item_index=False,
    reads_named_inputs=True,
    doc=_DOC,
)
