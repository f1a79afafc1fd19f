"""The schema that goes to an API is never tighter than the one that the answer has to keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from openskelo.kernel.json import JsonObject
from openskelo.providers import structured_output
from tests.providers.servers import anthropic_messages, loopback, openai_chat
from tests.providers.test_remote import ask

ANY_KEYS: JsonObject = {"type": "object"}
CLOSED: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


def answer(**properties: object) -> JsonObject:
    document: Any = {"type": "object", "properties": properties, "required": [*properties]}
    return {**document, "additionalProperties": False}


def sent(speech: Callable[[], loopback.Speech], schema: JsonObject) -> dict[str, Any]:
    with loopback.Loopback(speech(), [loopback.Say(text='{"a": {}}')]).running() as server:
        assert ask(server, schema=schema).text == '{"a": {}}'
        (body,) = server.asked
    return body


def test_objects_with_any_keys_stay_open_for_openai() -> None:
    schema = answer(free=ANY_KEYS, each={"type": "array", "items": ANY_KEYS}, known=CLOSED)
    properties = sent(openai_chat.OpenAI, schema)["response_format"]["json_schema"]["schema"]["properties"]
    open_object: JsonObject = {"type": "object", "properties": {}, "additionalProperties": True}
    assert properties == {
        "free": open_object,
        "each": {"type": "array", "items": open_object},
        "known": {**CLOSED, "additionalProperties": False},
    }


@pytest.mark.parametrize(
    "schema",
    [
        answer(a=ANY_KEYS),
        answer(a={"type": ["object", "null"]}),
        answer(a={"type": "object", "additionalProperties": {"type": "number"}}),
        answer(a={"type": "array", "items": {"anyOf": [{"type": "string"}, ANY_KEYS]}}),
        answer(a={}),
        answer(a={"description": "anything"}),
        answer(a={"type": "array", "items": {}}),
        answer(a={"enum": [[1], {"x": 2}]}),
        {
            **answer(a={"$ref": "#/$defs/tree"}),
            "$defs": {"tree": answer(c={"type": "array", "items": {"$ref": "#/$defs/tree"}})},
        },
    ],
)
def test_what_anthropic_cannot_hold_is_left_to_the_prompt_and_the_check(schema: JsonObject) -> None:
    body = sent(anthropic_messages.Anthropic, schema)
    assert "output_config" not in body
    assert "output_format" not in body


def test_what_anthropic_can_hold_is_held() -> None:
    body = sent(anthropic_messages.Anthropic, answer(a=CLOSED))
    assert body["output_config"]["format"]["type"] == "json_schema"


def test_other_apis_are_sent_the_schema_as_it_is() -> None:
    schema = answer(a=ANY_KEYS, b={})
    assert structured_output.unchanged(schema) == schema
