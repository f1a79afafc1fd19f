"""What an expression may see, and the check of its text before any run: a mistake is a Problem at its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from openskelo import errors
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import expression, template
from openskelo.workflows import cursor, problems, suggest

Variables: TypeAlias = "Mapping[str, JsonObject | None]"

#: `inputs.NAME`, `outputs.NAME` or `run.inputs.NAME`, looking past comments and quoted text.
_REFERENCE = re.compile(
    r"""//[^\n]*|[rR]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"""|(?<![\w.])(?P<side>inputs|outputs)\s*\.\s*(?P<name>[A-Za-z_]\w*)"""
    r"""|(?<![\w.])run\s*\.\s*(?P<run>inputs)\b(?:\s*\.\s*(?P<given>[A-Za-z_]\w*))?""",
    re.DOTALL,
)
_INSERTED = re.compile(r"(?<!\\)\{\{(.*?)\}\}", re.DOTALL)

RUN: JsonObject = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "name": {"type": "string"}, "inputs": {"type": "object"}},
    "required": ["id", "name", "inputs"],
    "additionalProperties": False,
}
#: What CEL's static type of a result says about the value, as a schema.
_RESULTS: Mapping[str, JsonObject] = {
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "double": {"type": "number"},
    "string": {"type": "string"},
    "list": {"type": "array"},
    "map": {"type": "object"},
    "null": {"type": "null"},
}


def of_ports(ports: Iterable[definition.Port]) -> JsonObject:
    """The schema of all values of a side together: there are no others, and those that need not be there may be asked
    for by `has`."""
    properties: dict[str, Json] = {}
    required: list[Json] = []
    for port in ports:
        properties[port.name] = port.schema
        if port.required or port.has_default:
            required.append(port.name)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def check_expression(found: cursor.Cursor, variables: Variables, *, wants: str | None = None) -> JsonObject | None:
    """Compile a CEL text; gives the schema of its result as far as known, None after a Problem.

    `wants` ("bool", "list") is the type that the result must have.
    """
    text = found.text(blank=False)
    if text is None:
        return None
    if not _check_ports(found, text, variables, 0):
        return None
    try:
        compiled = expression.compile(text, variables)
    except errors.InvalidInput as error:
        report(found, error)
        return None
    if wants is not None and compiled.returns not in (wants, "dyn"):
        found.problem("EXPR_TYPE", f"{found.name} must give {_WANTED[wants]}, and this gives {compiled.returns}")
        return None
    return _RESULTS.get(compiled.returns, {})


def inputs_read(text: str) -> frozenset[str]:
    """The names of the inputs that an expression reads as `inputs.NAME`."""
    return frozenset(match["name"] for match in _REFERENCE.finditer(text) if match["side"] == "inputs")


def reads_run_inputs(node: definition.Node) -> bool:
    """Whether an expression of the node may read the inputs of its run."""
    texts = [node.when, node.config.get("prompt"), None if node.foreach is None else node.foreach.items]
    texts += [None if node.approval is None else node.approval.prompt]
    texts += [gate.params.get("expression") for gate in (*node.pre_gates, *node.post_gates)]
    read = (match["run"] for text in texts if isinstance(text, str) for match in _REFERENCE.finditer(text))
    return "block_dir" in node.config or any(read)


def check_template(found: cursor.Cursor, variables: Variables) -> str:
    """Compile a text with `{{ CEL }}` in it; gives the text."""
    text = found.text()
    if text is None:
        return ""
    parts = [_check_ports(found, part.group(1), variables, part.start(1), text) for part in _INSERTED.finditer(text)]
    if all(parts):
        try:
            template.compile(text, variables)
        except errors.InvalidInput as error:
            report(found, error)
    return text


def report(found: cursor.Cursor, error: errors.InvalidInput) -> None:
    """A mistake inside a text, at its line and column in the file."""
    at = error.position if isinstance(error, expression.InvalidExpression) else None
    position = None if at is None else (at.line, at.column)
    found.report.error_within(found.path, error.code, error.message, position, hint=error.hint)


def _check_ports(found: cursor.Cursor, text: str, variables: Variables, offset: int, whole: str | None = None) -> bool:
    """Whether every `inputs.NAME` is a port; what is none is a Problem of its own, and not one of types."""
    right = True
    for match in _REFERENCE.finditer(text):
        side, name = match.group("side"), match.group("name")
        if match.group("run"):
            named = match.group("given")
            position = _position(whole or text, offset + match.start("given" if named else "run"))
            found.report.run_reads.append(problems.RunRead(path=found.path, name=named, position=position))
        known = variables.get(side) if side else None
        properties = None if known is None else known.get("properties")
        if not isinstance(properties, Mapping) or name in properties:
            continue
        hint = suggest.near(name, properties)
        position = _position(whole or text, offset + match.start("name"))
        message = f"this block has no {side[:-1]} {name[:60]!r}"
        found.report.error_within(found.path, "UNKNOWN_PORT", message, position, hint=hint)
        right = False
    return right


def _position(text: str, index: int) -> tuple[int, int]:
    """The line and column of an index, both from 1."""
    before = text[:index]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


_WANTED = {"bool": "true or false", "list": "a list"}
