"""The seam to a model: one request, one answer. Policy (retries, budgets, contracts) stays outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeAlias, cast, runtime_checkable

from openskelo import errors
from openskelo.frozen import field, frozen
from openskelo.kernel.json import Json, JsonObject

#: Where the pieces of an answer go as they arrive.
OnText: TypeAlias = Callable[[str], None]


@frozen
class Message:
    """One turn of the conversation that is sent."""

    role: Literal["system", "user", "assistant"]
    text: str


@frozen
class Request:
    """What is asked. `schema` is the JSON Schema that the answer must keep; `node` is the key of the node that asks.

    `parameters` are the author's own (expert, model, temperature …), opaque to everybody but the provider.
    """

    node: str
    messages: tuple[Message, ...]
    schema: JsonObject | None = None
    parameters: Mapping[str, Json] = field(default_factory=dict[str, Json])
    max_tokens: int | None = None


@frozen
class Usage:
    """What the answer took, as the provider counts it."""

    tokens_in: int = 0
    tokens_out: int = 0


@frozen
class Answer:
    """What came back. `served_by` names the expert that gave it, where there are experts.

    `priced` is False when nobody knows what the model costs; `cost_nanousd` says nothing then.
    """

    text: str
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    finish_reason: str = "stop"
    cost_nanousd: int = 0
    priced: bool = True
    served_by: str = ""


class Patient(Protocol):
    """A listener (an `OnText` that has these, too) who wants to know when a question waits for its turn."""

    def waits(self) -> None:
        """The provider has as many questions as it takes at once."""
        ...

    def goes(self) -> None:
        """It is its turn: it is sent now."""
        ...


class Provider(Protocol):
    """A model API. Raises `errors.AttemptFailed` (with `retry_after_ms` when told to wait) when there is no answer."""

    async def complete(self, request: Request, on_text: OnText) -> Answer:
        """The whole answer; `on_text` is called with each piece as it arrives, if the provider streams.

        Cancelling the call stops the generation.
        """
        ...


@runtime_checkable
class Closable(Protocol):
    """A provider that holds something open."""

    async def close(self) -> None: ...


@frozen
class Planned:
    """One way to have a request answered: by which expert, provider and model, and exactly what is sent to it."""

    request: Request
    expert: str = ""
    provider: str = ""
    model: str = ""


class Planner(Protocol):
    """A provider that decides whom to ask: it can say so, and what that would cost, before anything is sent."""

    def plan(self, request: Request) -> tuple[Planned, ...]:
        """The ways it would try, in order; `errors.AttemptFailed` when there is none."""
        ...

    def cost(self, way: Planned, usage: Usage) -> int:
        """What so many tokens cost there in billionths of a dollar; 0 when nobody knows."""
        ...


def plan(provider: Provider, request: Request) -> tuple[Planned, ...]:
    """How `provider` would have `request` answered: the first way, then those to fall back on. Nothing is sent.

    A provider that decides nothing sends the request as it is.
    """
    planning = getattr(provider, "plan", None)  # asked for every question: a look at the whole protocol takes long
    return (Planned(request=request),) if planning is None else cast("Planner", provider).plan(request)


def cost(provider: Provider, way: Planned, usage: Usage) -> int:
    """What so many tokens cost when they go that way; nothing where `provider` has no prices."""
    pricing = getattr(provider, "cost", None)
    return 0 if pricing is None else cast("Planner", provider).cost(way, usage)


class Unusable(errors.AttemptFailed):
    """An answer came and was paid for, but is none: refused, or cut at its limit. `answer` is what was received."""

    def __init__(self, message: str, *, code: str, hint: str | None, answer: Answer) -> None:
        super().__init__(message, code=code, hint=hint, retryable=False)
        self.answer = answer


class Broken(Unusable):
    """An answer that broke off, or a failure after others: as `failed` says, and with what it took, as far as known."""

    def __init__(self, failed: errors.AttemptFailed, answer: Answer) -> None:
        super().__init__(failed.message, code=failed.code, hint=failed.hint, answer=answer)
        self.retryable = failed.retryable
        self.retry_after_ms = failed.retry_after_ms
        self.happened = "unknown"


#: A token has about four letters of English; counting three keeps estimates on the safe side.
LETTERS_A_TOKEN = 3


def estimated(request: Request, heard: str) -> Usage:
    """What an answer took of which the provider has not said it: by the letters of what was asked and heard."""
    asked = sum(len(message.text) for message in request.messages)
    return Usage(tokens_in=-(-asked // LETTERS_A_TOKEN), tokens_out=-(-len(heard) // LETTERS_A_TOKEN))
