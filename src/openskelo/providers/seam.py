"""The seam to a model: one request, one answer. Policy (retries, budgets, contracts) stays outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from openskelo.kernel.json import Json, JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of the conversation that is sent."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked. `schema` is the JSON Schema that the answer must keep; `node` is the key of the node that asks.

    `parameters` are the author's own (expert, model, temperature …), opaque to everybody but the provider.
    """

    node: str
    messages: tuple[Message, ...]
    schema: JsonObject | None = None
    parameters: Mapping[str, Json] = field(default_factory=dict[str, Json])
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the answer took, as the provider counts it."""

    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    text: str
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    finish_reason: str = "stop"
    cost_nanousd: int = 0


class Provider(Protocol):
    """A model API. Raises `errors.AttemptFailed` (with `retry_after_ms` when told to wait) when there is no answer."""

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Answer:
        """The whole answer; `on_text` is called with each piece as it arrives, if the provider streams."""
        ...
