"""What whoever drafts a plan is told: the shape of a plan, as small as it can be said, and what its project has.

Models with a small window have to fit it in. What a draft hardly ever needs (how an answer is sampled, notes, versions)
is left out of the shape, and not forbidden: the checker knows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from openskelo.handlers import op_catalog, registry
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config
from openskelo.workflows.plan import ops, schema

_OF_A_PLAN = ("plan_id", "budgets")
_OF_A_STEP = ("id", "op", "args", "save_as", "max_visits")
#: Arguments and limits that a draft hardly ever needs, and keywords that the checker holds it to in any case.
_LEFT_OUT = (
    frozenset({"system", "temperature", "top_p", "seed", "stop", "repairs", "max_new_tokens", "on_denied"})
    | frozenset(
        {"backoff", "delay_ms", "max_delay_ms", "kind", "details", "answer", "resume", "timeout_ms", "approvers"}
    )
    | frozenset({"max_tokens", "max_wall_ms", "max_tool_spend_usd", "max_cost_usd"})
    | frozenset({"minLength", "maxLength", "maxItems", "maximum", "additionalProperties"})
)
#: The beginning of a ref says what it is; the checker reads the rest of it, and what other steps are called.
_SHORT: Mapping[Json, JsonObject] = {ops.REF_PATTERN: {"pattern": "^(var|input|ctx):[A-Za-z0-9_.-]+$"}}
_VALUES: JsonObject = {"type": "object"}
_ANYTHING: JsonObject = {}


def shape(found: registry.Registry) -> JsonObject:
    """What of the published schema a plan is written with, in one piece: an answer's schema cannot look elsewhere."""
    whole = schema.schema()
    top = _object_at(whole, "properties")
    step = _object_at(_object_at(whole, "$defs"), "step")
    properties = {key: _object_at(step, "properties")[key] for key in _OF_A_STEP}
    steps: JsonObject = {
        "type": "object",
        "properties": properties,
        "required": step["required"],
        "allOf": [_case(op, found) for op in ops.OPS],
    }
    return {
        "type": "object",
        "properties": {
            **{key: _short(top[key]) for key in _OF_A_PLAN},
            **dict.fromkeys(("inputs", "variables"), _VALUES),
            "steps": {"type": "array", "minItems": 1, "items": steps},
        },
        "required": ["plan_id", "steps"],
    }


def _case(op: definition.Op, found: registry.Registry) -> JsonObject:
    """What a step of an op needs; beside it may stand what a function needs that the op can name."""
    known: Mapping[str, registry.Function] = {}
    if op in ("verify", "transform"):
        known = _checkers(found) if op == "verify" else _transforms(found)
    needed = [_needed(one.args) for one in known.values()]
    said = cast("JsonObject", _short(schema.arguments(op)))
    own = _object_at(said, "properties")
    beside = {str(name): _ANYTHING for names in needed for name in names if name not in own}
    args: dict[str, Json] = {**said, "properties": {**own, **beside}}
    groups = ops.TABLE[op].one_of
    if groups:
        del args["allOf"]
        args["oneOf"] = [{"required": [name]} for group in groups for name in group]
    then: dict[str, Json] = {"properties": {"args": args}}
    if groups or "required" in said:
        then["required"] = ["args"]
    return {"if": {"properties": {"op": {"const": op}}, "required": ["op"]}, "then": then}


def _short(said: Json) -> Json:
    """A schema without what is left out, its patterns in short."""
    match said:
        case {"pattern": str() as pattern, **rest}:
            return {**cast("JsonObject", _short(rest)), **_SHORT.get(pattern, {})}
        case Mapping():
            return {key: _short(value) for key, value in said.items() if key not in _LEFT_OUT}
        case list() | tuple():
            return [_short(one) for one in said]
        case _:
            return said


def available(models: config.Config | None, found: registry.Registry) -> JsonObject:
    """What a plan in this project may use, for whoever writes one."""
    experts = dict[str, config.ExpertConfig]() if models is None else models.experts
    tools = {**op_catalog.TOOLS, **found.tools}
    allowed = {name: tool for name, tool in tools.items() if registry.capability_denial(found, tool) is None}
    return {
        "experts": {name: _modes(one.modes) for name, one in experts.items()},
        "tools": {name: _tool(tool) for name, tool in allowed.items()},
        "checkers": _functions(_checkers(found)),
        "transforms": _functions(_transforms(found)),
        "contexts": [name if ":" in name else f"ctx:{name}" for name in found.contexts],
        "modes": {name: _rule(rule) for name, rule in found.modes.items()},
    }


def _modes(modes: tuple[str, ...]) -> JsonObject:
    return {"modes": list(modes)} if modes else {}


def _checkers(found: registry.Registry) -> Mapping[str, registry.Function]:
    return {**op_catalog.CHECKERS, **found.checkers}


def _transforms(found: registry.Registry) -> Mapping[str, registry.Function]:
    return {**op_catalog.TRANSFORMS, **found.transforms}


def _tool(tool: registry.Tool) -> str:
    modes = f" in {', '.join(tool.modes)}" if tool.modes else ""
    return f"{_signature(tool.args)} {tool.effect}{modes}{_said(tool.description)}"


def _functions(known: Mapping[str, registry.Function]) -> JsonObject:
    return {name: f"{_signature(one.args)}{_said(one.description)}" for name, one in known.items()}


def _signature(args: JsonObject | None) -> str:
    """The names of arguments; those that may be left out have a question mark."""
    needed = _needed(args)
    names = _object_at(args or {}, "properties")
    return f"({', '.join(name if name in needed else f'{name}?' for name in names)})"


def _said(description: str) -> str:
    return f": {description}" if description else ""


def _rule(rule: registry.ModeRule) -> JsonObject:
    listed = {"experts": rule.experts, "tools": rule.tools}
    return {name: list(names) for name, names in listed.items() if names is not None}


def _object_at(found: JsonObject, key: str) -> JsonObject:
    return cast("JsonObject", found.get(key) or {})


def _needed(args: JsonObject | None) -> Sequence[Json]:
    return cast("Sequence[Json]", (args or {}).get("required") or ())
