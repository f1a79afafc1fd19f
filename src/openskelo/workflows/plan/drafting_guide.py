"""Builds the instructions for a model that drafts a plan: a short schema of a plan, and what the project offers.

It has to fit into the window of a small model. The short schema therefore leaves out what a draft hardly ever needs
(sampling parameters, notes, versions). It does not forbid them: the draft is checked by the loader, which knows them.
The full schema, which the package publishes for editors, is here too (`plan_schema`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import cast

from openskelo import ops
from openskelo.handlers import project_registry
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import functions
from openskelo.providers import config
from openskelo.workflows.blocks import editor_schema as parts
from openskelo.workflows.plan import plan_loader, step
from openskelo.workflows.project import registries

_PLAN_KEYS = ("plan_id", "budgets")
_STEP_KEYS = ("id", "op", "args", "save_as", "max_visits")
#: Arguments and limits that a draft hardly ever needs, and keywords that the loader checks in any case.
_LEFT_OUT = (
    frozenset({"system", "temperature", "top_p", "seed", "stop", "repairs", "max_new_tokens", "on_denied"})
    | frozenset(
        {"backoff", "delay_ms", "max_delay_ms", "kind", "details", "answer", "resume", "timeout_ms", "approvers"}
    )
    | frozenset({"max_tokens", "max_wall_ms", "max_tool_spend_usd", "max_cost_usd"})
    | frozenset({"minLength", "maxLength", "maxItems", "maximum", "additionalProperties"})
)
#: Patterns that are shortened: the start of a ref says what it is, and the loader checks the rest.
_SHORT_PATTERNS: Mapping[Json, JsonObject] = {ops.REF_PATTERN: {"pattern": "^(var|input|ctx):[A-Za-z0-9_.-]+$"}}
_VALUES: JsonObject = {"type": "object"}
_ANYTHING: JsonObject = {}


def short_schema(registry: project_registry.Registry) -> JsonObject:
    """Return the short schema of a plan, without `$ref`: the schema of a model's answer must be self-contained."""
    whole = plan_schema()
    top = _object_at(whole, "properties")
    step = _object_at(_object_at(whole, "$defs"), "step")
    properties = {key: _object_at(step, "properties")[key] for key in _STEP_KEYS}
    steps: JsonObject = {
        "type": "object",
        "properties": properties,
        "required": step["required"],
        "allOf": [_short_schema_if_op(op, registry) for op in ops.OPS],
    }
    return {
        "type": "object",
        "properties": {
            **{key: _shorten(top[key]) for key in _PLAN_KEYS},
            **dict.fromkeys(("inputs", "variables"), _VALUES),
            "steps": {"type": "array", "minItems": 1, "items": steps},
        },
        "required": ["plan_id", "steps"],
    }


def _short_schema_if_op(op: definition.Op, registry: project_registry.Registry) -> JsonObject:
    """Return the schema of a step with this op.

    The arguments that a checker or transform requires stand beside those of its op, so they are properties, too.
    """
    functions: Mapping[str, project_registry.Function] = {}
    if op == "verify":
        functions = _checkers(registry)
    elif op == "transform":
        functions = _transforms(registry)
    arguments = cast("JsonObject", _shorten(arguments_schema(op)))
    properties = dict(_object_at(arguments, "properties"))
    for function in functions.values():
        for name in _required(function.args):
            properties.setdefault(str(name), _ANYTHING)
    args: dict[str, Json] = {**arguments, "properties": properties}
    groups = ops.OPS[op].one_of
    if groups:
        del args["allOf"]
        args["oneOf"] = [{"required": [name]} for group in groups for name in group]
    then: dict[str, Json] = {"properties": {"args": args}}
    if groups or "required" in arguments:
        then["required"] = ["args"]
    return {"if": {"properties": {"op": {"const": op}}, "required": ["op"]}, "then": then}


def _shorten(value: Json) -> Json:
    """Return a schema without the keys that are left out, and with short patterns."""
    match value:
        case {"pattern": str() as pattern, **rest}:
            return {**cast("JsonObject", _shorten(rest)), **_SHORT_PATTERNS.get(pattern, {})}
        case Mapping():
            return {key: _shorten(part) for key, part in value.items() if key not in _LEFT_OUT}
        case list() | tuple():
            return [_shorten(item) for item in value]
        case _:
            return value


def available(models: config.Config | None, registry: project_registry.Registry) -> JsonObject:
    """Return what a plan in this project may use: experts, tools, checkers, transforms, contexts and modes."""
    experts = dict[str, config.ExpertConfig]() if models is None else models.experts
    tools = {**functions.TOOLS, **registry.tools}
    allowed_tools = {
        name: tool for name, tool in tools.items() if project_registry.capability_denial(registry, tool) is None
    }
    return {
        "experts": {name: _modes(expert.modes) for name, expert in experts.items()},
        "tools": {name: _tool(tool) for name, tool in allowed_tools.items()},
        "checkers": _functions(_checkers(registry)),
        "transforms": _functions(_transforms(registry)),
        "contexts": [name if ":" in name else f"ctx:{name}" for name in registry.contexts],
        "modes": {name: _rule(rule) for name, rule in registry.modes.items()},
    }


def _modes(modes: tuple[str, ...]) -> JsonObject:
    return {"modes": list(modes)} if modes else {}


def _checkers(registry: project_registry.Registry) -> Mapping[str, project_registry.Function]:
    return {**functions.CHECKERS, **registry.checkers}


def _transforms(registry: project_registry.Registry) -> Mapping[str, project_registry.Function]:
    return {**functions.TRANSFORMS, **registry.transforms}


def _tool(tool: project_registry.Tool) -> str:
    modes = f" in {', '.join(tool.modes)}" if tool.modes else ""
    return f"{_signature(tool.args)} {tool.effect}{modes}{_description(tool.description)}"


def _functions(functions: Mapping[str, project_registry.Function]) -> JsonObject:
    return {
        name: f"{_signature(function.args)}{_description(function.description)}" for name, function in functions.items()
    }


def _signature(args: JsonObject | None) -> str:
    """Return the names of arguments in parentheses; optional ones have a question mark."""
    required = _required(args)
    names = _object_at(args or {}, "properties")
    return f"({', '.join(name if name in required else f'{name}?' for name in names)})"


def _description(description: str) -> str:
    return f": {description}" if description else ""


def _rule(rule: project_registry.ModeRule) -> JsonObject:
    lists = {"experts": rule.experts, "tools": rule.tools}
    return {name: list(names) for name, names in lists.items() if names is not None}


def _object_at(document: JsonObject, key: str) -> JsonObject:
    return cast("JsonObject", document.get(key) or {})


def _required(args: JsonObject | None) -> Sequence[Json]:
    return cast("Sequence[Json]", (args or {}).get("required") or ())


# The published JSON Schema of a plan: for editors, and for models that are asked to write a plan.


SCHEMA_ID = "urn:openskelo:schema:plan"

_TEXT: JsonObject = {"type": "string", "minLength": 1}
_NAME: JsonObject = {"pattern": "^[A-Za-z_][A-Za-z0-9_-]{0,63}$"}
_WHOLE: JsonObject = {"type": "integer", "minimum": 0}
_POSITIVE: JsonObject = {"type": "integer", "minimum": 1}
_AMOUNT: JsonObject = {"type": "number", "minimum": 0}
_REF: JsonObject = {"type": "string", "pattern": ops.REF_PATTERN}


def plan_schema() -> JsonObject:
    """Return the schema of a plan."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "OpenSkelo plan",
        "description": "A plan: steps of eight ops, one at a time, over named values.",
        **parts.closed(_top(), required=("plan_id", "steps")),
        "$defs": {"step": _step()},
    }


def schema_text() -> str:
    """Return the schema as the text of the file `schema/plan.schema.json`; a test compares the two.

    `python -m openskelo.workflows.plan.drafting_guide > src/openskelo/workflows/schema/plan.schema.json` generates it.
    """
    return json.dumps(plan_schema(), indent=2, ensure_ascii=False) + "\n"


def arguments_schema(op: definition.Op) -> JsonObject:
    """Return the schema of the arguments of one op."""
    op_definition = ops.OPS[op]
    properties = {name: parts.described(arg.summary, arg.schema) for name, arg in op_definition.args.items()}
    required = [name for name, arg in op_definition.args.items() if arg.required]
    schema: dict[str, Json] = {"type": "object", "description": op_definition.summary, "properties": properties}
    if required:
        schema["required"] = list[Json](required)
    if not op_definition.open:
        schema["additionalProperties"] = False
    if op_definition.one_of:
        schema["allOf"] = [{"oneOf": [{"required": [name]} for name in group]} for group in op_definition.one_of]
    return schema


def _top() -> dict[str, Json]:
    by_name: JsonObject = {"type": "object", "propertyNames": _NAME}
    outputs: JsonObject = {
        "type": "object",
        "patternProperties": {"_refs$": {"type": "array", "items": _REF}, "_ref$": _REF},
        "additionalProperties": False,
    }
    properties: dict[str, Json] = {
        "$schema": {"type": "string"},
        "plan_id": parts.described("What the plan is called; receipts carry it.", {**_TEXT, "maxLength": 200}),
        "mode": parts.described(
            "What the plan may reach; see `modes` of skelo.yaml.", {"enum": list[Json](registries.MODES)}
        ),
        "budgets": parts.described("What a run may take at most; 0 allows none.", parts.closed(_budgets())),
        "inputs": parts.described("What a run is started with, and the value without; null has to be given.", by_name),
        "variables": parts.described("First values of variables.", by_name),
        "steps": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/step"}},
        "outputs": parts.described("What the run gives when no emit has ended it.", outputs),
        "description": {"type": "string"},
        "version": {"type": ["string", "number"]},
        "metadata": {"type": "object"},
    }
    return parts.exactly(properties, plan_loader.KEYS)


def _budgets() -> dict[str, Json]:
    return {
        "max_steps": _WHOLE,
        "max_tokens": _WHOLE,
        "max_wall_ms": _WHOLE,
        "max_tool_spend_usd": _AMOUNT,
        "max_cost_usd": _AMOUNT,
    }


def _step() -> JsonObject:
    properties: dict[str, Json] = {
        "id": {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,63}$"},
        "op": {"enum": list[Json](ops.OPS)},
        "args": {"type": "object"},
        "save_as": parts.described(
            "The variable that holds its value; refs write var:NAME.", {"type": "string", **_NAME}
        ),
        "max_visits": parts.described("How often it may be entered: the bound of a loop.", _POSITIVE),
        "stall_after": parts.described(
            "After how many equal failing verdicts in a row a person is asked; 0 means never.",
            {"type": "integer", "minimum": 0, "maximum": 1000},
        ),
        "timeout_ms": parts.described("How long one try may take.", _POSITIVE),
        "description": {"type": "string"},
    }
    return {
        **parts.closed(parts.exactly(properties, step.KEYS), required=("id", "op")),
        "allOf": [_step_schema_if_op(op) for op in ops.OPS],
    }


def _step_schema_if_op(op: definition.Op) -> JsonObject:
    """Return the part of a step's schema that applies if the step has this op."""
    op_definition = ops.OPS[op]
    then: dict[str, Json] = {"properties": {"args": arguments_schema(op)}}
    if op_definition.one_of or any(arg.required for arg in op_definition.args.values()):
        then["required"] = ["args"]
    return {"if": {"properties": {"op": {"const": op}}, "required": ["op"]}, "then": then}


if __name__ == "__main__":
    sys.stdout.write(schema_text())
