"""The provider that says what it was told to say."""

from __future__ import annotations

import asyncio

import pytest

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.providers import protocol, scripted

QUESTION = protocol.Request(node="draft", messages=(protocol.Message(role="user", text="three short words"),))


def say(provider: protocol.Provider, node: str = "draft") -> protocol.Answer | str:
    """The answer, or the code of the failure."""
    request = protocol.Request(node=node, messages=QUESTION.messages)
    try:
        return asyncio.run(provider.complete(request, lambda _text: None))
    except errors.AttemptFailed as error:
        return error.code


def test_answers_come_in_order_and_are_counted_in_words() -> None:
    whole = protocol.Answer(text="whole", model="other")
    provider = scripted.Scripted([{"text": "a"}, "two words", whole, errors.AttemptFailed("no", code="BUSY")])
    assert [say(provider) for _ in range(5)] == [
        protocol.Answer(text='{"text":"a"}', usage=protocol.Usage(tokens_in=3, tokens_out=1), model="scripted"),
        protocol.Answer(text="two words", usage=protocol.Usage(tokens_in=3, tokens_out=2), model="scripted"),
        whole,
        "BUSY",
        "SCRIPT_EXHAUSTED",
    ]
    assert provider.asked == [QUESTION] * 5


def test_each_node_has_its_own_list() -> None:
    provider = scripted.Scripted({"a": ["1"], "b": ["2"]})
    texts = [found if isinstance(found, str) else found.text for found in (say(provider, name) for name in "baca")]
    assert texts == ["2", "1", "SCRIPT_EXHAUSTED", "SCRIPT_EXHAUSTED"]


def test_a_script_can_be_written_as_a_document() -> None:
    entries: list[Json] = [
        {"error": {"code": "RATE_LIMITED", "retryable": False}},
        {"error": {}, "text": "a"},
        "not json",
    ]
    provider = scripted.from_document({"draft": entries})
    texts = [found if isinstance(found, str) else found.text for found in (say(provider) for _ in range(3))]
    assert texts == ["RATE_LIMITED", '{"error":{},"text":"a"}', "not json"]


@pytest.mark.parametrize("entry", [3, None, True, [{}]])
def test_a_document_with_something_else_is_refused(entry: Json) -> None:
    with pytest.raises(errors.InvalidInput, match="neither outputs nor a text"):
        scripted.from_document({"draft": [entry]})
