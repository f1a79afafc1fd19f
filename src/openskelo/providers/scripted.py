"""A provider that says what it was told to say: for tests, and for trying a workflow without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import orjson

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import seam

#: What may be said: outputs (sent as JSON), a text as it is, a whole Answer, or a failure.
Script: TypeAlias = "JsonObject | str | seam.Answer | errors.AttemptFailed"


class Scripted:
    """Answers in order: from one list for everybody, or from a list for each node (`key`, or `key:gate` for a review).

    Running out is a failure that is not retried. `asked` holds every request so far.
    """

    def __init__(self, answers: Sequence[Script] | Mapping[str, Sequence[Script]]) -> None:
        self._by_node = {key: list(held) for key, held in answers.items()} if isinstance(answers, Mapping) else None
        self._all = [] if isinstance(answers, Mapping) else list(answers)
        self.asked: list[seam.Request] = []

    async def complete(self, request: seam.Request, on_text: seam.OnText) -> seam.Answer:
        self.asked.append(request)
        left = self._all if self._by_node is None else self._by_node.get(request.node, [])
        if not left:
            raise errors.AttemptFailed(
                f"the script has no answer left for {request.node!r}", code="SCRIPT_EXHAUSTED", retryable=False
            )
        said = left.pop(0)
        if isinstance(said, errors.AttemptFailed):
            raise said
        answered = said if isinstance(said, seam.Answer) else _answer(said, request)
        on_text(answered.text)
        return answered


def from_document(document: Mapping[str, Sequence[Json]]) -> Scripted:
    """The provider that a test file describes: outputs by node, or `{error: {code, message, retryable}}`, or a text."""
    return Scripted({key: [_script(entry, key) for entry in entries] for key, entries in document.items()})


def _script(entry: Json, key: str) -> Script:
    match failure(entry) or entry:
        case errors.AttemptFailed() | str() | Mapping() as said:
            return said
        case _:
            raise errors.InvalidInput(f"an answer for {key!r} is neither outputs nor a text", code="SCRIPT_INVALID")


def failure(entry: Json) -> errors.AttemptFailed | None:
    """The failure that `{error: {code, message, retryable}}` stands for; None for anything else."""
    match entry:
        case {"error": Mapping() as error} if len(entry) == 1:
            retryable = error.get("retryable", True) is True
            code = str(error.get("code", "FAILED"))
            return errors.AttemptFailed(str(error.get("message", "scripted failure")), code=code, retryable=retryable)
        case _:
            return None


def _answer(said: JsonObject | str, request: seam.Request) -> seam.Answer:
    """Tokens are counted as words, so that budgets have something to count."""
    text = said if isinstance(said, str) else orjson.dumps(said).decode()
    words = sum(len(message.text.split()) for message in request.messages)
    return seam.Answer(text=text, usage=seam.Usage(tokens_in=words, tokens_out=len(text.split())), model="scripted")
