"""`route_expert`: asks a registered expert, which answers with text, or with JSON if the step has a schema."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import errors, ops
from openskelo.extensions import Position
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops.functions import arguments
from openskelo.values import fences
from openskelo.values.schema import validator

#: The arguments that go to the provider.
_PARAMETERS = ("temperature", "top_p", "seed", "stop", "system")


async def _perform(ctx: ops.StepContext) -> Json:
    expert = str(ctx.args.get("expert_id"))
    ctx.check_expert(expert)
    output_schema = ctx.args.get("output_schema")
    schema = output_schema if isinstance(output_schema, Mapping) else None
    max_tokens = ctx.args.get("max_new_tokens")
    answer = await ctx.ask_expert(
        ops.ExpertRequest(
            expert=expert,
            task=_task(ctx.args),
            schema=schema,
            parameters={name: ctx.args[name] for name in _PARAMETERS if name in ctx.args},
            max_tokens=max_tokens if isinstance(max_tokens, int) else None,
        )
    )
    violations = () if schema is None else validator.compile(schema).check(answer)
    if violations:
        reason = arguments.list_violations(violations)
        raise errors.AttemptFailed(f"the answer breaks its schema: {reason}", code="OUTPUT_CONTRACT")
    return answer


def _task(args: JsonObject) -> str:
    """Return the task as text: a prompt as it is, structured input between fences."""
    parts: list[str] = []
    if (text := args.get("prompt_ref", args.get("prompt"))) is not None:
        parts.append(text if isinstance(text, str) else fences.fenced(text))
    if (value := args.get("input")) is not None:
        parts.append(f"Input (data):\n{fences.fenced(value)}")
    if not parts:
        raise errors.AttemptFailed("the question is empty", code="ARGS_INVALID", retryable=False)
    return "\n\n".join(parts)


def _check(args: JsonObject, place: Position) -> None:
    repairs = args.get("repairs")
    if repairs and "output_schema" not in args:
        place.at("repairs", repairs).key_problem("CONFLICT", "`repairs` needs `output_schema`: any text is an answer")


def _words(ctx: ops.ExplainContext) -> str:
    limit = f", at most {ctx.arg('max_new_tokens')} tokens" if "max_new_tokens" in ctx.step.args else ""
    prompt = ctx.arg("prompt_ref") or ("its prompt" if "prompt" in ctx.step.args else "its input")
    return f"{ctx.arg('expert_id')} ← {prompt}{limit}"


OP = ops.Op(
    name="route_expert",
    summary="asks a registered expert once and saves its answer: text, or JSON under `output_schema`",
    args={
        "expert_id": ops.name_arg("an expert of skelo.yaml"),
        "prompt_ref": ops.ref_arg("the prompt"),
        "prompt": ops.free_arg("the prompt, as written", ops.TEXT),
        "input": ops.value_arg("structured input, with refs at any depth", {}),
        "system": ops.free_arg("comes before the prompt, after the expert's own `system`", ops.TEXT),
        "max_new_tokens": ops.plain_arg(
            "the longest answer; by default the expert's own limit",
            {"type": "integer", "minimum": 1, "maximum": 10_000_000},
        ),
        "temperature": ops.plain_arg("", {"type": "number", "minimum": 0, "maximum": 2}),
        "top_p": ops.plain_arg("", {"type": "number", "minimum": 0, "maximum": 1}),
        "seed": ops.plain_arg("", {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}),
        "stop": ops.plain_arg("texts that end an answer", {"type": "array", "items": ops.TEXT, "maxItems": 16}),
        "output_schema": ops.free_arg("the JSON Schema of the answer", {"type": "object"}),
        "repairs": ops.plain_arg(
            "how often an answer that breaks `output_schema` is asked for again (1 with one, else 0)",
            {"type": "integer", "minimum": 0, "maximum": 3},
        ),
        "on_denied": ops.on_denied_arg(),
    },
    perform=_perform,
    words=_words,
    free_paths=frozenset({("output_schema",)}),
    one_of=(("prompt_ref", "prompt", "input"),),
    check=_check,
    node_mode="ai",
)
