"""Contracts in few words."""

from __future__ import annotations

import pytest

from openskelo.executors.ai import prompt
from openskelo.kernel.json import JsonObject
from openskelo.values import canonical


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "minLength": 3, "maxLength": 80}, "text of 3 to 80 characters"),
        ({"type": "string", "maxLength": 80, "pattern": "^a"}, "text of at most 80 characters that matches ^a"),
        ({"type": "integer", "minimum": 1}, "whole number of at least 1"),
        ({"type": "number", "minimum": 2, "maximum": 2}, "number of 2"),
        ({"type": "boolean", "description": "whether it rains"}, "true or false (whether it rains)"),
        ({"type": "null"}, "null"),
        ({"enum": ["low", "high", 3]}, '"low" or "high" or 3'),
        ({"type": "array"}, "[list, each: anything]"),
        (
            {"type": "array", "minItems": 3, "maxItems": 3, "items": {"type": "string"}},
            "[list of 3 entries, each: text]",
        ),
        (
            {
                "type": "object",
                "title": "T",
                "properties": {"a": {"type": "string"}, "b": {"type": "null", "default": None}},
                "required": ["a"],
                "additionalProperties": False,
            },
            '{"a": text, "b": null (may be left out)}',
        ),
        ({}, "anything"),
        ({"type": "object", "description": "whatever fits"}, "{any keys} (whatever fits)"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "text or null"),
        (
            {"type": "object", "properties": {"a": {}, "b": {}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            '{"a": anything (may be left out), "b": anything (may be left out)} with exactly one of a, b',
        ),
        (
            {
                "type": "object",
                "properties": {"op": {"enum": ["add", "stop"]}, "args": {"type": "object"}},
                "required": ["op"],
                "allOf": [
                    {
                        "if": {"properties": {"op": {"const": "add"}}, "required": ["op"]},
                        "then": {"properties": {"args": {"enum": [1]}}, "required": ["args"]},
                    }
                ],
            },
            '{"op": "add" or "stop", "args": {any keys} (may be left out)}\n- where "op" is "add": {"args": 1}\n',
        ),
    ],
)
def test_a_plain_schema_is_told_in_words(schema: JsonObject, said: str) -> None:
    assert prompt.summarize(schema) == said


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"]},
        {"type": "string", "format": "date"},
        {"type": "object", "minProperties": 2},
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}], "minLength": 1}}},
        {"type": "array", "items": {"$ref": "#"}},
        {"type": "object", "properties": {"a": True}},
        {"enum": [1], "minimum": 3},
    ],
)
def test_whatever_words_cannot_say_is_told_as_it_is(schema: JsonObject) -> None:
    assert prompt.summarize(schema) == canonical.dumps(schema).decode()
