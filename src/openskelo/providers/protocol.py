"""The interface of a model: one `Request`, one `Answer`. Retries, budgets and contracts are decided by the callers.

`Provider` is the interface that every kind of model API implements. A provider that chooses among several models (the
router) is a `Planner` too: it can say which routes a request would take, and what they cost, before it sends anything.
An answer that was paid for and cannot be used is raised as `UnusableAnswer`, so that its usage is not lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeAlias, cast, runtime_checkable

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import field, frozen

#: Called with each piece of an answer as it arrives.
OnText: TypeAlias = Callable[[str], None]


#: The types of attachments that the remote APIs take.
IMAGES_AND_PDF = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"})


@frozen
class Attachment:
    """A file that goes along with a message, for a model that takes its type."""

    #: The path that the user gave.
    name: str
    media_type: str
    data: bytes


@frozen
class Message:
    """One message of the conversation that is sent."""

    role: Literal["system", "user", "assistant"]
    text: str
    attachments: tuple[Attachment, ...] = ()


@frozen
class Request:
    """A request to a model."""

    #: The key of the node that asks.
    node: str
    messages: tuple[Message, ...]
    #: The JSON Schema of the answer.
    schema: JsonObject | None = None
    #: From the workflow (expert, model, temperature …); only the provider reads them.
    parameters: Mapping[str, Json] = field(default_factory=dict[str, Json])
    max_tokens: int | None = None


@frozen
class Usage:
    """The tokens of a request and its answer, as the provider counts them."""

    tokens_in: int = 0
    tokens_out: int = 0
    #: The part of `tokens_in` that was read from the provider's cache of prompts.
    cached_in: int = 0
    #: The part of `tokens_in` that was written to that cache.
    cache_written_in: int = 0


@frozen
class Answer:
    """The answer of a model."""

    text: str
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    finish_reason: str = "stop"
    #: Without meaning unless `priced`.
    cost_nanousd: int = 0
    #: False if the model's price is unknown.
    priced: bool = True
    #: The name of the expert that answered, if the provider has experts.
    served_by: str = ""


class QueueListener(Protocol):
    """An `OnText` that is also told when its request waits in the provider's queue."""

    def on_queued(self) -> None:
        """Called when the request enters the queue of the provider."""
        ...

    def on_sent(self) -> None:
        """Called when the request leaves the queue and is sent."""
        ...


class Provider(Protocol):
    """A model API. Raises `errors.AttemptFailed` when it has no answer, with the server's `retry_after_ms` if any."""

    async def complete(self, request: Request, on_text: OnText) -> Answer:
        """Return the whole answer; `on_text` is called with each piece as it arrives, if the provider streams.

        Cancelling the call stops the generation.
        """
        ...


@runtime_checkable
class Closable(Protocol):
    """A provider with connections or other resources to close."""

    async def close(self) -> None: ...


@frozen
class Route:
    """One way to get a request answered: the expert, provider and model, and exactly what is sent to it."""

    request: Request
    expert: str = ""
    provider: str = ""
    model: str = ""


class Planner(Protocol):
    """A provider that chooses among models. It names the routes and their cost before it sends anything."""

    def plan(self, request: Request) -> tuple[Route, ...]:
        """Return the routes that it would try, in order; raise `errors.AttemptFailed` without any."""
        ...

    def cost(self, route: Route, usage: Usage) -> int:
        """Return the cost of this usage in billionths of a dollar; 0 if the price is unknown."""
        ...


def plan(provider: Provider, request: Request) -> tuple[Route, ...]:
    """Return the routes that `provider` would try for `request`: the first one, then its fallbacks. Nothing is sent.

    A provider that is not a `Planner` has one route: the request as it is.
    """
    if hasattr(provider, "plan"):
        return cast("Planner", provider).plan(request)
    return (Route(request=request),)


@runtime_checkable
class TakesAttachments(Protocol):
    """A provider whose models take attachments; a provider without this method is sent text only."""

    def media_types(self, parameters: Mapping[str, Json]) -> frozenset[str]:
        """Return the types of attachments that a request with these parameters may have."""
        ...


def media_types(provider: Provider, parameters: Mapping[str, Json]) -> frozenset[str]:
    """Return the types of attachments that `provider` takes in a request with these parameters."""
    if isinstance(provider, TakesAttachments):
        return provider.media_types(parameters)
    return frozenset()


def cost(provider: Provider, route: Route, usage: Usage) -> int:
    """Return the cost of `usage` on `route` in billionths of a dollar; 0 if `provider` has no prices."""
    if hasattr(provider, "cost"):
        return cast("Planner", provider).cost(route, usage)
    return 0


class UnusableAnswer(errors.AttemptFailed):
    """A model's answer that costs money but cannot be used: a refusal, or a text cut at its token limit.

    `answer` is what arrived.
    """

    def __init__(self, message: str, *, code: str, hint: str | None, answer: Answer) -> None:
        super().__init__(message, code=code, hint=hint, retryable=False)
        self.answer = answer


class BrokenAnswer(UnusableAnswer):
    """A failure that costs money: the answer broke off, or an earlier expert of the list has given an unusable answer.

    Code and message are those of `failed`. `answer` holds the usage and the cost until then, as far as they are known.
    """

    def __init__(self, failed: errors.AttemptFailed, answer: Answer) -> None:
        super().__init__(failed.message, code=failed.code, hint=failed.hint, answer=answer)
        self.retryable = failed.retryable
        self.retry_after_ms = failed.retry_after_ms
        self.happened = "unknown"


#: A token has about four characters of English text; counting three keeps estimates on the safe side.
CHARACTERS_PER_TOKEN = 3


def estimate_usage(request: Request, answer: str) -> Usage:
    """Return the estimated tokens of `request` and of the text of its `answer`, for a provider that did not count."""
    characters_sent = sum(len(message.text) for message in request.messages)
    return Usage(
        tokens_in=math.ceil(characters_sent / CHARACTERS_PER_TOKEN),
        tokens_out=math.ceil(len(answer) / CHARACTERS_PER_TOKEN),
    )
