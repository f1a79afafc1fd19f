"""`branch`: evaluates a condition, which must be strictly true or false. The kernel decides where that leads."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import errors, ops
from openskelo.kernel.json import Json, JsonObject
from openskelo.values.cel import plan_expression

_VALUE: JsonObject = {"anyOf": [ops.REF, {"type": "boolean"}]}
#: The loader writes a plain boolean or ref as `{"ok": …}` (`workflows/plan/step.py`): a run only sees the object.
_CONDITION: JsonObject = {
    "type": ["boolean", "string", "object"],
    "pattern": ops.REF_PATTERN,
    "minProperties": 1,
    "maxProperties": 1,
    "properties": {"ok": _VALUE, "expr": ops.TEXT},
    "additionalProperties": False,
}


async def _perform(ctx: ops.StepContext) -> Json:
    holds = _evaluate_condition(ctx.args.get("cond"))
    ctx.set_holds(holds)
    return {"holds": holds, "goto": ctx.step.then if holds else ctx.step.otherwise}


def _evaluate_condition(condition: Json) -> bool:
    if not isinstance(condition, Mapping) or len(condition) != 1:
        raise errors.AttemptFailed("a condition has exactly one key", code="COND_INVALID", retryable=False)
    ((name, value),) = condition.items()
    if name == "expr" and isinstance(value, Mapping):
        value = plan_expression.evaluate(value)
    if not isinstance(value, bool):
        raise errors.AttemptFailed(
            f"the condition `{name}` is {_type_name(value)}, not true or false",
            code="COND_NOT_BOOLEAN",
            retryable=False,
        )
    return value


def _type_name(value: Json) -> str:
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


def _words(ctx: ops.ExplainContext) -> str:
    condition = ctx.arg("cond")
    if not isinstance(condition, Mapping):
        return ctx.compact(condition)
    value = condition.get("expr", condition.get("ok"))
    return value if isinstance(value, str) else ctx.compact(value)


#: More of the reference, after the table of its keys.
_DOC = """\
The condition of a branch is a ref whose value is strictly `true` or `false` (`"var:v1.ok"`, also written
`{"ok": "var:v1.ok"}`), one of `true` and `false` itself, or `{"expr": CEL}` over `input`, `var`, `ctx` and `snap`.
"""

OP = ops.Op(
    name="branch",
    summary="goes to `then` when its condition is true, else to `else`; the condition is strictly true or false",
    args={
        "cond": ops.value_arg(
            'a ref (`"var:v.ok"`, also `{"ok": ref}`), `true` or `false`, or `{"expr": CEL}`', _CONDITION, required=True
        ),
        "then": ops.step_arg("where the run goes when the condition is true", required=True),
        "else": ops.step_arg("where the run goes when it is false; by default the next step"),
    },
    perform=_perform,
    words=_words,
    mark="◆",
    free_paths=frozenset({("cond", "expr")}),
    controls_flow=True,
    saves_value=False,
    doc=_DOC,
)
