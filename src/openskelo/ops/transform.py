"""`transform`: makes a value of other values, without effects: by a registered function, or by an expression."""

from __future__ import annotations

from typing import cast

from openskelo import errors, ops
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import functions, transforms
from openskelo.ops.functions import arguments
from openskelo.values import canonical
from openskelo.values.cel import plan_expression


async def _perform(ctx: ops.StepContext) -> Json:
    if "expr" in ctx.step.args:
        # The engine has put the scope of the expression beside its text.
        return plan_expression.evaluate(cast("JsonObject", ctx.args["expr"]))
    return await _call_function(ctx)


async def _call_function(ctx: ops.StepContext) -> Json:
    name = str(ctx.args.get("fn"))
    function = functions.transform(ctx.project.registry, name)
    if function is None:
        raise errors.AttemptFailed(
            f"there is no transform {name!r}",
            code="TRANSFORM_UNKNOWN",
            hint="declare it under `transforms`",
            retryable=False,
        )
    plan_args = {key: value for key, value in ctx.args.items() if key != "fn"}
    args = arguments.merge(plan_args, function.config)
    arguments.check(repr(name), args, function.args)
    if function.kind == "builtin":
        return transforms.TRANSFORMS[function.target].apply(args, ctx.step.args)
    handler_context = ctx.handler_context(args, {})
    result = await ctx.call_project_function(function.target, handler_context, function.timeout_ms)
    return _check_returned(name, result)


def _check_returned(name: str, returned: object) -> Json:
    """Return what the function returned, if it is JSON (AttemptFailed HANDLER_RETURN)."""
    try:
        return canonical.admit(returned)
    except errors.InvalidInput as error:
        message = f"the transform {name!r} returned what is not JSON"
        raise canonical.attempt_failure(error, message, code="HANDLER_RETURN", retryable=False) from error


def _words(ctx: ops.ExplainContext) -> str:
    if "fn" not in ctx.step.args:
        return f"= {ctx.arg('expr')}"
    refs = ctx.arg("refs")
    sources = f" ← {', '.join(map(str, refs))}" if isinstance(refs, list) else ""
    return f"{ctx.arg('fn')}{sources}"


OP = ops.Op(
    name="transform",
    summary=("computes a value without effects: by a registered function with the other arguments, or by CEL"),
    args={
        "fn": ops.name_arg("a transform of skelo.yaml, or a built-in one", required=False),
        "expr": ops.free_arg("CEL over `input`, `var`, `ctx` and `snap`", ops.TEXT),
        "refs": ops.refs_arg("the values it is made of"),
    },
    perform=_perform,
    words=_words,
    free_paths=frozenset({("expr",)}),
    one_of=(("fn", "expr"),),
    open=True,
)
