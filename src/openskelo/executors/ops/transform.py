"""transform: a value made of other values, without effects."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import errors
from openskelo.executors import job
from openskelo.executors.ops import branch
from openskelo.executors.ops import step as steps
from openskelo.kernel import definition
from openskelo.kernel.json import Json


def make(step: definition.Step) -> steps.Op:
    """Evaluates `expr`."""
    if "expr" not in step.args:
        raise errors.AttemptFailed("registered functions are not there yet", code="NOT_PERFORMED", retryable=False)

    async def op(one: job.Job) -> Json:
        given = one.inputs["expr"]
        assert isinstance(given, Mapping)  # noqa: S101  the engine has put its scope beside it
        return branch.evaluate(given)

    return op
