"""Approvals: what a person is asked, by whom it may be answered, and what follows from a denial or from silence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

from openskelo import errors
from openskelo.frozen import frozen
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import composition, ordering, schema
from openskelo.workflows import cursor, ports, schema_words, scope, suggest

_KEYS = frozenset(
    {"prompt", "approvers", "approver", "timeout_sec", "timeout_ms", "on_timeout", "form", "on_deny", "required"}
)
_LONGEST_MS = 366 * 86_400_000
_DEFAULT_MS = 1_800_000

#: What every answer says, whatever its form: an approval block may give these as outputs.
VERDICT: Mapping[str, JsonObject] = {
    "approved": {"type": "boolean"},
    "decision": {"type": "string"},
    "reason": {"type": "string"},
    "by": {"type": "string"},
}


@frozen
class Return:
    """`on_deny: {route_to, max_bounces}` as written."""

    route_to: cursor.Cursor
    max_bounces: int


@frozen
class Asked:
    """An approval whose way back is still a name."""

    approval: definition.Approval
    back: Return | None


def read(found: cursor.Cursor, prompt: cursor.Cursor | None, variables: scope.Variables) -> Asked | None:
    """The approval under `found`; `prompt` is the block's own, which stands in for a missing one."""
    fields = found.fields(_KEYS)
    if fields is None:
        return None
    required = fields.get("required")
    if required is not None and required.flag() is False:
        required.problem("CHOICE", "`required: false` asks nobody", hint="leave the whole approval out")
    on_deny, back = _on_deny(fields)
    approval = definition.Approval(
        prompt=_prompt(fields, prompt, variables),
        approvers=_approvers(fields),
        timeout_ms=_timeout(fields),
        on_timeout=cast("Literal['deny', 'approve']", fields.choice("on_timeout", ("deny", "approve"), "deny")),
        form=form(fields.get("form")),
        on_deny=on_deny,
    )
    return Asked(approval=approval, back=back)


def outputs(node: definition.Node, place: cursor.Cursor) -> tuple[definition.Port, ...]:
    """The output ports of an approval block: those declared, checked, else the verdict and the form's properties."""
    _check_silence(node, place)
    answers = {} if node.approval is None else form_schemas(node.approval.form)
    passed = {port.name: port.schema for port in node.inputs}
    offered: dict[str, JsonObject] = {**passed, **answers, **VERDICT}
    if not node.outputs:
        names = dict.fromkeys((*VERDICT, *answers))
        return tuple(definition.Port(name=name, schema=offered[name], required=name in VERDICT) for name in names)
    section = place.at("outputs", None)
    for port in node.outputs:
        spot = section.at(port.name, None)
        if port.name not in offered:
            hint = suggest.near(port.name, offered, otherwise=f"it can give {', '.join(offered)}")
            spot.key_problem("UNKNOWN_PORT", f"an approval gives no {port.name!r}", hint=hint)
        elif (why := schema.fits(offered[port.name], port.schema)) is not None:
            spot.problem("TYPE_MISMATCH", f"{port.name!r} does not fit its port: {why}")
    return node.outputs


def _check_silence(node: definition.Node, place: cursor.Cursor) -> None:
    """Silence that is to be a yes has to fill the form by itself; otherwise it would be a no, always."""
    asked = node.approval
    required = None if asked is None or asked.on_timeout != "approve" else asked.form.get("required")
    if asked is None or not isinstance(required, list):
        return
    fields, inputs = form_schemas(asked.form), {port.name for port in node.inputs}
    empty = [str(name) for name in required if name not in inputs and "default" not in fields.get(str(name), {})]
    if empty:
        hint = "give it a default, or make it optional"
        message = f"silence cannot approve: the form demands {', '.join(empty)}, and nobody has given it"
        place.at("approval", None).at("on_timeout", None).problem("CONFLICT", message, hint=hint)


def is_answered(asked: definition.Approval, name: str) -> bool:
    """Whether an approval block that goes on has an answer under this name of its form, whatever was said."""
    required = asked.form.get("required")
    needed = isinstance(required, list) and name in required
    return asked.on_deny != "continue" and (needed or "default" in form_schemas(asked.form).get(name, {}))


def check_checkpoint(node: definition.Node, place: cursor.Cursor) -> None:
    """Before another block's work a person may change its inputs, and nothing else."""
    asked = node.approval
    if asked is None:
        return
    section = place.at("approval", None)
    inputs = [port.name for port in node.inputs]
    for name in form_schemas(asked.form):
        if name not in inputs:
            hint = suggest.near(name, inputs, otherwise="the form of a checkpoint changes the block's inputs")
            section.at("form", None).problem("UNKNOWN_PORT", f"this block has no input {name[:60]!r}", hint=hint)


def form_schemas(form: JsonObject) -> dict[str, JsonObject]:
    """The schema of each property of a form, by itself."""
    properties = form.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: composition.part(form, name) for name in properties}


def _prompt(fields: cursor.Fields, outer: cursor.Cursor | None, variables: scope.Variables) -> str:
    found = fields.get("prompt") or outer
    if found is None:
        fields.missing("prompt", hint="say what the person is to decide")
        return ""
    if found.text(blank=False) is None:
        return ""
    return scope.check_template(found, variables)


def _approvers(fields: cursor.Fields) -> tuple[str, ...]:
    one, many = fields.get("approver"), fields.get("approvers")
    if one is not None and many is not None:
        one.key_problem("CONFLICT", "give `approver` or `approvers`, not both")
    return fields.texts("approvers" if many is not None else "approver")


def _timeout(fields: cursor.Fields) -> int | None:
    seconds, milliseconds = fields.get("timeout_sec"), fields.get("timeout_ms")
    if seconds is not None and milliseconds is not None:
        seconds.key_problem("CONFLICT", "give `timeout_sec` or `timeout_ms`, not both")
    for found, factor in ((milliseconds, 1), (seconds, 1000)):
        if found is not None:
            if found.value is None:
                return None  # `timeout_ms:` left empty on purpose: wait for ever
            value = found.integer(1, _LONGEST_MS // factor)
            return _DEFAULT_MS if value is None else value * factor
    return _DEFAULT_MS


def form(found: cursor.Cursor | None) -> JsonObject:
    """The JSON Schema of an answer: as written, or made of names with types; it says in which order they stand."""
    fields = None if found is None else found.fields()
    if found is None or fields is None or not fields.value:
        return {}
    if _is_schema(fields.value):
        return ordering.marked(_object_schema(found, fields.value))
    return ordering.marked(_of_ports(found))


def _of_ports(found: cursor.Cursor) -> JsonObject:
    asked = ports.read(found, "output").ports
    required: list[Json] = [port.name for port in asked if port.required]
    beside: JsonObject = {"required": required} if required else {}
    whole = composition.composed(
        {port.name: _property(port) for port in asked}, {**beside, "additionalProperties": False}
    )
    if any(port.has_default or port.description for port in asked):
        _compile(found, whole)  # with what is said beside the ports it may be too long
    return whole


def _is_schema(value: JsonObject) -> bool:
    return isinstance(value.get("properties"), Mapping) or value.get("type") == "object" or "$ref" in value


def _object_schema(found: cursor.Cursor, value: JsonObject) -> JsonObject:
    form = value if "type" in value else {"type": "object", **value}
    if form.get("type") != "object":
        found.problem("TYPE", "the schema of a form must be an object's")
    _compile(found, form)
    schema_words.warn(found)
    return form


def _compile(found: cursor.Cursor, form: JsonObject) -> None:
    try:
        schema.compile(form)
    except errors.InvalidInput as error:
        found.problem(error.code, error.message, hint=error.hint)


def _property(port: definition.Port) -> JsonObject:
    own: dict[str, Json] = dict(port.schema)
    if port.description:
        own["description"] = port.description
    if port.has_default:
        own["default"] = port.default
    return own


def _on_deny(fields: cursor.Fields) -> tuple[Literal["end", "continue", "bounce"], Return | None]:
    found = fields.get("on_deny")
    if found is None:
        return "end", None
    if not isinstance(found.value, Mapping):
        return cast("Literal['end', 'continue']", found.choice(("end", "continue")) or "end"), None
    way = found.fields({"route_to", "max_bounces"})
    target = None if way is None else way.need("route_to")
    if way is None or target is None or target.text(blank=False) is None:
        return "end", None
    if "max_bounces" not in way:
        way.missing("max_bounces", hint="every loop has a bound")
    return "bounce", Return(route_to=target, max_bounces=way.integer("max_bounces", 1, 1, 20))
