"""Reads a block's gates: the checks before its inputs and after its outputs.

Which types there are, and their parameters, is in `openskelo.gates`. This module reads each kind of parameter at its
position in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from openskelo import errors, gates
from openskelo.handlers import http_syntax
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen, replace
from openskelo.values import path_scope, regex
from openskelo.values.schema import validator
from openskelo.workflows.blocks import expression_scope, handlers, ports
from openskelo.workflows.text import cursor, problems


@frozen
class Scope:
    """The values that a block's gates may read."""

    #: The ports that a gate may name.
    values: frozenset[str]
    variables: expression_scope.Variables
    before: bool
    commands: bool
    folders: handlers.Folders | None


def _port(found: cursor.Cursor, scope: Scope) -> Json:
    name = found.text(blank=False)
    if name is not None and name not in scope.values:
        side = "input" if scope.before else "port"
        early = "a gate before the work sees inputs only" if scope.before else None
        hint = problems.did_you_mean(name, scope.values, otherwise=early)
        found.problem("UNKNOWN_PORT", f"this block has no {side} {name[:60]!r}", hint=hint)
    return name


def _schema(found: cursor.Cursor) -> Json:
    fields = found.fields()
    if fields is None:
        return {}
    try:
        validator.compile(fields.value)
    except errors.InvalidInput as error:
        found.problem(error.code, error.message, hint=error.hint)
    ports.warn_unknown_keywords(found)
    return fields.value


def _pattern(found: cursor.Cursor) -> Json:
    text = found.text(blank=False)
    if text is not None:
        try:
            regex.compile(text)
        except errors.InvalidInput as error:
            found.problem(error.code, error.message, hint=error.hint)
    return text


def _argv(found: cursor.Cursor, scope: Scope) -> Json:
    if not scope.commands:
        hint = "write `allow: {commands: true}` into skelo.yaml"
        found.key_problem("COMMANDS_NOT_ALLOWED", "this project does not allow command gates", hint=hint)
    if isinstance(found.value, str):
        found.wrong_type("a list", hint="one entry for each argument; there is no shell")
        return []
    if found.value == []:
        found.problem("EMPTY", "`argv` is empty")
    words = [_argument(entry, blank=index > 0) for index, entry in enumerate(found.items() or [])]
    if scope.folders is not None:
        handlers.check_program(found, [word or "" for word in words], scope.folders)
    return list(words)


def _argument(entry: cursor.Cursor, *, blank: bool) -> str | None:
    text = entry.text(blank=blank)
    if text is not None and "\0" in text:
        entry.problem("TEXT_INVALID", f"{entry.name} holds a NUL character, which no program can be given")
    return text


def _texts(found: cursor.Cursor) -> Json:
    entries = found.items() or []
    if found.value == []:
        found.problem("EMPTY", f"{found.name} is empty")
    return [entry.text(blank=False) for entry in entries]


def _url(found: cursor.Cursor) -> Json:
    url = found.text(blank=False)
    if url is not None and "{{" in url:
        hint = "ask by a block with builtin:http-request, and judge its answer by an expr gate"
        found.problem("URL_INVALID", "`{{ … }}` is not filled in here: the address of a gate is fixed", hint=hint)
    elif url is not None and (fault := http_syntax.url_fault(url)) is not None:
        found.problem("URL_INVALID", f"the URL is not usable: {fault}")
    return url


def _path(found: cursor.Cursor, scope: Scope) -> Json:
    """Return a path, or the map that names the port of one."""
    if not isinstance(found.value, Mapping):
        path = found.text(blank=False)
        fault = None if path is None else path_scope.find_fault(path)
        if fault is not None:
            found.problem("PATH_INVALID", f"not a path from the folder of the work: {fault}")
        return path
    fields = found.fields({"port"})
    port = None if fields is None else fields.need("port")
    return {"port": None if port is None else _port(port, scope)}


def _json(found: cursor.Cursor, schema: JsonObject) -> Json:
    for violation in validator.compile(schema).check(found.value):
        found.below(violation.path).problem("ARG_INVALID", violation.message)
    return found.value


def _read_parameter(found: cursor.Cursor, parameter: gates.Parameter, scope: Scope) -> Json:
    """Return the value of a parameter; what is wrong with it is a Problem."""
    match parameter.kind:
        case "port":
            return _port(found, scope)
        case "expression":
            expression_scope.check_expression(found, scope.variables, wants="bool")
            return found.value
        case "pattern":
            return _pattern(found)
        case "schema":
            return _schema(found)
        case "argv":
            return _argv(found, scope)
        case "url":
            return _url(found)
        case "text":
            return found.text(blank=False)
        case "texts":
            return _texts(found)
        case "flag":
            return found.flag()
        case "integer":
            return found.integer(int(parameter.low), int(parameter.high))
        case "number":
            return found.number(parameter.low, parameter.high)
        case "choice":
            return found.choice(parameter.options)
        case "path":
            return _path(found, scope)
        case "json":
            return _json(found, parameter.schema)
        case _:
            assert_never(parameter.kind)


_OWN = frozenset({"name", "type", "error"})


def read_both(
    node: definition.Node,
    pre: cursor.Cursor | None,
    post: cursor.Cursor | None,
    *,
    commands: bool,
    folders: handlers.Folders | None,
) -> definition.Node:
    """Return the node with its gates. The name of a gate is unique in its block; the default is its type."""
    first = _read(pre, before(node, commands=commands, folders=folders), {})
    # The exit node of a sub-workflow has no access to the inputs of the block.
    visible_node = replace(node, inputs=()) if node.work.is_subworkflow else node
    second = _read(post, after(visible_node, commands=commands, folders=folders), first)
    return replace(node, pre_gates=tuple(first.values()), post_gates=tuple(second.values()))


def _read(
    found: cursor.Cursor | None, scope: Scope, taken: Mapping[str, definition.Gate]
) -> dict[str, definition.Gate]:
    by_name: dict[str, definition.Gate] = {}
    for entry in [] if found is None else found.items() or []:
        gate = _gate(entry, scope)
        if gate is None:
            continue
        if gate.name in by_name or gate.name in taken:
            hint = "give it a `name` of its own"
            entry.problem("DUPLICATE_GATE", f"two gates of this block are called {gate.name!r}", hint=hint)
        by_name[gate.name] = gate
    return by_name


def _gate(entry: cursor.Cursor, scope: Scope) -> definition.Gate | None:
    fields = entry.fields()
    if fields is None:
        return None
    type_field = fields.need("type")
    if type_field is None or (word := type_field.text(blank=False)) is None:
        return None
    gate_type = gates.GATES.get(word)
    if gate_type is None:
        hint = problems.did_you_mean(word, gates.GATES, otherwise=f"types: {', '.join(gates.GATES)}")
        type_field.problem("GATE_UNKNOWN", f"there is no gate type {word[:60]!r}", hint=hint)
        return None
    if gate_type.measures_work and scope.before:
        type_field.problem("GATE_TOO_EARLY", f"a {word} gate measures the work; it belongs to post_gates")
    return definition.Gate(
        name=fields.text("name") or word,
        type=word,
        params=_params(fields, gate_type, scope),
        error=fields.text("error"),
    )


def _params(fields: cursor.Fields, gate_type: gates.Gate, scope: Scope) -> dict[str, Json]:
    fields.cursor.fields(gate_type.parameters.keys() | _OWN)
    params: dict[str, Json] = {}
    for key, parameter in gate_type.parameters.items():
        position = fields.get(key)
        if position is not None:
            params[key] = _read_parameter(position, parameter, scope)
        elif parameter.required:
            fields.missing(key)
    if gate_type.any_of and not any(key in fields for key in gate_type.any_of):
        fields.missing(" or ".join(gate_type.any_of))
    low, high = params.get("min"), params.get("max")
    if isinstance(low, int) and isinstance(high, int) and low > high:
        fields.cursor.problem("RANGE", f"`min` ({low}) is above `max` ({high})")
    return params


def before(node: definition.Node, *, commands: bool, folders: handlers.Folders | None) -> Scope:
    """Return the scope of pre gates: the inputs, the run, and the item of a foreach."""
    variables = _variables(node)
    return Scope(
        values=frozenset(port.name for port in node.inputs),
        variables=variables,
        before=True,
        commands=commands,
        folders=folders,
    )


def after(node: definition.Node, *, commands: bool, folders: handlers.Folders | None) -> Scope:
    """Return the scope of post gates: that of pre gates, and the outputs."""
    variables = {**_variables(node), "outputs": expression_scope.of_ports(node.outputs)}
    values = frozenset(ports.by_name((*node.inputs, *node.outputs)))
    return Scope(values=values, variables=variables, before=False, commands=commands, folders=folders)


def _variables(node: definition.Node) -> expression_scope.Variables:
    variables: dict[str, Mapping[str, Json] | None] = {
        "inputs": expression_scope.of_ports(node.inputs),
        "run": expression_scope.RUN,
    }
    if node.foreach is not None:
        variables[node.foreach.name] = None
    return variables
