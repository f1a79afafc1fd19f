"""The `approval` section: what a person is asked, who may answer, and what a denial or a timeout leads to.

The section has two uses. In a block of mode `approval` the answer is the work: the form's fields become outputs. In any
other block it is a checkpoint before the work, whose form may change the block's inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

from openskelo import errors
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen
from openskelo.values.schema import compatibility, composition, validator
from openskelo.workflows.blocks import expression_scope, ports
from openskelo.workflows.text import cursor, problems

_KEYS = frozenset(
    {"prompt", "approvers", "approver", "timeout_sec", "timeout_ms", "on_timeout", "form", "on_deny", "required"}
)
_MAX_MS = 366 * 86_400_000

#: What every answer holds besides the fields of its form; an approval block may have these as outputs.
VERDICT: Mapping[str, JsonObject] = {
    "approved": {"type": "boolean"},
    "decision": {"type": "string"},
    "reason": {"type": "string"},
    "by": {"type": "string"},
}


@frozen
class DenyRoute:
    """`on_deny: {route_to, max_bounces}` as written."""

    route_to: cursor.Cursor
    max_bounces: int


@frozen
class ApprovalDraft:
    """An approval whose route on denial is still the name of a block."""

    approval: definition.Approval
    deny_route: DenyRoute | None


def read(
    section: cursor.Cursor, prompt: cursor.Cursor | None, variables: expression_scope.Variables
) -> ApprovalDraft | None:
    """Return the approval in `section`, None after a Problem; the block's own `prompt` replaces a missing one."""
    fields = section.fields(_KEYS)
    if fields is None:
        return None
    required = fields.get("required")
    if required is not None and required.flag() is False:
        required.problem("CHOICE", "an approval with `required: false` asks no one", hint="remove the whole approval")
    on_deny, deny_route = _on_deny(fields)
    timeout_ms = _timeout(fields)
    if timeout_ms is None and (on_timeout := fields.get("on_timeout")) is not None:
        hint = "give `timeout_sec` or `timeout_ms`"
        on_timeout.warn("TIMEOUT_MISSING", "without a time limit the approval waits until a person answers", hint=hint)
    approval = definition.Approval(
        prompt=_prompt(fields, prompt, variables),
        approvers=_approvers(fields),
        timeout_ms=timeout_ms,
        on_timeout=cast("Literal['deny', 'approve']", fields.choice("on_timeout", ("deny", "approve"), "deny")),
        form=form(fields.get("form")),
        on_deny=on_deny,
    )
    return ApprovalDraft(approval=approval, deny_route=deny_route)


def outputs(node: definition.Node, place: cursor.Cursor) -> tuple[definition.Port, ...]:
    """Return the output ports of an approval block: the declared ones, else the verdict and the form's fields."""
    _check_timeout_approval(node, place)
    answers = {} if node.approval is None else form_schemas(node.approval.form)
    input_schemas = {port.name: port.schema for port in node.inputs}
    output_schemas: dict[str, JsonObject] = {**input_schemas, **answers, **VERDICT}
    if not node.outputs:
        names = dict.fromkeys((*VERDICT, *answers))
        return tuple(
            definition.Port(name=name, schema=output_schemas[name], required=name in VERDICT) for name in names
        )
    outputs_section = place.at("outputs", None)
    for port in node.outputs:
        place_of_port = outputs_section.at(port.name, None)
        if port.name not in output_schemas:
            hint = problems.did_you_mean(
                port.name, output_schemas, otherwise=f"it can have {', '.join(output_schemas)}"
            )
            place_of_port.key_problem("UNKNOWN_PORT", f"an approval has no output {port.name!r}", hint=hint)
        elif (why := compatibility.find_conflict(output_schemas[port.name], port.schema)) is not None:
            place_of_port.problem("TYPE_MISMATCH", f"{port.name!r} does not fit its port: {why}")
    return node.outputs


def _check_timeout_approval(node: definition.Node, place: cursor.Cursor) -> None:
    """Report `on_timeout: approve` with a form that has required fields without a value: it could never approve."""
    approval = node.approval
    required = None if approval is None or approval.on_timeout != "approve" else approval.form.get("required")
    if approval is None or not isinstance(required, list):
        return
    fields, inputs = form_schemas(approval.form), {port.name for port in node.inputs}
    empty = [str(name) for name in required if name not in inputs and "default" not in fields.get(str(name), {})]
    if empty:
        hint = "give it a default, or make it optional"
        message = f"a timeout cannot approve: the form requires {', '.join(empty)}, which then has no value"
        place.at("approval", None).at("on_timeout", None).problem("CONFLICT", message, hint=hint)


def is_answered(approval: definition.Approval, name: str) -> bool:
    """True if this field of the form has a value whenever the run goes on after the approval."""
    required = approval.form.get("required")
    is_needed = isinstance(required, list) and name in required
    return approval.on_deny != "continue" and (is_needed or "default" in form_schemas(approval.form).get(name, {}))


def check_checkpoint(node: definition.Node, place: cursor.Cursor) -> None:
    """Report fields of a checkpoint's form that are not inputs of the block."""
    approval = node.approval
    if approval is None:
        return
    section = place.at("approval", None)
    inputs = [port.name for port in node.inputs]
    for name in form_schemas(approval.form):
        if name not in inputs:
            hint = problems.did_you_mean(name, inputs, otherwise="the form of a checkpoint changes the block's inputs")
            section.at("form", None).problem("UNKNOWN_PORT", f"this block has no input {name[:60]!r}", hint=hint)


def form_schemas(form: JsonObject) -> dict[str, JsonObject]:
    """Return the schema of each field of a form, by itself."""
    properties = form.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: composition.property_of(form, name) for name in properties}


def _prompt(fields: cursor.Fields, outer: cursor.Cursor | None, variables: expression_scope.Variables) -> str:
    section = fields.get("prompt") or outer
    if section is None:
        fields.missing("prompt", hint="say what the person has to decide")
        return ""
    if section.text(blank=False) is None:
        return ""
    return expression_scope.check_template(section, variables)


def _approvers(fields: cursor.Fields) -> tuple[str, ...]:
    single_approver, many = fields.get("approver"), fields.get("approvers")
    if single_approver is not None and many is not None:
        single_approver.key_problem("CONFLICT", "give `approver` or `approvers`, not both")
    return fields.texts("approvers" if many is not None else "approver")


def _timeout(fields: cursor.Fields) -> int | None:
    """Return how long the approval waits; None, the default, waits until a person answers."""
    seconds, milliseconds = fields.get("timeout_sec"), fields.get("timeout_ms")
    if seconds is not None and milliseconds is not None:
        seconds.key_problem("CONFLICT", "give `timeout_sec` or `timeout_ms`, not both")
    for section, factor in ((milliseconds, 1), (seconds, 1000)):
        if section is not None:
            value = None if section.value is None else section.integer(1, _MAX_MS // factor)
            return None if value is None else value * factor
    return None


def form(section: cursor.Cursor | None) -> JsonObject:
    """Return the JSON Schema of an answer: as written, or built from names with types; it keeps their order."""
    fields = None if section is None else section.fields()
    if section is None or fields is None or not fields.value:
        return {}
    if _is_schema(fields.value):
        return composition.mark_field_order(_object_schema(section, fields.value))
    return composition.mark_field_order(_of_ports(section))


def _of_ports(section: cursor.Cursor) -> JsonObject:
    fields = ports.read(section, "output").ports
    required: list[Json] = [port.name for port in fields if port.required]
    beside: JsonObject = {"required": required} if required else {}
    whole = composition.object_of(
        {port.name: _property(port) for port in fields}, {**beside, "additionalProperties": False}
    )
    if any(port.has_default or port.description for port in fields):
        _compile(section, whole)  # with descriptions and defaults it may be too long
    return whole


def _is_schema(value: JsonObject) -> bool:
    return isinstance(value.get("properties"), Mapping) or value.get("type") == "object" or "$ref" in value


def _object_schema(section: cursor.Cursor, value: JsonObject) -> JsonObject:
    form = value if "type" in value else {"type": "object", **value}
    if form.get("type") != "object":
        section.problem("TYPE", "the schema of a form must be of type object")
    _compile(section, form)
    ports.warn_unknown_keywords(section)
    return form


def _compile(section: cursor.Cursor, form: JsonObject) -> None:
    try:
        validator.compile(form)
    except errors.InvalidInput as error:
        section.problem(error.code, error.message, hint=error.hint)


def _property(port: definition.Port) -> JsonObject:
    own_schema: dict[str, Json] = dict(port.schema)
    if port.description:
        own_schema["description"] = port.description
    if port.has_default:
        own_schema["default"] = port.default
    return own_schema


def _on_deny(fields: cursor.Fields) -> tuple[Literal["end", "continue", "bounce"], DenyRoute | None]:
    section = fields.get("on_deny")
    if section is None:
        return "end", None
    if not isinstance(section.value, Mapping):
        return cast("Literal['end', 'continue']", section.choice(("end", "continue")) or "end"), None
    route = section.fields({"route_to", "max_bounces"})
    target = None if route is None else route.need("route_to")
    if route is None or target is None or target.text(blank=False) is None:
        return "end", None
    if "max_bounces" not in route:
        route.missing("max_bounces", hint="every loop has a bound")
    return "bounce", DenyRoute(route_to=target, max_bounces=route.integer("max_bounces", 1, 1, 20))
