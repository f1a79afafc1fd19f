"""Check of what a plan's steps name: the expert, tool, checker or transform exists, and the plan's mode allows it.

Each is either built in or registered in the project file (`skelo.yaml`). Arguments that a step gives are checked
against the schema of what it names; an argument that is a ref is checked when the run has its value.
"""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import ops
from openskelo.handlers import project_registry
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import checkers, functions
from openskelo.providers import config, kinds
from openskelo.structs import field, frozen
from openskelo.values import plan_refs
from openskelo.values.schema import composition, validator
from openskelo.workflows.blocks import expression_scope
from openskelo.workflows.plan import step
from openskelo.workflows.text import cursor, problems


@frozen
class Scope:
    """The names that a plan may use: its mode, and what its project registers and allows."""

    mode: definition.PlanMode = "normal"
    #: None if the project configures none: the caller may then bring any provider.
    models: config.Config | None = None
    registry: project_registry.Registry = field(default_factory=project_registry.Registry)
    commands: bool = False


def check(draft: step.Draft, scope: Scope) -> None:
    """Report each name in the step that the project does not have or does not allow, and what the op itself checks."""
    match draft.op:
        case "route_expert":
            _check_expert(draft, scope)
        case "tool_call":
            _check_tool(draft, scope)
        case "verify":
            _check_checker(draft, scope)
        case "transform" if "fn" in draft.args:
            _check_transform(draft, scope)
        case _:
            pass
    check_args = ops.OPS[draft.op].check
    if check_args is not None:
        check_args(draft.args, draft.written)


def tool_of(draft: step.Draft, scope: Scope) -> project_registry.Tool | None:
    """Return the tool that a tool_call names; None if there is no such tool."""
    name = draft.text("tool_id")
    if name is None:
        return None
    return functions.tool(scope.registry, name)


def denial(draft: step.Draft, scope: Scope) -> str | None:
    """Return why the plan's mode denies the step; None if it does not."""
    if draft.op == "tool_call":
        tool = tool_of(draft, scope)
        if tool is None:
            return None
        return project_registry.tool_denial(scope.registry, scope.mode, tool)
    if draft.op != "route_expert":
        return None
    return expert_denial(draft.text("expert_id") or "", scope)


def expert_denial(name: str, scope: Scope) -> str | None:
    """Return why the plan's mode denies an expert; None if it does not, or if the expert is unknown."""
    models = scope.models
    expert = None if models is None else models.experts.get(name)
    if models is None or expert is None:
        allowed_experts = scope.registry.modes.get(scope.mode, project_registry.ModeRule()).experts
        if allowed_experts is None or name in allowed_experts:
            return None
        return f"the mode {scope.mode!r} does not allow the expert {name!r}"
    local = kinds.is_local(models, expert.provider)
    expert_modes = project_registry.ExpertModes(name=name, modes=expert.modes, local=local)
    return project_registry.expert_denial(scope.registry, scope.mode, expert_modes)


def _check_expert(draft: step.Draft, scope: Scope) -> None:
    name = draft.text("expert_id")
    if name is None:
        return
    if scope.models is not None and name not in scope.models.experts:
        _report_unknown(draft.at("expert_id"), "EXPERT_UNKNOWN", "expert", scope.models.experts)
        return
    _check_mode(draft, draft.at("expert_id"), scope)


def _check_mode(draft: step.Draft, place: cursor.Cursor, scope: Scope) -> None:
    reason = denial(draft, scope)
    if reason is None:
        return
    tool = tool_of(draft, scope) if draft.op == "tool_call" else None
    is_undeclared = tool is not None and project_registry.capability_denial(scope.registry, tool) is not None
    code = "CAPABILITY_DENIED" if is_undeclared else "MODE_DENIED"
    if "on_denied" in draft.args:
        place.warn(code, f"{reason}: the run will go to {draft.text('on_denied')!r}")
    else:
        place.problem(code, reason, hint="choose another, allow it in skelo.yaml, or name a step in `on_denied`")


def _check_tool(draft: step.Draft, scope: Scope) -> None:
    place = draft.at("tool_id")
    if draft.text("tool_id") is None:
        return
    tool = tool_of(draft, scope)
    if tool is None:
        _report_unknown(place, "TOOL_UNKNOWN", "tool", {**functions.TOOLS, **scope.registry.tools})
        return
    _check_mode(draft, place, scope)
    args = draft.args.get("args")
    if isinstance(args, Mapping) and plan_refs.LITERAL not in args:
        _check_args(draft.at("args"), args, tool.args, tool.config)


def _check_checker(draft: step.Draft, scope: Scope) -> None:
    name = draft.text("checker_id")
    if name is None:
        return
    checker = functions.checker(scope.registry, name)
    if checker is None:
        all_checkers = {**functions.CHECKERS, **scope.registry.checkers}
        _report_unknown(draft.at("checker_id"), "CHECKER_UNKNOWN", "checker", all_checkers)
        return
    if checker.needs_input and not _is_written(draft.written, "input_ref"):
        draft.written.problem("MISSING_KEY", f"`args` needs the key `input_ref`: {name} checks something")
    runs_command = checker.kind == "builtin" and checkers.CHECKERS[checker.target].runs_command
    if runs_command and "argv" not in checker.config and not scope.commands:
        hint = "fix `argv` under `checkers` in skelo.yaml, or allow: {commands: true}"
        draft.at("checker_id").problem("COMMANDS_NOT_ALLOWED", "this project does not allow commands", hint=hint)
    _check_function_args(draft, checker)


def _check_transform(draft: step.Draft, scope: Scope) -> None:
    name = draft.text("fn")
    if name is None:
        return
    function = functions.transform(scope.registry, name)
    if function is None:
        all_transforms = {**functions.TRANSFORMS, **scope.registry.transforms}
        _report_unknown(draft.at("fn"), "TRANSFORM_UNKNOWN", "transform", all_transforms)
        return
    _check_function_args(draft, function)


def _check_function_args(draft: step.Draft, function: project_registry.Function) -> None:
    """Check the arguments of a function, which stand beside those of its op; compile what a built-in compiles."""
    if function.kind == "builtin":
        expression_scope.check_literals(function.target, draft.args, draft.written)
    if function.args is None:
        return
    common = ops.OPS[draft.op].args
    parameters = _properties(function.args)
    args = {name: value for name, value in draft.args.items() if name not in common or name in parameters}
    _check_args(draft.written, args, function.args, function.config, frozenset(common))


def _check_args(
    place: cursor.Cursor,
    args: JsonObject,
    schema: JsonObject | None,
    fixed: JsonObject,
    common: frozenset[str] = frozenset(),
) -> None:
    """Check arguments against a schema. `fixed` are set by the project, `common` are the arguments of the op itself."""
    if schema is None:
        return
    parameters = _properties(schema)
    for name, value in args.items():
        if name in fixed:
            place.at(name, value).key_problem("CONFLICT", f"the project has fixed `{name}`", hint="leave it out")
        elif name in parameters:
            _check_value(place.at(name, value), value, composition.property_of(schema, name))
        elif schema.get("additionalProperties") is False:
            allowed_names = [*parameters, *common]
            hint = problems.did_you_mean(name, allowed_names, otherwise=f"known here: {', '.join(allowed_names)}")
            place.at(name, value).key_problem("UNKNOWN_KEY", f"unknown key {name[:60]!r}", hint=hint)
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        if isinstance(name, str) and name not in fixed and name not in args and not _is_written(place, name):
            place.problem("MISSING_KEY", f"{place.name} needs the key `{name}`")


def _is_written(place: cursor.Cursor, name: str) -> bool:
    """True if the author wrote the argument, even with a wrong value: the wrong value is reported elsewhere."""
    return isinstance(place.value, Mapping) and name in place.value


def _check_value(place: cursor.Cursor, value: Json, schema: JsonObject) -> None:
    if isinstance(value, Mapping) and plan_refs.LITERAL in value:
        value = value[plan_refs.LITERAL]
        place = place.at(plan_refs.LITERAL, value)
    elif plan_refs.needs_literal(value):
        return
    for violation in validator.compile(schema).check(value):
        violation_place = cursor.Cursor(value, place.path, place.report).below(violation.path)
        violation_place.problem("ARG_INVALID", f"{place.name}: {violation.message}")


def _properties(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _report_unknown(place: cursor.Cursor, code: str, what: str, known: Mapping[str, object]) -> None:
    text = str(place.value)
    otherwise = f"known: {', '.join(list(known)[:20])}" if known else f"declare it under `{what}s` in skelo.yaml"
    place.problem(
        code, f"there is no {what} {text[:60]!r}", hint=problems.did_you_mean(text, known, otherwise=otherwise)
    )
