"""A provider with prepared answers: for tests, and for trying a workflow without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import orjson

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import protocol

#: A prepared answer: outputs (sent as JSON), a text, a whole Answer, or a failure.
Script: TypeAlias = "JsonObject | str | protocol.Answer | errors.AttemptFailed"


class Scripted:
    """Returns its answers in order: from one list for all nodes, or from a list for each node.

    The keys of nodes are `key`, or `key:gate` for a review. Without an answer left it raises AttemptFailed
    SCRIPT_EXHAUSTED, which is not retried. `asked` holds every request so far.
    """

    def __init__(self, answers: Sequence[Script] | Mapping[str, Sequence[Script]]) -> None:
        self._by_node = (
            {key: list(scripts) for key, scripts in answers.items()} if isinstance(answers, Mapping) else None
        )
        self._all = [] if isinstance(answers, Mapping) else list(answers)
        self.asked: list[protocol.Request] = []

    def media_types(self, parameters: Mapping[str, Json]) -> frozenset[str]:
        """Return all types of attachments: a script answers anything."""
        del parameters
        return protocol.IMAGES_AND_PDF

    async def complete(self, request: protocol.Request, on_text: protocol.OnText) -> protocol.Answer:
        self.asked.append(request)
        answers_left = self._all if self._by_node is None else self._by_node.get(request.node, [])
        if not answers_left:
            raise errors.AttemptFailed(
                f"the script has no answer left for {request.node!r}", code="SCRIPT_EXHAUSTED", retryable=False
            )
        script = answers_left.pop(0)
        if isinstance(script, errors.AttemptFailed):
            raise script
        answer = script if isinstance(script, protocol.Answer) else _answer(script, request)
        on_text(answer.text)
        return answer


def from_document(document: Mapping[str, Sequence[Json]]) -> Scripted:
    """Return the provider that a test file describes.

    Each node has a list of outputs, texts, or `{error: {code, message, retryable}}`; raise InvalidInput SCRIPT_INVALID.
    """
    return Scripted({key: [_script(entry, key) for entry in entries] for key, entries in document.items()})


def _script(entry: Json, key: str) -> Script:
    match failure(entry) or entry:
        case errors.AttemptFailed() | str() | Mapping() as script:
            return script
        case _:
            raise errors.InvalidInput(f"an answer for {key!r} is neither outputs nor a text", code="SCRIPT_INVALID")


def failure(entry: Json) -> errors.AttemptFailed | None:
    """Return the failure that `{error: {code, message, retryable}}` describes; None for anything else."""
    match entry:
        case {"error": Mapping() as error} if len(entry) == 1:
            retryable = error.get("retryable", True) is True
            code = str(error.get("code", "FAILED"))
            return errors.AttemptFailed(str(error.get("message", "scripted failure")), code=code, retryable=retryable)
        case _:
            return None


def _answer(outputs: JsonObject | str, request: protocol.Request) -> protocol.Answer:
    """Return the answer; each word counts as a token, so that budgets have something to count."""
    text = outputs if isinstance(outputs, str) else orjson.dumps(outputs).decode()
    words = sum(len(message.text.split()) for message in request.messages)
    return protocol.Answer(
        text=text, usage=protocol.Usage(tokens_in=words, tokens_out=len(text.split())), model="scripted"
    )
