"""tool_call: a registered tool, called only where the mode, the project's rules and its schema let it be."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import errors
from openskelo.executors import job, work
from openskelo.executors.ops import given
from openskelo.executors.ops import step as steps
from openskelo.handlers import op_catalog, registry
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical, schema


def make(means: work.Means) -> steps.Op:
    """Calls `tool_id` with `args`; Denied before anything is done when it is not allowed."""

    async def op(one: job.Job) -> Json:
        name = str(one.inputs.get("tool_id"))
        tool = op_catalog.tool(means.project.registry, name)
        if tool is None:
            raise errors.AttemptFailed(
                f"there is no tool {name!r}", code="TOOL_UNKNOWN", hint="declare it under `tools`", retryable=False
            )
        check_allowed(means.project.registry, tool, one)
        found = one.inputs.get("args")
        own: JsonObject = found if isinstance(found, Mapping) else {}
        args = given.merged(own, tool.config)
        given.check(repr(name), args, tool.args)
        one.spent.tool_nanousd += tool.cost_nanousd  # from here on it may have cost something, whatever comes back
        return _admitted(tool, await _call(one, tool, own, means))

    return op


def check_allowed(known: registry.Registry, tool: registry.Tool, one: job.Job) -> None:
    """Nothing when the run's mode and the project allow the tool, else Denied.

    CAPABILITY_DENIED, MODE_DENIED, TOOL_SPEND_DENIED.
    """
    mode = one.task.plan_mode
    undeclared = registry.capability_denial(known, tool)
    if undeclared is not None:
        raise errors.Denied(undeclared, hint="declare it in skelo.yaml")
    denial = registry.tool_denial(known, mode, tool)
    if denial is not None:
        raise errors.Denied(denial, code="MODE_DENIED")
    most = registry.tool_spend(known, mode)
    if most is not None and tool.cost_nanousd > most:
        raise errors.Denied(
            f"one call of {tool.name!r} may cost more than the mode {mode!r} allows in all", code="TOOL_SPEND_DENIED"
        )


async def _call(one: job.Job, tool: registry.Tool, own: JsonObject, means: work.Means) -> object:
    """What the tool gives. Only what the project itself wrote may name secrets, and never what a plan says."""
    player = given.player(one, means)
    if player is not None:
        return await player(given.to(one, means, given.merged(own, tool.config), {}))
    if tool.kind == "builtin":
        from openskelo.executors import tools  # noqa: PLC0415 -- each kind is loaded when first used

        return await tools.call(one, tool, own, means)
    fixed = given.expanded(tool.config, means.project.secrets)
    args = given.merged(own, fixed if isinstance(fixed, Mapping) else {})
    if tool.kind == "mcp":
        return await means.servers().call(tool.target, tool.tool, args, timeout_ms=tool.timeout_ms)
    ctx = given.to(one, means, args, {})
    return await means.project_handlers().call(tool.target, one, ctx, tool.timeout_ms)


def _admitted(tool: registry.Tool, returned: object) -> Json:
    """What came back, when it is JSON and what the tool promised (AttemptFailed TOOL_RETURN)."""
    try:
        value = canonical.admit(returned)
    except errors.InvalidInput as error:
        raise canonical.failed(error, f"what {tool.name!r} gave back is not usable", code="TOOL_RETURN") from error
    found = () if tool.returns is None else schema.compile(tool.returns).check(value)
    if found:
        raise _not_promised(tool, "; ".join(f"{one.path or '/'}: {one.message}" for one in found))
    return value


def _not_promised(tool: registry.Tool, why: str) -> errors.AttemptFailed:
    message = f"what {tool.name!r} gave back is not usable: {why}"
    return errors.AttemptFailed(message, code="TOOL_RETURN", happened="yes")
