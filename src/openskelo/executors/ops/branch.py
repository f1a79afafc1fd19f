"""branch: what a condition comes to, strictly true or false; where that leads is the kernel's to say."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import errors
from openskelo.executors import job
from openskelo.executors.ops import step as steps
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import plan_expression


def make(step: definition.Step) -> steps.Op:
    """Evaluates `cond`: one key whose value is a boolean, or `expr` in CEL over what the plan knows."""

    async def op(one: job.Job) -> Json:
        holds = one.holds = _holds(one.inputs.get("cond"))
        return {"holds": holds, "goto": step.then if holds else step.otherwise}

    return op


def _holds(cond: Json) -> bool:
    if not isinstance(cond, Mapping) or len(cond) != 1:
        raise errors.AttemptFailed("a condition has exactly one key", code="COND_INVALID", retryable=False)
    ((name, value),) = cond.items()
    if name == "expr" and isinstance(value, Mapping):
        value = evaluate(value)
    if not isinstance(value, bool):
        raise errors.AttemptFailed(
            f"the condition `{name}` is {_kind(value)}, not true or false", code="COND_NOT_BOOLEAN", retryable=False
        )
    return value


def evaluate(given: JsonObject) -> Json:
    """The value of an expression as a step is given it: its `text`, and the `scope` of what it names."""
    text, scope = given.get("text"), given.get("scope")
    if not isinstance(text, str) or not isinstance(scope, dict):
        raise errors.AttemptFailed("an expression lacks its text or its scope", code="COND_INVALID", retryable=False)
    return plan_expression.compile(text).evaluate(scope)


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case str():
            return "a text"
        case Mapping():
            return "an object"
        case int() | float():
            return "a number"
        case _:
            return "a list"
