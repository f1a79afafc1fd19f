"""Check the CEL texts of a file: which variables they see, which type they return, and where a mistake is.

A reference to a port that does not exist is found by a pattern before CEL compiles the text, because its message is
then about the port and not about types. Uses of `run.inputs` are collected in the report: the inputs of a run are only
known after all blocks are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from openskelo import errors
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import functions
from openskelo.values import plan_refs, template
from openskelo.values.cel import expression
from openskelo.workflows.text import cursor, problems

Variables: TypeAlias = "Mapping[str, JsonObject | None]"

#: `inputs.NAME`, `outputs.NAME` or `run.inputs.NAME`; comments and quoted text match without a group.
_REFERENCE = re.compile(
    r"""//[^\n]*|[rR]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"""|(?<![\w.])(?P<side>inputs|outputs)\s*\.\s*(?P<name>[A-Za-z_]\w*)"""
    r"""|(?<![\w.])run\s*\.\s*(?P<run>inputs)\b(?:\s*\.\s*(?P<input>[A-Za-z_]\w*))?""",
    re.DOTALL,
)
_TEMPLATE_EXPRESSION = re.compile(r"(?<!\\)\{\{(.*?)\}\}", re.DOTALL)

RUN: JsonObject = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "name": {"type": "string"}, "inputs": {"type": "object"}},
    "required": ["id", "name", "inputs"],
    "additionalProperties": False,
}
#: The JSON Schema of a result, by its static CEL type.
_RESULT_SCHEMAS: Mapping[str, JsonObject] = {
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "double": {"type": "number"},
    "string": {"type": "string"},
    "list": {"type": "array"},
    "map": {"type": "object"},
    "null": {"type": "null"},
}
#: The names of types in messages.
_WANTED = {"bool": "true or false", "list": "a list"}


def of_ports(ports: Iterable[definition.Port]) -> JsonObject:
    """Return the schema of the object with the values of all ports, for the variable `inputs` or `outputs`."""
    properties: dict[str, Json] = {}
    required: list[Json] = []
    for port in ports:
        properties[port.name] = port.schema
        if port.required or port.has_default:
            required.append(port.name)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def check_expression(place: cursor.Cursor, variables: Variables, *, wants: str | None = None) -> JsonObject | None:
    """Compile a CEL text; return the schema of its result as far as known, None after a Problem.

    `wants` ("bool", "list") is the type that the result must have.
    """
    text = place.text(blank=False)
    if text is None:
        return None
    if not _check_ports(place, text, variables, 0):
        return None
    try:
        program = expression.compile(text, variables)
    except errors.InvalidInput as error:
        report(place, error)
        return None
    if wants is not None and program.returns not in (wants, "dyn"):
        place.problem("EXPR_TYPE", f"{place.name} must return {_WANTED[wants]}, but this returns {program.returns}")
        return None
    return _RESULT_SCHEMAS.get(program.returns, {})


def inputs_read(text: str) -> frozenset[str]:
    """Return the names of the inputs that an expression reads as `inputs.NAME`."""
    return frozenset(match["name"] for match in _REFERENCE.finditer(text) if match["side"] == "inputs")


def reads_run_inputs(node: definition.Node) -> bool:
    """True if an expression of the node may read the inputs of its run."""
    texts = [node.when, node.config.get("prompt"), None if node.foreach is None else node.foreach.items]
    texts += [None if node.approval is None else node.approval.prompt]
    texts += [gate.params.get("expression") for gate in (*node.pre_gates, *node.post_gates)]
    read = (match["run"] for text in texts if isinstance(text, str) for match in _REFERENCE.finditer(text))
    return "block_dir" in node.config or any(read)


def check_template(place: cursor.Cursor, variables: Variables) -> str:
    """Compile a text with `{{ CEL }}` in it; return the text."""
    text = place.text()
    if text is None:
        return ""
    parts = [
        _check_ports(place, part.group(1), variables, part.start(1), text)
        for part in _TEMPLATE_EXPRESSION.finditer(text)
    ]
    if all(parts):
        try:
            template.compile(text, variables)
        except errors.InvalidInput as error:
            report(place, error)
    return text


def report(place: cursor.Cursor, error: errors.InvalidInput) -> None:
    """Report a mistake inside a text at its line and column in the file."""
    at = error.position if isinstance(error, expression.InvalidExpression) else None
    position = None if at is None else (at.line, at.column)
    place.report.error_within(place.path, error.code, error.message, position, hint=error.hint)


def _check_ports(place: cursor.Cursor, text: str, variables: Variables, offset: int, whole: str | None = None) -> bool:
    """Report every `inputs.NAME` and `outputs.NAME` that is not a port; return True if all are."""
    all_known = True
    for match in _REFERENCE.finditer(text):
        side, name = match.group("side"), match.group("name")
        if match.group("run"):
            port_name = match.group("input")
            position = _position(whole or text, offset + match.start("input" if port_name else "run"))
            place.report.run_reads.append(problems.RunRead(path=place.path, name=port_name, position=position))
        schema = variables.get(side) if side else None
        properties = None if schema is None else schema.get("properties")
        if not isinstance(properties, Mapping) or name in properties:
            continue
        hint = problems.did_you_mean(name, properties)
        position = _position(whole or text, offset + match.start("name"))
        message = f"this block has no {side[:-1]} {name[:60]!r}"
        place.report.error_within(place.path, "UNKNOWN_PORT", message, position, hint=hint)
        all_known = False
    return all_known


def _position(text: str, index: int) -> tuple[int, int]:
    """Return the line and column of an index, both from 1."""
    before = text[:index]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


# Compiles the arguments that a built-in checker or transform compiles when it runs: a pattern, a schema, a template.


def check_literals(target: str, args: JsonObject, position: cursor.Cursor) -> None:
    """Report the arguments at `position` that the built-in `target` could not compile."""
    for name, compile_argument in functions.compilers(target).items():
        if name not in args:
            continue
        value = args[name]
        if isinstance(value, Mapping) and plan_refs.LITERAL in value:
            value = value[plan_refs.LITERAL]
        try:
            compile_argument(value)
        except errors.InvalidInput as error:
            report(position.at(name, value), error)
