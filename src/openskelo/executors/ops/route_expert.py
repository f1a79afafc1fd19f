"""route_expert: a registered expert is asked, and answers with text, or with JSON where the step has a schema."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import errors
from openskelo.executors import ai, answer, job, prompt, work
from openskelo.executors.ops import step as steps
from openskelo.frozen import replace
from openskelo.handlers import registry
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config, pinning, seam
from openskelo.values import schema

#: What a step may tell its expert.
_TOLD = ("temperature", "top_p", "seed", "stop", "system")


def make(node: definition.Node, means: work.Means) -> steps.Op:
    """Asks `expert_id` for its prompt or its input; Denied before anything is sent when the mode does not allow it."""

    async def op(one: job.Job) -> Json:
        provider = means.provider()
        if provider is None:
            raise errors.AttemptFailed("no model provider is set up", code="PROVIDER_MISSING", retryable=False)
        found = one.inputs.get("output_schema")
        rules = found if isinstance(found, Mapping) else None
        check_allowed(str(one.inputs.get("expert_id")), provider, means, one)
        mode = "" if rules is None else prompt.contract(rules)
        written = prompt.assembled(role="", mode=mode, task=_task(one.inputs), feedback=one.task.feedback)
        asked = _allowed(_request(node, one.inputs, written, rules), provider, means, one)
        answered = await ai.ask(one, provider, means.on_text, asked, written)
        if rules is not None:
            return _checked(answered, rules)
        if answered.finish_reason == "length":
            one.lines.append("the answer was cut at its token limit")
        return answered.text

    return op


def check_allowed(name: str, provider: seam.Provider, means: work.Means, one: job.Job) -> None:
    """Nothing when the run's mode allows the expert, else Denied MODE_DENIED."""
    asked = _asked(name, provider, means.project.models)
    denial = registry.expert_denial(means.project.registry, one.task.plan_mode, asked)
    if denial is not None:
        raise errors.Denied(denial, code="MODE_DENIED")


def _asked(name: str, provider: seam.Provider, models: config.Config | None) -> registry.Asked:
    """The expert as far as modes are concerned. A provider that the caller brought along counts as this machine's."""
    expert = None if models is None else models.experts.get(name)
    if models is None or expert is None or getattr(provider, "plan", None) is None:
        return registry.Asked(name=name, modes=() if expert is None else expert.modes, local=True)
    return registry.Asked(name=name, modes=expert.modes, local=config.is_local(models, expert.provider))


def _allowed(asked: seam.Request, provider: seam.Provider, means: work.Means, one: job.Job) -> seam.Request:
    """The request without those to fall back on that the mode does not allow."""
    ways = seam.plan(provider, replace(asked, messages=()))  # what is pinned of a way is its expert's own words alone
    models = means.project.models
    if models is None or len(ways) == 1:
        return asked
    rules, mode = means.project.registry, one.task.plan_mode
    kept = [
        way
        for number, way in enumerate(ways)
        if not number or registry.expert_denial(rules, mode, _asked(way.expert, provider, models)) is None
    ]
    if len(kept) == len(ways):
        return asked
    return replace(asked, parameters={**asked.parameters, pinning.PARAMETER: pinning.pin(kept, models)})


def _request(node: definition.Node, args: JsonObject, written: prompt.Prompt, rules: JsonObject | None) -> seam.Request:
    """What is asked: by what the loader pinned on the node, else by the step's arguments."""
    told: dict[str, Json] = {name: args[name] for name in _TOLD if name in args}
    told["expert"] = args.get("expert_id")
    most = args.get("max_new_tokens")
    return seam.Request(
        node=node.key,
        messages=written.messages,
        schema=rules,
        parameters={**told, **ai.parameters(node)},
        max_tokens=most if isinstance(most, int) else None,
    )


def _task(args: JsonObject) -> str:
    """What is asked in words: the prompt as it is, and structured input as data."""
    parts: list[str] = []
    if (text := args.get("prompt_ref", args.get("prompt"))) is not None:
        parts.append(text if isinstance(text, str) else answer.fenced(text))
    if (value := args.get("input")) is not None:
        parts.append(f"Input (data):\n{answer.fenced(value)}")
    if not parts:
        raise errors.AttemptFailed("there is nothing to ask", code="ARGS_INVALID", retryable=False)
    return "\n\n".join(parts)


def _checked(answered: seam.Answer, rules: JsonObject) -> Json:
    """The JSON that was answered, when it keeps the step's schema (AttemptFailed OUTPUT_CONTRACT)."""
    value = ai.parsed(answered)
    found = schema.compile(rules).check(value)
    if found:
        listed = "; ".join(f"{one.path or '/'}: {one.message}" for one in found)
        raise errors.AttemptFailed(f"the answer breaks its schema: {listed}", code="OUTPUT_CONTRACT")
    return value
