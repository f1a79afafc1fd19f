"""The work of an ai node: one question, one answer. Repairs are attempts of their own, which the kernel starts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from openskelo import errors
from openskelo.executors import answer, ears, job, prompt, task
from openskelo.frozen import frozen
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.providers import seam

#: What the author may set on an ai block that is not for the provider.
_NOT_PARAMETERS = frozenset({"prompt", "contract_repair_attempts", "max_tokens", "block_dir", "pinned", "denied"})


@frozen
class Asking:
    """Whom to ask what, and where the streamed text goes. Made once for a node."""

    provider: seam.Provider
    on_text: Callable[[task.Task, str], None]
    recipe: prompt.Recipe
    schema: JsonObject


def asking(
    node: definition.Node, provider: seam.Provider, on_text: Callable[[task.Task, str], None], schema: JsonObject
) -> Asking:
    """Everything about asking that is the same for all attempts of `node`."""
    return Asking(provider=provider, on_text=on_text, recipe=prompt.Recipe(node, schema), schema=schema)


async def work(one: job.Job, how: Asking) -> object:
    """The JSON object that was answered (AttemptFailed ANSWER_INVALID for anything else), not yet checked."""
    written = how.recipe.write(one)
    return parsed(await ask(one, how.provider, how.on_text, request(one.task.node, written, how.schema), written))


async def ask(
    one: job.Job,
    provider: seam.Provider,
    on_text: Callable[[task.Task, str], None],
    asked: seam.Request,
    written: prompt.Prompt,
) -> seam.Answer:
    """The answer to what was written, with what it took added to the attempt.

    The prompt is kept before it is sent; what was heard is kept if the answer does not come to its end. One that would
    take more than the run has left is not sent (`errors.OverBudget`).
    """
    ways = seam.plan(provider, asked)
    prompt.keep(one, written, ways[0])
    if one.task.purse is not None:
        await one.task.purse.claim(one, answer.needs(one, provider, ways[0]))

    ear = ears.Ear(one.spent, lambda text: _hear(one, on_text, text))
    one.spent.asking = lambda: answer.reserved(one, provider, ways[: ear.sent()])
    try:
        answered = await provider.complete(asked, ear)
        answer.count(one.spent, answered)
    except seam.Unusable as unusable:
        answer.count(one.spent, unusable.answer)
        if not isinstance(unusable, seam.Broken):
            one.answer = unusable.answer.text
        raise
    except asyncio.CancelledError:
        one.spent.count(answer.reserved(one, provider, ways[: ear.sent()]))
        raise
    finally:
        one.spent.asking = None
        if one.task.purse is not None:
            one.task.purse.settle(one)
    one.answer = answered.text
    served = next((way for way in ways if way.expert == answered.served_by), ways[0])
    if served is not ways[0]:
        prompt.keep(one, written, served)
        one.lines.append(f"answered by {answered.served_by}: {ways[0].expert} could not")
    return answered


def _hear(one: job.Job, on_text: Callable[[task.Task, str], None], text: str) -> None:
    one.heard.append(text)
    on_text(one.task, text)


def request(node: definition.Node, written: prompt.Prompt, schema: JsonObject) -> seam.Request:
    """What is asked for a node, once its prompt is written."""
    most = node.config.get("max_tokens")
    return seam.Request(
        node=node.key,
        messages=written.messages,
        schema=schema,
        parameters=parameters(node),
        max_tokens=most if isinstance(most, int) else None,
    )


def parameters(node: definition.Node) -> JsonObject:
    """What of the author's keys is for the provider, and whom the workflow has pinned."""
    own = {key: value for key, value in node.config.items() if key not in _NOT_PARAMETERS}
    pinned = node.config.get("pinned")
    if isinstance(pinned, Mapping) and "experts" in pinned:
        own["pinned"] = pinned["experts"]
    return own


def parsed(answered: seam.Answer) -> JsonObject:
    """The JSON object that the answer is (AttemptFailed ANSWER_INVALID, PROVIDER_TRUNCATED)."""
    try:
        return answer.parse(answered.text)
    except errors.AttemptFailed as error:
        if answered.finish_reason != "length":
            raise
        raise errors.AttemptFailed(
            "the answer was cut at its token limit before it was complete",
            code="PROVIDER_TRUNCATED",
            hint="raise max_tokens, or ask for less",
            retryable=False,
        ) from error
