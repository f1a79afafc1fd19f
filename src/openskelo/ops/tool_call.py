"""`tool_call`: calls a registered tool, if the plan's mode, the project's rules and the tool's schema allow it."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import errors, ops
from openskelo.handlers import project_registry
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import functions, tools
from openskelo.ops.functions import arguments
from openskelo.values import canonical
from openskelo.values.schema import validator


async def _perform(ctx: ops.StepContext) -> Json:
    name = str(ctx.args.get("tool_id"))
    registry = ctx.project.registry
    tool = functions.tool(registry, name)
    if tool is None:
        raise errors.AttemptFailed(
            f"there is no tool {name!r}", code="TOOL_UNKNOWN", hint="declare it under `tools`", retryable=False
        )
    _check_allowed(registry, tool, ctx.mode)
    tool_arguments = ctx.args.get("args")
    plan_args: JsonObject = tool_arguments if isinstance(tool_arguments, Mapping) else {}
    arguments.check(repr(name), arguments.merge(plan_args, tool.config), tool.args)
    ctx.add_tool_cost(tool.cost_nanousd)  # from here on the call may have cost something, even if it fails
    return _check_returned(tool, await _call(ctx, tool, plan_args))


def _check_allowed(registry: project_registry.Registry, tool: project_registry.Tool, mode: definition.PlanMode) -> None:
    """Raise Denied if the mode or the project forbids the tool.

    CAPABILITY_DENIED, MODE_DENIED, TOOL_SPEND_DENIED.
    """
    undeclared_capability = project_registry.capability_denial(registry, tool)
    if undeclared_capability is not None:
        raise errors.Denied(undeclared_capability, hint="declare it in skelo.yaml")
    denial = project_registry.tool_denial(registry, mode, tool)
    if denial is not None:
        raise errors.Denied(denial, code="MODE_DENIED")
    max_spend = project_registry.tool_spend(registry, mode)
    if max_spend is not None and tool.cost_nanousd > max_spend:
        raise errors.Denied(
            f"one call of {tool.name!r} may cost more than the mode {mode!r} allows in all", code="TOOL_SPEND_DENIED"
        )


async def _call(ctx: ops.StepContext, tool: project_registry.Tool, plan_args: JsonObject) -> object:
    """Return what the tool returns. Only arguments that the project fixed may name secrets, never those of a plan."""
    stand_in = ctx.stand_in()
    if stand_in is not None:
        return await stand_in(ctx.handler_context(arguments.merge(plan_args, tool.config), {}))
    fixed_arguments = arguments.expand_secrets(tool.config, ctx.project.secrets)
    args = arguments.merge(plan_args, fixed_arguments if isinstance(fixed_arguments, Mapping) else {})
    if tool.kind == "builtin":
        return await _call_builtin(ctx, tool, args, plan_args)
    if tool.kind == "mcp":
        return await ctx.call_mcp_tool(tool.target, tool.tool, args, tool.timeout_ms)
    return await ctx.call_project_function(tool.target, ctx.handler_context(args, {}), tool.timeout_ms)


async def _call_builtin(
    ctx: ops.StepContext, tool: project_registry.Tool, args: JsonObject, plan_args: JsonObject
) -> Json:
    from openskelo.programs import time_limit  # noqa: PLC0415 -- imports asyncio

    builtin = tools.TOOLS[tool.target]
    arguments.check(repr(tool.name), args, builtin.args)
    tool_context = tools.ToolContext(
        args=args,
        plan_args=plan_args,
        registered=tool,
        project=ctx.project,
        handler_context=ctx.handler_context,
    )
    return await time_limit.within(tool.timeout_ms, builtin.call(tool_context))


def _check_returned(tool: project_registry.Tool, returned: object) -> Json:
    """Return what the tool returned, if it is JSON and keeps the schema `returns` (AttemptFailed TOOL_RETURN)."""
    message = f"what {tool.name!r} gave back is not usable"
    try:
        value = canonical.admit(returned)
    except errors.InvalidInput as error:
        raise canonical.attempt_failure(error, message, code="TOOL_RETURN") from error
    violations = () if tool.returns is None else validator.compile(tool.returns).check(value)
    if violations:
        reason = arguments.list_violations(violations)
        raise errors.AttemptFailed(f"{message}: {reason}", code="TOOL_RETURN", happened="yes")
    return value


def _words(ctx: ops.ExplainContext) -> str:
    return f"{ctx.arg('tool_id')} {ctx.compact(ctx.arg('args'))} ({ctx.node.effect})"


OP = ops.Op(
    name="tool_call",
    summary="calls a registered tool and saves its result",
    args={
        "tool_id": ops.name_arg("a tool of skelo.yaml, or a built-in one"),
        "args": ops.value_arg("the tool's arguments, with refs at any depth", {"type": "object"}, default={}),
        "on_denied": ops.on_denied_arg(),
    },
    perform=_perform,
    words=_words,
)
