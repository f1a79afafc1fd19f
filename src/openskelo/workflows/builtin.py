"""A built-in handler against its block: ports that its config names, texts in it, and the outputs it can give."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo.handlers import catalog, op_catalog, path_template, registry
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.values import schema
from openskelo.workflows import cursor, literals, request, scope, suggest

_TEXT: JsonObject = {"type": "string"}
_COUNT: JsonObject = {"type": "integer"}

#: What the built-ins give whose outputs do not depend on their config.
GIVES: Mapping[str, Mapping[str, JsonObject]] = {
    "builtin:write-file": {"file_path": _TEXT, "bytes_written": _COUNT, "save_summary": _TEXT},
    "builtin:read-file": {"content": _TEXT, "file_path": _TEXT, "bytes": _COUNT},
    "builtin:http-request": {
        "status": _COUNT,
        "ok": {"type": "boolean"},
        "body": {},
        "headers": {"type": "object"},
    },
}
#: The path template of a built-in: where a path comes from when the input that should name it is not set.
_FALLBACKS = {"builtin:write-file": "default_path_template", "builtin:read-file": "path"}


def check(node: definition.Node, block: cursor.Cursor, known: registry.Registry | None) -> None:
    """Everything that only config and ports together can tell. `known` are the project's own functions, if it is
    known which."""
    if node.handler is None or node.handler not in catalog.CONFIG:
        return
    place = block.at("deterministic", None).at("config", node.config)
    inputs = [port.name for port in node.inputs]
    for key, value in node.config.items():
        if key.endswith("_from") and key != "path_from" and isinstance(value, str) and value not in inputs:
            hint = suggest.near(value, inputs)
            place.at(key, value).problem("UNKNOWN_PORT", f"this block has no input {value[:60]!r}", hint=hint)
    _check_path(node, place)
    match node.handler:
        case "builtin:transform":
            _check_transform(node, place)
        case "builtin:http-request":
            request.check(node.config, place, _variables(node))
        case "builtin:step" if known is not None:
            _check_step(node, place, known)
        case _:
            pass
    gives = GIVES.get(node.handler)
    if node.handler == "builtin:pass":
        gives = {port.name: port.schema for port in node.inputs}
    if gives is not None:
        _check_outputs(node, block.at("outputs", None), gives)


def _check_path(node: definition.Node, place: cursor.Cursor) -> None:
    """There has to be some way to a path; an input that is not set leaves the fallback."""
    fallback = _FALLBACKS.get(node.handler or "")
    if fallback is None:
        return
    _check_fields(place.at(fallback, node.config.get(fallback)))
    _check_timestamp(place.at("timestamp_format", node.config.get("timestamp_format")))
    inputs = [port.name for port in node.inputs]
    name = node.config.get("path_from")
    if name in inputs:
        return
    named = place.at("path_from", name)
    if fallback not in node.config:
        if name is None and node.handler == "builtin:write-file":
            place.problem(
                "DET_CONFIG_INVALID", "nothing says where the file is", hint=f"give `path_from` or `{fallback}`"
            )
        elif name is not None:
            hint = suggest.near(str(name), inputs, otherwise=f"give `{fallback}`")
            named.problem("UNKNOWN_PORT", f"this block has no input {str(name)[:60]!r}", hint=hint)
    elif name is not None and name not in [port.name for port in node.outputs]:
        # The seed's own example names an output here; anything else is an oversight.
        hint = suggest.near(str(name), inputs)
        named.warn(
            "UNKNOWN_PORT", f"this block has no input {str(name)[:60]!r}: `{fallback}` is always used", hint=hint
        )


def _check_fields(spot: cursor.Cursor) -> None:
    """A path template has few fields, and a run would fail over any other."""
    text = spot.value if isinstance(spot.value, str) else ""
    if text.startswith("~/"):
        spot.problem("DET_CONFIG_INVALID", "`~` is a folder of that name here, not your home", hint="write {home}/…")
    for name, at in path_template.unknown(text):
        hint = suggest.near(name, path_template.FIELDS, otherwise=f"the fields are {', '.join(path_template.FIELDS)}")
        position = (text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
        message = f"a path template has no field {name[:60]!r}"
        spot.report.error_within(spot.path, "DET_CONFIG_INVALID", message, position, hint=hint)


def _check_timestamp(spot: cursor.Cursor) -> None:
    """What is no token of the format stays as it is, and every file would have the same name."""
    if isinstance(spot.value, str) and (wrong := path_template.untimely(spot.value)) is not None:
        hint = f"its parts are {', '.join(path_template.TOKENS)}"
        spot.problem("DET_CONFIG_INVALID", wrong, hint=hint)


def _check_outputs(node: definition.Node, section: cursor.Cursor, gives: Mapping[str, JsonObject]) -> None:
    for port in node.outputs:
        spot = section.at(port.name, None)
        if port.name not in gives:
            hint = suggest.near(port.name, gives, otherwise=f"it gives {', '.join(gives) or 'nothing'}")
            spot.key_problem("UNKNOWN_PORT", f"{node.handler} gives no {port.name[:60]!r}", hint=hint)
        elif (why := schema.fits(gives[port.name], port.schema)) is not None:
            spot.problem("TYPE_MISMATCH", f"what {node.handler} gives does not fit {port.name!r}: {why}")


def _variables(node: definition.Node) -> dict[str, JsonObject | None]:
    variables: dict[str, JsonObject | None] = {"inputs": scope.of_ports(node.inputs)}
    if node.foreach is not None:
        variables[node.foreach.name] = None
    return variables


def _check_step(node: definition.Node, place: cursor.Cursor, known: registry.Registry) -> None:
    """What the step's checker or transform would compile, where it is a built-in one."""
    args = node.config.get("args")
    if not isinstance(args, Mapping):
        return
    function = None
    match node.config.get("op"):
        case "verify" if isinstance(name := args.get("checker_id"), str):
            function = op_catalog.checker(known, name)
        case "transform" if isinstance(name := args.get("fn"), str):
            function = op_catalog.transform(known, name)
        case _:
            pass
    if function is not None and function.kind == "builtin":
        literals.check(function.target, args, place.at("args", args))


def _check_transform(node: definition.Node, place: cursor.Cursor) -> None:
    variables = _variables(node)
    outputs = {port.name: port for port in node.outputs}
    given: set[str] = set()
    for section in ("map", "template"):
        texts = node.config.get(section)
        for name, text in texts.items() if isinstance(texts, Mapping) else ():
            spot = place.at(section, texts).at(name, text)
            if name in given:
                spot.key_problem("CONFLICT", f"{name[:60]!r} has a value in `map` already", hint="leave one out")
            given.add(name)
            _check_output(spot, section, outputs, variables)
    for name, port in outputs.items():
        if port.required and not port.has_default and name not in given:
            place.problem("OUTPUT_MISSING", f"nothing here gives the output {name!r}")


def _check_output(
    spot: cursor.Cursor, section: str, outputs: Mapping[str, definition.Port], variables: scope.Variables
) -> None:
    name = str(spot.path[-1])
    port = outputs.get(name)
    if port is None:
        hint = suggest.near(name, outputs)
        spot.key_problem("UNKNOWN_PORT", f"this block has no output {name[:60]!r}", hint=hint)
    if section == "template":
        scope.check_template(spot, variables)
        result: JsonObject | None = {"type": "string"}
    else:
        result = scope.check_expression(spot, variables)
    if port is not None and result is not None and (why := schema.fits(result, port.schema)) is not None:
        spot.problem("TYPE_MISMATCH", f"this does not fit the output {name!r}: {why}")
