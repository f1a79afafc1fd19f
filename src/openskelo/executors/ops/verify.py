"""verify: a registered checker looks at a value and says `{"ok": true or false, …}`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias, cast

from openskelo import errors
from openskelo.executors import job, work
from openskelo.executors.checkers import asked
from openskelo.executors.ops import given
from openskelo.executors.ops import step as steps
from openskelo.handlers import op_catalog, registry
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical

_Check: TypeAlias = Callable[[asked.Asked], Awaitable[JsonObject]]

#: What every verify has, beside the arguments of its checker.
_OWN = frozenset({"checker_id", "input_ref"})


def make(means: work.Means) -> steps.Op:
    """Asks the checker that `checker_id` names; AttemptFailed when it cannot tell, or says anything else."""

    async def op(one: job.Job) -> Json:
        name = str(one.inputs.get("checker_id"))
        found = op_catalog.checker(means.project.registry, name)
        if found is None:
            raise errors.AttemptFailed(
                f"there is no checker {name!r}",
                code="CHECKER_UNKNOWN",
                hint="declare it under `checkers`",
                retryable=False,
            )
        verdict = _judged(name, await _ask(one, found, means))
        one.holds = verdict["ok"] is True
        return verdict

    return op


async def _ask(one: job.Job, checker: registry.Function, means: work.Means) -> object:
    own = {key: value for key, value in one.inputs.items() if key not in _OWN}
    args = given.merged(own, checker.config)
    given.check(repr(checker.name), args, checker.args)
    if checker.needs_input and "input_ref" not in one.inputs:
        raise errors.AttemptFailed(f"{checker.name!r} needs `input_ref`", code="ARGS_INVALID", retryable=False)
    player = given.player(one, means)
    if player is not None:
        return await player(given.to(one, means, {**args, "input": one.inputs.get("input_ref")}, {}))
    whole = {**args, "input_ref": one.inputs.get("input_ref")}
    if checker.kind == "python":
        ctx = given.to(one, means, {**args, "input": one.inputs.get("input_ref")}, {})
        return await means.project_handlers().call(checker.target, one, ctx, checker.timeout_ms)
    limit = args.get("timeout_ms", checker.timeout_ms)
    return await _shipped(checker.target)(
        asked.Asked(
            args=whole,
            fixed=checker.config,
            job=one,
            project=means.project,
            timeout_ms=limit if isinstance(limit, int) else checker.timeout_ms,
        )
    )


def _shipped(name: str) -> _Check:
    """A shipped checker, loaded when first used."""
    match name:
        case "diff_applies_cleanly":
            from openskelo.executors.checkers import diff  # noqa: PLC0415

            return diff.diff_applies_cleanly
        case "tests_pass":
            from openskelo.executors.checkers import tests  # noqa: PLC0415

            return tests.tests_pass
        case "cites_sources":
            from openskelo.executors.checkers import citations  # noqa: PLC0415

            return citations.cites_sources
        case _:
            from openskelo.executors.checkers import values  # noqa: PLC0415

            return {"json_schema": values.json_schema, "regex": values.regex, "equals": values.equals}[name]


def _judged(name: str, returned: object) -> JsonObject:
    """The verdict, when it is one: an object whose `ok` is strictly true or false (AttemptFailed CHECKER_RETURN)."""
    try:
        verdict = canonical.admit(returned)
    except errors.InvalidInput as error:
        raise _no_verdict(name, f"what is not JSON: {error.message}") from error
    if not isinstance(verdict, Mapping):
        raise _no_verdict(name, f"{type(returned).__name__}, not an object")
    if not isinstance(verdict.get("ok"), bool):
        raise _no_verdict(name, "no `ok` that is true or false")
    return cast("JsonObject", verdict)


def _no_verdict(name: str, what: str) -> errors.AttemptFailed:
    return errors.AttemptFailed(
        f"the checker {name!r} returned {what}",
        code="CHECKER_RETURN",
        hint='a checker returns {"ok": True or False, …}',
        retryable=False,
    )
