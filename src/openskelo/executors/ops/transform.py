"""transform: a value made of other values, without effects: by a registered function, or by an expression."""

from __future__ import annotations

from openskelo import errors
from openskelo.executors import job, transforms, work
from openskelo.executors.ops import branch, given
from openskelo.executors.ops import step as steps
from openskelo.handlers import op_catalog
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.values import canonical


def make(step: definition.Step, means: work.Means) -> steps.Op:
    """Evaluates `expr`, or calls `fn` with the step's other arguments."""
    return _expression if "expr" in step.args else _function(step, means)


async def _expression(one: job.Job) -> Json:
    found = one.inputs["expr"]
    assert isinstance(found, dict)  # noqa: S101  the engine has put its scope beside it
    return branch.evaluate(found)


def _function(step: definition.Step, means: work.Means) -> steps.Op:
    async def op(one: job.Job) -> Json:
        name = str(one.inputs.get("fn"))
        found = op_catalog.transform(means.project.registry, name)
        if found is None:
            raise errors.AttemptFailed(
                f"there is no transform {name!r}",
                code="TRANSFORM_UNKNOWN",
                hint="declare it under `transforms`",
                retryable=False,
            )
        own = {key: value for key, value in one.inputs.items() if key != "fn"}
        args = given.merged(own, found.config)
        given.check(repr(name), args, found.args)
        if found.kind == "builtin":
            return transforms.BUILTIN[found.target](args, step.args)
        ctx = given.to(one, means, args, {})
        return _admitted(name, await means.project_handlers().call(found.target, one, ctx, found.timeout_ms))

    return op


def _admitted(name: str, returned: object) -> Json:
    try:
        return canonical.admit(returned)
    except errors.InvalidInput as error:
        what = f"the transform {name!r} returned what is not JSON"
        raise canonical.failed(error, what, code="HANDLER_RETURN", retryable=False) from error
