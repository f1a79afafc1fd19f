"""`retry`: names the step that is tried from here on. The kernel does the trying."""

from __future__ import annotations

from openskelo import ops
from openskelo.extensions import Position
from openskelo.kernel.json import Json, JsonObject

_MILLISECONDS: JsonObject = {"type": "integer", "minimum": 0, "maximum": 7 * 86_400_000}


async def _perform(ctx: ops.StepContext) -> Json:
    return {"step_id": ctx.step.target}


def _check(args: JsonObject, place: Position) -> None:
    if args.get("max_retries") == 0:
        message = "with `max_retries: 0` the step is tried once and never again"
        place.at("max_retries", 0).warn("RETRY_NEVER", message, hint="allow at least 1, or take the retry out")


def _words(ctx: ops.ExplainContext) -> str:
    retry = ctx.node.retry
    return f"{ctx.step.target}, at most {retry.max_attempts} tries ({retry.backoff})"


#: More of the reference, after the table of its keys.
_DOC = """\
A retry right after its step forms one unit with it: every jump to the step goes to the retry. The retry tries the step
once, then at most `max_retries` times more, and continues after itself. So it repeats a step that failed, and does not
repeat a step that succeeded. Anywhere else, a retry runs its step once more, even if the step succeeded before, and
then again at most `max_retries` times until it succeeds.

The receipt of the retry comes first, then one for every try. When no try is left, the run fails with `RETRY_EXHAUSTED`.
An error that another try cannot repair ends the run at once. The engine does not repeat a tool whose `effect` is `once`
without asking. If a failed call may have had its effect (a timeout, a lost server), it asks a person. If the call
certainly had its effect (`TOOL_RETURN`), it ends the run.
"""

OP = ops.Op(
    name="retry",
    summary="tries a step until it succeeds (a verify: until it is ok), and continues after the retry",
    args={
        "step_id": ops.step_arg("the step that is tried: route_expert, tool_call, verify or transform", required=True),
        "max_retries": ops.plain_arg(
            "how often the step runs again after its first try", {"type": "integer", "minimum": 0, "maximum": 20}, 1
        ),
        "backoff": ops.plain_arg("how waits grow", {"enum": ["none", "linear", "exponential"]}, "none"),
        "delay_ms": ops.plain_arg("the first wait; 1000 for waits that grow", _MILLISECONDS),
        "max_delay_ms": ops.plain_arg("the longest wait", _MILLISECONDS, 60_000),
    },
    perform=_perform,
    words=_words,
    mark="↻",
    check=_check,
    controls_flow=True,
    doc=_DOC,
)
