"""`verify`: a registered checker looks at a value and returns a verdict, `{"ok": true or false, …}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from openskelo import errors, ops
from openskelo.handlers import project_registry
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import checkers, functions
from openskelo.ops.functions import arguments
from openskelo.values import canonical

#: The arguments of every verify; the others are those of its checker.
_OP_ARGS = frozenset({"checker_id", "input_ref"})


async def _perform(ctx: ops.StepContext) -> Json:
    name = str(ctx.args.get("checker_id"))
    checker = functions.checker(ctx.project.registry, name)
    if checker is None:
        raise errors.AttemptFailed(
            f"there is no checker {name!r}",
            code="CHECKER_UNKNOWN",
            hint="declare it under `checkers`",
            retryable=False,
        )
    return _check_verdict(name, await _call_checker(ctx, checker))


async def _call_checker(ctx: ops.StepContext, checker: project_registry.Function) -> object:
    """Return what the checker returns (AttemptFailed, ARGS_INVALID if its arguments break its schema)."""
    plan_args = {key: value for key, value in ctx.args.items() if key not in _OP_ARGS}
    args = arguments.merge(plan_args, checker.config)
    arguments.check(repr(checker.name), args, checker.args)
    if checker.needs_input and "input_ref" not in ctx.args:
        raise errors.AttemptFailed(f"{checker.name!r} needs `input_ref`", code="ARGS_INVALID", retryable=False)
    value = ctx.args.get("input_ref")
    stand_in = ctx.stand_in()
    if stand_in is not None:
        return await stand_in(ctx.handler_context({**args, "input": value}, {}))
    if checker.kind == "python":
        handler_context = ctx.handler_context({**args, "input": value}, {})
        return await ctx.call_project_function(checker.target, handler_context, checker.timeout_ms)
    timeout_ms = args.get("timeout_ms", checker.timeout_ms)
    return await checkers.CHECKERS[checker.target].check(
        checkers.CheckContext(
            args={**args, "input_ref": value},
            fixed=checker.config,
            project=ctx.project,
            timeout_ms=timeout_ms if isinstance(timeout_ms, int) else checker.timeout_ms,
            log=ctx.log,
        )
    )


def _check_verdict(name: str, returned: object) -> JsonObject:
    """Return the verdict, if it is an object whose `ok` is strictly true or false (AttemptFailed CHECKER_RETURN)."""
    try:
        verdict = canonical.admit(returned)
    except errors.InvalidInput as error:
        raise _no_verdict(name, f"what is not JSON: {error.message}") from error
    if not isinstance(verdict, Mapping):
        raise _no_verdict(name, f"{type(returned).__name__}, not an object")
    if not isinstance(verdict.get("ok"), bool):
        raise _no_verdict(name, "no `ok` that is true or false")
    return cast("JsonObject", verdict)


def _no_verdict(name: str, description: str) -> errors.AttemptFailed:
    return errors.AttemptFailed(
        f"the checker {name!r} returned {description}",
        code="CHECKER_RETURN",
        hint='a checker returns {"ok": True or False, …}',
        retryable=False,
    )


def _words(ctx: ops.ExplainContext) -> str:
    return f"{ctx.arg('checker_id')} ← {ctx.step.args.get('input_ref', 'nothing')}"


OP = ops.Op(
    name="verify",
    summary='runs a registered checker with the other arguments and saves its verdict, `{"ok": true, …}`',
    args={
        "checker_id": ops.name_arg("a checker of skelo.yaml, or a built-in one"),
        "input_ref": ops.ref_arg("the value to check; required by every checker except those without input"),
    },
    perform=_perform,
    words=_words,
    open=True,
    result_schema={"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]},
)
