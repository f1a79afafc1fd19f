"""Whether what a step names is there and allowed in the plan's mode: experts, tools, checkers and transforms."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo.frozen import field, frozen
from openskelo.handlers import op_catalog, registry
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config
from openskelo.values import composition, refs, schema
from openskelo.workflows import cursor, literals, suggest
from openskelo.workflows.plan import ops, step


@frozen
class Reach:
    """What the project registers. `models` are None where it names none: a caller may bring its own."""

    mode: definition.PlanMode = "normal"
    models: config.Config | None = None
    registry: registry.Registry = field(default_factory=registry.Registry)
    commands: bool = False


def check(draft: step.Draft, reach: Reach) -> None:
    """Report what the step names and the project does not have, or does not allow."""
    match draft.op:
        case "route_expert":
            _check_expert(draft, reach)
        case "tool_call":
            _check_tool(draft, reach)
        case "verify":
            _check_checker(draft, reach)
        case "transform" if "fn" in draft.args:
            _check_transform(draft, reach)
        case _:
            pass


def tool_of(draft: step.Draft, reach: Reach) -> registry.Tool | None:
    """The tool that a tool_call names, if there is one."""
    name = draft.text("tool_id")
    return None if name is None else op_catalog.tool(reach.registry, name)


def denial(draft: step.Draft, reach: Reach) -> str | None:
    """Why the plan's mode denies the step; None when it does not."""
    if draft.op == "tool_call":
        tool = tool_of(draft, reach)
        return None if tool is None else registry.tool_denial(reach.registry, reach.mode, tool)
    if draft.op != "route_expert":
        return None
    return expert_denial(draft.text("expert_id") or "", reach)


def expert_denial(name: str, reach: Reach) -> str | None:
    """Why the plan's mode denies an expert; None when it does not, or nobody knows the expert."""
    models = reach.models
    expert = None if models is None else models.experts.get(name)
    if models is None or expert is None:
        listed = reach.registry.modes.get(reach.mode, registry.ModeRule()).experts
        unlisted = listed is not None and name not in listed
        return f"the mode {reach.mode!r} does not allow the expert {name!r}" if unlisted else None
    local = config.is_local(models, expert.provider)
    asked = registry.Asked(name=name, modes=expert.modes, local=local)
    return registry.expert_denial(reach.registry, reach.mode, asked)


def _check_expert(draft: step.Draft, reach: Reach) -> None:
    name = draft.text("expert_id")
    if name is None:
        return
    if reach.models is not None and name not in reach.models.experts:
        _unknown(draft.at("expert_id"), "EXPERT_UNKNOWN", "expert", reach.models.experts)
        return
    _check_mode(draft, draft.at("expert_id"), reach)
    if draft.args.get("repairs") and "output_schema" not in draft.args:
        draft.at("repairs").key_problem("CONFLICT", "`repairs` needs `output_schema`: any text is an answer")


def _check_mode(draft: step.Draft, place: cursor.Cursor, reach: Reach) -> None:
    why = denial(draft, reach)
    if why is None:
        return
    tool = tool_of(draft, reach) if draft.op == "tool_call" else None
    undeclared = tool is not None and registry.capability_denial(reach.registry, tool) is not None
    code = "CAPABILITY_DENIED" if undeclared else "MODE_DENIED"
    if "on_denied" in draft.args:
        place.warn(code, f"{why}: the run will go to {draft.text('on_denied')!r}")
    else:
        place.problem(code, why, hint="choose another, allow it in skelo.yaml, or name a step in `on_denied`")


def _check_tool(draft: step.Draft, reach: Reach) -> None:
    place = draft.at("tool_id")
    if draft.text("tool_id") is None:
        return
    tool = tool_of(draft, reach)
    if tool is None:
        _unknown(place, "TOOL_UNKNOWN", "tool", {**op_catalog.TOOLS, **reach.registry.tools})
        return
    _check_mode(draft, place, reach)
    args = draft.args.get("args")
    if isinstance(args, Mapping) and refs.LITERAL not in args:
        _check_args(draft.at("args"), args, tool.args, tool.config)


def _check_checker(draft: step.Draft, reach: Reach) -> None:
    name = draft.text("checker_id")
    if name is None:
        return
    checker = op_catalog.checker(reach.registry, name)
    if checker is None:
        known = {**op_catalog.CHECKERS, **reach.registry.checkers}
        _unknown(draft.at("checker_id"), "CHECKER_UNKNOWN", "checker", known)
        return
    if checker.needs_input and not _is_written(draft.written, "input_ref"):
        draft.written.problem("MISSING_KEY", f"`args` needs the key `input_ref`: {name} checks something")
    if checker.target == "tests_pass" and "argv" not in checker.config and not reach.commands:
        hint = "fix `argv` under `checkers` in skelo.yaml, or allow: {commands: true}"
        draft.at("checker_id").problem("COMMANDS_NOT_ALLOWED", "this project does not allow commands", hint=hint)
    _check_own(draft, checker)


def _check_transform(draft: step.Draft, reach: Reach) -> None:
    name = draft.text("fn")
    if name is None:
        return
    function = op_catalog.transform(reach.registry, name)
    if function is None:
        known = {**op_catalog.TRANSFORMS, **reach.registry.transforms}
        _unknown(draft.at("fn"), "TRANSFORM_UNKNOWN", "transform", known)
        return
    _check_own(draft, function)


def _check_own(draft: step.Draft, function: registry.Function) -> None:
    """The arguments of a function stand beside those of its op; what a built-in compiles of them is compiled now."""
    if function.kind == "builtin":
        literals.check(function.target, draft.args, draft.written)
    rules, common = function.args, ops.TABLE[draft.op].args
    takes = _properties(rules)
    own = {name: value for name, value in draft.args.items() if name not in common or name in takes}
    if rules is None:
        return
    _check_args(draft.written, own, rules, function.config, frozenset(common))


def _check_args(
    place: cursor.Cursor,
    given: JsonObject,
    rules: JsonObject | None,
    fixed: JsonObject,
    common: frozenset[str] = frozenset(),
) -> None:
    """Hold what is written to a schema; what a ref stands for is held to it in the run."""
    if rules is None:
        return
    takes = _properties(rules)
    for name, value in given.items():
        if name in fixed:
            place.at(name, value).key_problem("CONFLICT", f"the project has fixed `{name}`", hint="leave it out")
        elif name in takes:
            _check_value(place.at(name, value), value, composition.part(rules, name))
        elif rules.get("additionalProperties") is False:
            free = [*takes, *common]
            hint = suggest.near(name, free, otherwise=f"known here: {', '.join(free)}")
            place.at(name, value).key_problem("UNKNOWN_KEY", f"unknown key {name[:60]!r}", hint=hint)
    required = rules.get("required")
    for name in required if isinstance(required, list) else ():
        if isinstance(name, str) and name not in fixed and not _is_written(place, name):
            place.problem("MISSING_KEY", f"{place.name} needs the key `{name}`")


def _is_written(place: cursor.Cursor, name: str) -> bool:
    """Whether the author gave the argument; one that is not what it should be has been reported for that."""
    return isinstance(place.value, Mapping) and name in place.value


def _check_value(place: cursor.Cursor, value: Json, rules: JsonObject) -> None:
    if isinstance(value, Mapping) and refs.LITERAL in value:
        place, value = place.at(refs.LITERAL, value[refs.LITERAL]), value[refs.LITERAL]
    elif refs.is_read(value):
        return
    for violation in schema.compile(rules).check(value):
        spot = cursor.Cursor(value, place.path, place.report).below(violation.path)
        spot.problem("ARG_INVALID", f"{place.name}: {violation.message}")


def _properties(rules: JsonObject | None) -> JsonObject:
    found = None if rules is None else rules.get("properties")
    return found if isinstance(found, Mapping) else {}


def _unknown(place: cursor.Cursor, code: str, what: str, known: Mapping[str, object]) -> None:
    text = str(place.value)
    otherwise = f"known: {', '.join(list(known)[:20])}" if known else f"declare it under `{what}s` in skelo.yaml"
    place.problem(code, f"there is no {what} {text[:60]!r}", hint=suggest.near(text, known, otherwise=otherwise))
