"""One call of a model: the prompt is kept, the budget claimed, the request sent, and its usage added to the attempt.

    plan        which model will be asked first, and which ones after it (a provider may fall back)
    keep        the prompt becomes a file of the attempt
    claim       what the longest answer may use is claimed from the run's budget (OverBudget if it does not fit)
    record      the prompt is made durable as an artifact, so that a crash does not lose what the model was asked
    complete    the provider streams the answer; the clock of the attempt stands still while the request is queued
    settle      the claim shrinks to what was really used, whether the call succeeded, failed or was cancelled

A cancelled call was paid for all the same, though no provider says what it cost: then the estimate counts.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from openskelo import errors
from openskelo.executors.ai import prompt
from openskelo.executors.attempt import budget_claims, running_attempt
from openskelo.kernel import definition, outcome
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import protocol
from openskelo.structs import replace
from openskelo.values import canonical, fences

#: Config keys of an ai block that are not parameters for the provider.
_NOT_PARAMETERS = frozenset({"prompt", "contract_repair_attempts", "max_tokens", "block_dir", "pinned", "denied"})
#: A token has about four characters of English text, and hardly ever more than five.
_MAX_CHARS_PER_TOKEN = 5
#: The tags that mark data in a prompt. The HTML element of the same name has attributes.
_MARKER = re.compile(r"</?data>", re.IGNORECASE)
_HTML_ELEMENT = re.compile(r"<data\s", re.IGNORECASE)


class ModelListener:
    """Receives the streamed text of one call, and stops the attempt's clock while the request waits in a queue.

    It is a `protocol.QueueListener`: a provider with a queue calls `on_queued` and `on_sent` on it.
    """

    def __init__(self, usage: budget_claims.Usage, on_text: Callable[[str], None]) -> None:
        self._usage = usage
        self._on_text = on_text
        self._sent = 0

    def __call__(self, text: str) -> None:
        self._on_text(text)

    def on_queued(self) -> None:
        self._usage.begin_wait()

    def on_sent(self) -> None:
        self._usage.end_wait()
        self._sent += 1

    def sent(self) -> int:
        """Return how many models the request was sent to so far; a provider without a queue sends it at once."""
        if self._sent:
            return self._sent
        return 0 if self._usage.waits_since is not None else 1


async def ask(
    attempt: running_attempt.RunningAttempt,
    provider: protocol.Provider,
    on_text: Callable[[running_attempt.AttemptRequest, str], None],
    request: protocol.Request,
    written: prompt.Prompt,
) -> protocol.Answer:
    """Return the answer to `request`, whose prompt is `written`; its usage is added to the attempt.

    Raise OverBudget, before anything is sent, if the call would need more than the run has left.
    """
    plans = protocol.plan(provider, request)
    prompt.keep(attempt, written, plans[0])
    usage, claims = attempt.usage, attempt.request.budget_claims
    if claims is not None:
        await claims.claim(attempt.request.attempt_id, usage, needs(attempt, provider, plans[0]))
    if attempt.recorder is not None:
        await attempt.recorder.record_prompts()

    def receive(text: str) -> None:
        attempt.streamed.append(text)
        on_text(attempt.request, text)

    listener = ModelListener(usage, receive)
    usage.current_call = lambda: estimate_stopped_call(attempt, provider, plans[: listener.sent()])
    try:
        completion = await provider.complete(request, listener)
        add_usage(usage, completion)
    except protocol.UnusableAnswer as unusable:
        add_usage(usage, unusable.answer)
        if not isinstance(unusable, protocol.BrokenAnswer):
            attempt.answer = unusable.answer.text
        raise
    except asyncio.CancelledError:
        usage.add(estimate_stopped_call(attempt, provider, plans[: listener.sent()]))
        raise
    finally:
        usage.current_call = None
        if claims is not None:
            claims.settle(attempt.request.attempt_id, usage)
    attempt.answer = completion.text
    plan_in_use = next((plan for plan in plans if plan.expert == completion.served_by), plans[0])
    if plan_in_use is not plans[0]:
        prompt.keep(attempt, written, plan_in_use)
        attempt.lines.append(f"answered by {completion.served_by}: {plans[0].expert} could not")
    return completion


def make_request(node: definition.Node, written: prompt.Prompt, schema: JsonObject) -> protocol.Request:
    """Return the request that asks the model of `node` for an answer that keeps `schema`."""
    max_tokens = node.config.get("max_tokens")
    return protocol.Request(
        node=node.key,
        messages=written.messages,
        schema=schema,
        parameters=parameters(node),
        max_tokens=max_tokens if isinstance(max_tokens, int) else None,
    )


def parameters(node: definition.Node) -> JsonObject:
    """Return the config keys of `node` that are for the provider, and the experts that the workflow has pinned."""
    own_parameters = {key: value for key, value in node.config.items() if key not in _NOT_PARAMETERS}
    pins = node.config.get("pinned")
    if isinstance(pins, Mapping) and "experts" in pins:
        own_parameters["pinned"] = pins["experts"]
    return own_parameters


def parse(answered: protocol.Answer, *given: Json) -> JsonObject:
    """Return the JSON object that is the answer; raise AttemptFailed ANSWER_INVALID or PROVIDER_TRUNCATED.

    `given` is what the author and the inputs of the node contribute to the prompt, see `check_markers`.
    """
    try:
        value = fences.parse_object(answered.text)
    except errors.AttemptFailed as error:
        if answered.finish_reason != "length":
            raise
        raise errors.AttemptFailed(
            "the answer was cut at its token limit before it was complete",
            code="PROVIDER_TRUNCATED",
            hint="raise max_tokens, or ask for less",
            retryable=False,
        ) from error
    check_markers(value, *given)
    return value


def check_markers(answer: Json, *given: Json) -> None:
    """Raise AttemptFailed ANSWER_INVALID if the answer has a tag that only marks data in the prompt.

    A tag that occurs in `given` (the author's texts, the inputs) may be quoted.
    """
    text = canonical.dumps(answer).decode()
    marker = _MARKER.search(text)
    if marker is None or _HTML_ELEMENT.search(text) or _MARKER.search(canonical.dumps(list(given)).decode()):
        return
    raise errors.AttemptFailed(
        f"the answer has {marker[0]} in it, which only marks data in the prompt", code="ANSWER_INVALID"
    )


def given(attempt: running_attempt.RunningAttempt) -> tuple[Json, ...]:
    """Return what the author and the inputs of the node contribute to the prompt of this attempt."""
    return attempt.inputs, attempt.request.item, attempt.request.node.config


def needs(attempt: running_attempt.RunningAttempt, provider: protocol.Provider, plan: protocol.Route) -> outcome.Needs:
    """Return what the attempt will have used in all if the planned call has the longest answer.

    The prompt is counted as short as it can be: a call that may fit into the budget must not be refused.
    """
    characters = sum(len(message.text) for message in plan.request.messages)
    call = protocol.Usage(tokens_in=characters // _MAX_CHARS_PER_TOKEN, tokens_out=plan.request.max_tokens or 0)
    usage = attempt.usage
    return outcome.Needs(
        tokens=usage.tokens_in + usage.tokens_out + call.tokens_in + call.tokens_out,
        cost_nanousd=usage.cost_nanousd + protocol.cost(provider, plan, call),
    )


def add_usage(usage: budget_claims.Usage, answered: protocol.Answer) -> None:
    """Add the tokens and the cost of an answer to what the attempt has used."""
    usage.tokens_in += answered.usage.tokens_in
    usage.tokens_out += answered.usage.tokens_out
    usage.cost_nanousd += answered.cost_nanousd


def estimate_stopped_call(
    attempt: running_attempt.RunningAttempt, provider: protocol.Provider, plans: Sequence[protocol.Route]
) -> outcome.Metrics:
    """Return what a call may have used that stops before its answer is complete.

    `plans` are the models that it was sent to so far. The model may have written more than has arrived, so a node with
    a reservation is charged the longest answer, as its call has claimed it, or the reservation if that is more.
    """
    if not plans:
        return outcome.Metrics()
    reserve = attempt.request.node.reserve
    text_so_far = "".join(attempt.streamed)
    usages = [protocol.estimate_usage(plan.request, text_so_far if plan is plans[-1] else "") for plan in plans]
    tokens_in = sum(usage.tokens_in for usage in usages)
    tokens_out = usages[-1].tokens_out
    if reserve.tokens:
        tokens_out = max(tokens_out, plans[-1].request.max_tokens or 0)
        usages[-1] = replace(usages[-1], tokens_out=tokens_out)
    cost = sum(protocol.cost(provider, plan, usage) for plan, usage in zip(plans, usages, strict=True))
    return outcome.Metrics(
        tokens_in=tokens_in,
        tokens_out=max(tokens_out, reserve.tokens - tokens_in),
        cost_nanousd=max(cost, reserve.cost_nanousd),
    )


@runtime_checkable
class _KnowsMissing(Protocol):
    """A provider that can say what it lacks to answer a request with these parameters."""

    def missing(self, parameters: Mapping[str, Json]) -> str | None: ...


def check_model(provider: protocol.Provider | None, node_key: str, parameters: JsonObject) -> None:
    """Raise InvalidInput if no model can be asked with these parameters, so that a run does not start and then fail."""
    if provider is None:
        raise errors.InvalidInput(
            f"{node_key} needs a model, and no provider is configured",
            code="PROVIDER_MISSING",
            hint="`skelo test` runs it with scripted answers",
        )
    try:
        protocol.plan(provider, protocol.Request(node=node_key, messages=(), parameters=parameters))
    except errors.AttemptFailed as error:
        raise errors.InvalidInput(f"{node_key}: {error.message}", code=error.code, hint=error.hint) from error
    missing = provider.missing(parameters) if isinstance(provider, _KnowsMissing) else None
    if missing is not None:
        raise errors.InvalidInput(
            f"{node_key} cannot ask {missing}",
            code="PROVIDER_MISSING",
            hint="`skelo doctor` says what is there; `skelo test` runs with scripted answers",
        )
