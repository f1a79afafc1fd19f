"""Write the parts of the reference, and the JSON Schemas for editors, that the catalogs of extensions define.

A built-in handler, a gate type, an op, a checker, a tool, a transform and a kind of provider say in their file what
they take and do. This script writes that between two comments of a page in `docs/reference/`; the rest of the page is
written by hand. `make reference` runs it, and `tests/docs/test_written_reference.py` compares.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from openskelo import gates, ops
from openskelo.handlers import builtin
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import checkers, tools, transforms
from openskelo.providers import kinds
from openskelo.workflows.blocks import editor_schema
from openskelo.workflows.plan import drafting_guide

ROOT = Path(__file__).resolve().parent.parent
_KEYS = "| key | value | default | meaning |\n| --- | --- | --- | --- |\n"
#: What stands in the column "value" of a gate's parameter whose kind says more than its schema.
_GATE_VALUES = {
    "port": "port",
    "expression": "CEL",
    "pattern": "RE2",
    "schema": "JSON Schema 2020-12",
    "url": "http or https",
}
#: What stands in the column "value" of an op's argument whose kind says more than its schema.
_OP_VALUES = {"ref": "ref", "refs": "list of refs", "step": "step id"}


def texts() -> dict[Path, str]:
    """Return the text of every file that is written from the catalogs, as it should be."""
    pages: dict[str, dict[str, Callable[[], str]]] = {
        "builtin-handlers.md": {"handlers": _handlers},
        "gates.md": {"no verdict": _no_verdict, "gates": _gates},
        "plan.md": {"ops": _ops},
        "ops.md": {"tools": _tools, "checkers": _checkers, "transforms": _transforms},
        "blocks-file.md": {"kinds of providers": _kinds},
    }
    schemas = ROOT / "src" / "openskelo" / "workflows" / "schema"
    written = {
        schemas / "blocks.schema.json": editor_schema.text(),
        schemas / "plan.schema.json": drafting_guide.schema_text(),
    }
    for name, sections in pages.items():
        path = ROOT / "docs" / "reference" / name
        text = path.read_text("utf-8")
        for section, write in sections.items():
            text = _replace(text, section, write())
        written[path] = text
    return written


def _replace(page: str, section: str, text: str) -> str:
    """Return the page with `text` between the two comments of a section (LookupError if it has none)."""
    between = re.compile(rf"(<!-- begin: {section} .*?-->\n).*?(<!-- end: {section} -->)", re.DOTALL)
    match = between.search(page)
    if match is None:
        raise LookupError(f"the page has no section {section!r}")
    return f"{page[: match.start()]}{match[1]}\n{text.strip()}\n\n{match[2]}{page[match.end() :]}"


# -- the sections -----------------------------------------------------------------------------------------------------


def _handlers() -> str:
    return "\n\n".join(_handler(handler) for handler in builtin.HANDLERS.values())


def _handler(handler: builtin.Handler) -> str:
    effect = "" if handler.effect_by is not None else f" Effect: `{handler.effect}`."
    required = _names(handler.config.get("required"))
    rows: list[str] = []
    for name, schema in _properties(handler.config).items():
        value = "input port" if name.endswith("_from") else _value(schema)
        if name in handler.templates:
            value = f"{value}, its texts with `{{{{ CEL }}}}`" if value != "text" else "text with `{{ CEL }}`"
        rows.append(_row(name, value, _default(schema, required=name in required), _text(schema, "description")))
    return _section(f"## `{handler.name}`", f"{handler.summary}{effect}", _KEYS, rows, handler.doc)


def _gates() -> str:
    return "\n\n".join(_gate(gate) for gate in gates.GATES.values())


def _gate(gate: gates.Gate) -> str:
    notes = [gate.summary]
    if gate.any_of:
        notes.append(f"{_listed(gate.any_of, ' or ')} is required.")
    if gate.measures_work:
        notes.append("After the work only.")
    rows: list[str] = []
    for name, parameter in gate.parameters.items():
        value = _GATE_VALUES.get(parameter.kind) or _value(parameter.schema)
        schema: JsonObject = {"default": parameter.default}
        rows.append(_row(name, value, _default(schema, required=parameter.required), parameter.doc))
    return _section(f"## `{gate.name}`", " ".join(notes), _KEYS, rows, gate.doc)


def _no_verdict() -> str:
    rows = [
        f"| `{gate.name}` | {reason} | {code} |\n" for gate in gates.GATES.values() for reason, code in gate.no_verdict
    ]
    return "| gate | could not be asked | code |\n| --- | --- | --- |\n" + "".join(rows)


def _ops() -> str:
    return "\n\n".join(_op(op) for op in ops.OPS.values())


def _op(op: ops.Op) -> str:
    groups = "".join(f"\n\nExactly one of {_listed(group, ', ')}." for group in op.one_of)
    rows: list[str] = []
    for name, arg in op.args.items():
        value = _OP_VALUES.get(arg.kind) or _value(arg.schema)
        more = ", with refs" if arg.kind == "value" else ""
        schema: JsonObject = {"default": arg.default}
        rows.append(_row(name, value + more, _default(schema, required=arg.required), arg.summary))
    head = _KEYS.replace("key", "argument", 1)
    summary = f"{op.summary[0].upper()}{op.summary[1:]}.{groups}"
    return _section(f"### {op.name}", summary, head, rows, op.doc)


def _tools() -> str:
    head = "| built-in | arguments | effect | returns |\n| --- | --- | --- | --- |\n"
    rows: list[str] = []
    for tool in tools.TOOLS.values():
        declared = "; must be declared" if tool.effect != "pure" or tool.network else ""
        rows.append(f"| `{tool.name}` | {_arguments(tool.args)} | {tool.effect} | {tool.summary}{declared} |\n")
    return _paragraphs("".join([head, *rows]), *(tool.doc for tool in tools.TOOLS.values()))


def _checkers() -> str:
    head = "| built-in | arguments beside `input_ref` | holds when |\n| --- | --- | --- |\n"
    rows = [
        f"| `{checker.name}` | {_arguments(checker.args)} | {checker.summary} |\n"
        for checker in checkers.CHECKERS.values()
    ]
    return _paragraphs("".join([head, *rows]), *(checker.doc for checker in checkers.CHECKERS.values()))


def _transforms() -> str:
    head = "| built-in | arguments | makes |\n| --- | --- | --- |\n"
    rows = [
        f"| `{transform.name}` | {_arguments(transform.args)} | {transform.summary} |\n"
        for transform in transforms.TRANSFORMS.values()
    ]
    return _paragraphs("".join([head, *rows]), *(transform.doc for transform in transforms.TRANSFORMS.values()))


def _kinds() -> str:
    return "\n".join(f"- `{kind.name}`: {kind.summary} {kind.doc}." for kind in kinds.KINDS.values())


# -- their parts ------------------------------------------------------------------------------------------------------


def _section(title: str, summary: str, head: str, rows: list[str], doc: str) -> str:
    return _paragraphs(title, summary, "".join([head, *rows]) if rows else "", doc)


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _row(name: str, value: str, default: str, meaning: str) -> str:
    cells = [f"`{name}`", value, default, meaning]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _default(schema: JsonObject, *, required: bool) -> str:
    default = schema.get("default")
    if required:
        return "required"
    return "" if default is None else f"`{default if isinstance(default, str) else json.dumps(default)}`"


def _arguments(schema: JsonObject) -> str:
    listed: list[str] = []
    for name, rules in _properties(schema).items():
        default = rules.get("default")
        listed.append(f"`{name}`" if default is None else f"`{name}` ({default})")
    return ", ".join(listed)


def _value(schema: JsonObject) -> str:
    """Return what a JSON Schema accepts, in a few words."""
    match schema:
        case {"enum": list() as options}:
            return f"one of {_listed(_names(options), ', ')}"
        case {"type": "string"}:
            return "text"
        case {"type": "boolean"}:
            return "true or false"
        case {"type": "integer"}:
            return f"whole number{_bounds(schema)}"
        case {"type": "number"}:
            return f"number{_bounds(schema)}"
        case {"type": "array", "items": Mapping() as items} if items:
            return "list of texts" if items.get("type") == "string" else f"list of: {_value(items)}"
        case {"type": "array"}:
            return "list"
        case {"type": "object", "additionalProperties": {"type": "string"}}:
            return "map of texts"
        case {"type": "object"}:
            return "map"
        case _:
            return "any value"


def _bounds(schema: JsonObject) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if high is not None:
        return f", {low or 0} to {high}"
    return "" if low is None else f", at least {low}"


def _properties(schema: JsonObject) -> Mapping[str, JsonObject]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: rules for name, rules in properties.items() if isinstance(rules, Mapping)}


def _names(value: Json) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list) else []


def _text(schema: JsonObject, key: str) -> str:
    value = schema.get(key)
    return value if isinstance(value, str) else ""


def _listed(names: Iterable[str], separator: str) -> str:
    return separator.join(f"`{name}`" for name in names)


def main() -> None:
    """Write every file whose text is not as it should be."""
    for path, text in texts().items():
        if path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
