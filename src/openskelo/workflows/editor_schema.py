"""The JSON Schema of a blocks file, for editors: keys, types and words. What ties blocks the loader alone knows."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from openskelo.handlers import catalog
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import block, blocks, gates, ports, schema_words
from openskelo.workflows import schema_parts as parts

ID = "urn:openskelo:schema:blocks"

_TEXT: JsonObject = {"type": "string", "minLength": 1}
_ANY_TEXT: JsonObject = {"type": "string"}
_FLAG: JsonObject = {"type": "boolean"}
_FREE: JsonObject = {"type": "object"}
_WHOLE: JsonObject = {"type": "integer", "minimum": 0}
_POSITIVE: JsonObject = {"type": "integer", "minimum": 1}
_AMOUNT: JsonObject = {"type": "number", "minimum": 0}
_TEXTS: JsonObject = {"type": "array", "items": _TEXT}
_TYPE_WORDS = "|".join(name for name in ports.TYPES if name not in ("file", "artifact"))
_TYPE_PATTERN = rf"^\s*((({_TYPE_WORDS})(\[\])?)|file|artifact)\??\s*$"


def schema() -> JsonObject:
    """The whole schema."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "OpenSkelo blocks",
        "description": "A workflow of blocks: models, code and people, joined by typed ports.",
        **parts.closed(_top(), needs=("blocks",)),
        "$defs": _definitions(),
    }


def text() -> str:
    """The schema as the file `schema/blocks.schema.json` has it; a test holds the two together.

    To write it anew: `python -m openskelo.workflows.editor_schema > src/openskelo/workflows/schema/blocks.schema.json`
    """
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _top() -> dict[str, Json]:
    properties: dict[str, Json] = {
        "$schema": _ANY_TEXT,
        "name": parts.told("What the workflow is called; the file's name when absent.", {**_TEXT, "maxLength": 200}),
        "description": _ANY_TEXT,
        "version": {"type": ["string", "number"]},
        "metadata": _FREE,
        "inputs": parts.told("What a run is started with.", _ref("outputs")),
        "outputs": parts.told(
            "What a run gives: block.port under a name; else the outputs of the last blocks.",
            {
                "type": "object",
                "additionalProperties": {"anyOf": [_reference(), parts.closed(_output(), needs=("from",))]},
            },
        ),
        "blocks": {"type": "array", "minItems": 1, "items": _ref("block")},
        "edges": {"type": "array", "items": _ref("edge")},
        "defaults": parts.told(
            "What holds for every block that says nothing else.",
            parts.closed(
                {
                    "retry": _ref("retry"),
                    "timeout_ms": _POSITIVE,
                    "concurrency": _POSITIVE,
                    "stall_after": _WHOLE,
                }
            ),
        ),
        "budgets": parts.told(
            "What a run may take at most; 0 allows none.",
            parts.closed(
                {
                    "max_steps": _WHOLE,
                    "max_tokens": _WHOLE,
                    "max_wall_ms": _WHOLE,
                    "max_tool_spend_usd": _AMOUNT,
                    "max_cost_usd": _AMOUNT,
                }
            ),
        ),
    }
    return parts.only(properties, blocks.KEYS - {"entrypoints", "terminals"})


def _definitions() -> dict[str, Json]:
    return {
        "inputs": _ports(_linked()),
        "outputs": _ports(_port()),
        "edge": {
            **parts.closed(
                {"from": _TEXT, "output": _TEXT, "to": _TEXT, "input": _TEXT, "transform": _cel("sees `value`")},
                needs=("from", "to"),
            ),
            "allOf": [_port_named("from", "output"), _port_named("to", "input")],
        },
        "retry": parts.closed(
            {
                "max_attempts": parts.told("All tries, the first included.", {**_POSITIVE, "maximum": 100}),
                "backoff": {"enum": ["none", "linear", "exponential"]},
                "delay_ms": _WHOLE,
                "max_delay_ms": _WHOLE,
                "stall_after": _WHOLE,
            }
        ),
        "gate": {
            "anyOf": [*_gates(), parts.closed({"name": _TEXT, "error": _ANY_TEXT, "check": _FREE}, needs=("check",))]
        },
        "approval": parts.closed(_approval()),
        "block": _block(),
    }


def _ports(long: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_-]{0,63}$"},
        "additionalProperties": {"anyOf": [{"type": "string", "pattern": _TYPE_PATTERN}, long]},
    }


def _port_named(block_key: str, port_key: str) -> JsonObject:
    """An end of an edge: two keys, or `block.port` under one."""
    return {"anyOf": [{"required": [port_key]}, {"properties": {block_key: _reference()}}]}


def _linked() -> JsonObject:
    links: JsonObject = {
        "from": parts.told("block.port, or inputs.NAME.", _reference()),
        "transform": _cel("sees `value`"),
    }
    return {**_port(links), "dependentRequired": {"transform": ["from"]}}


def _port(links: JsonObject | None = None) -> JsonObject:
    properties: dict[str, Json] = {keyword: {} for keyword in sorted(schema_words.KEYWORDS)}
    properties["type"] = {"anyOf": [{"type": "string", "pattern": _TYPE_PATTERN}, {"type": "array", "items": _TEXT}]}
    properties["required"] = {"anyOf": [_FLAG, {"type": "array", "items": _ANY_TEXT}]}
    properties["description"] = _ANY_TEXT
    properties["kind"] = {"enum": ["json", "file", "artifact"]}
    return parts.closed({**properties, **(links or {})})


def _output() -> dict[str, Json]:
    return {"from": _reference(), "description": _ANY_TEXT}


def _gates() -> list[Json]:
    shapes: list[Json] = []
    for name, kind in gates.TYPES.items():
        properties: dict[str, Json] = {"type": {"const": name}, "name": _TEXT, "error": _ANY_TEXT}
        for key in (*kind.needs, *kind.takes):
            properties[key] = _GATE_PARAMS[key]
        shape = parts.closed(properties, needs=("type", *kind.needs))
        if kind.one_of:
            shape["anyOf"] = [{"required": [key]} for key in kind.one_of]
        shapes.append(shape)
    return shapes


def _approval() -> dict[str, Json]:
    return {
        "prompt": parts.told("What the person is to decide; may hold {{ CEL }}.", _TEXT),
        "approvers": {"anyOf": [_TEXT, _TEXTS]},
        "approver": {"anyOf": [_TEXT, _TEXTS]},
        "timeout_sec": {"type": ["integer", "null"], "minimum": 1},
        "timeout_ms": {"type": ["integer", "null"], "minimum": 1},
        "on_timeout": {"enum": ["deny", "approve"]},
        "form": parts.told("A JSON Schema of an object, or a map of ports.", _FREE),
        "on_deny": {
            "anyOf": [{"enum": ["end", "continue"]}, parts.closed(_way_back(), needs=("route_to", "max_bounces"))]
        },
        "required": {"const": True},
    }


def _way_back() -> dict[str, Json]:
    return {"route_to": _TEXT, "max_bounces": {**_POSITIVE, "maximum": 20}}


def _block() -> JsonObject:
    properties: dict[str, Json] = {key: {} for key in sorted(block.KEYS)}
    properties.update(_block_basics())
    properties.update(_block_rules())
    conditions: list[Json] = [
        _when_mode("deterministic", {"required": ["deterministic"]}),
        _when_mode("approval", {"anyOf": [_asking(), {"required": ["prompt"]}]}),
    ]
    return {**parts.closed(parts.only(properties, block.KEYS), needs=("id",)), "allOf": conditions}


def _block_basics() -> dict[str, Json]:
    return {
        "id": {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,63}$", "not": {"const": "inputs"}},
        "name": _ANY_TEXT,
        "description": _ANY_TEXT,
        "mode": parts.told("Who does the work: a model (default), code, or a person.", {"enum": list(block.MODES)}),
        "inputs": _ref("inputs"),
        "outputs": _ref("outputs"),
        "deterministic": {
            **parts.closed({"handler": _TEXT, "config": {"type": ["object", "null"]}}, needs=("handler",)),
            "allOf": [_config(name, rules) for name, rules in catalog.CONFIG.items()],
        },
        "prompt": parts.told("What the model or the person is asked; may hold {{ CEL }}.", _ANY_TEXT),
        "approval": _ref("approval"),
        "uses": parts.told("Another file of blocks, relative to this one.", _TEXT),
        "after": parts.told("Blocks that have to be done first.", {"anyOf": [_TEXT, _TEXTS]}),
        "metadata": _FREE,
        **_block_model(),
    }


def _block_model() -> dict[str, Json]:
    return {
        "expert": parts.told("Whom to ask: an expert of skelo.yaml.", _TEXT),
        "provider": parts.told("Another provider than the expert's.", _TEXT),
        "model": _TEXT,
        "system": parts.told("Goes in front of the prompt, after the expert's own words.", _TEXT),
        "temperature": {**_AMOUNT, "maximum": 2},
        "top_p": {**_AMOUNT, "maximum": 1},
        "seed": _WHOLE,
        "stop": {"anyOf": [_TEXT, _TEXTS]},
        "model_params": parts.told("Whatever else the provider takes.", _FREE),
        "block_dir": parts.told("A folder with role.md, rules.md, task.md and context/*.md.", _TEXT),
        "max_tokens": {**_POSITIVE, "maximum": 10_000_000},
        "contract_repair_attempts": parts.told(
            "How often an answer that breaks the contract is asked for again (default 1).", {**_WHOLE, "maximum": 3}
        ),
    }


def _block_rules() -> dict[str, Json]:
    composition: JsonObject = {"enum": ["all", "any"]}
    bounce: dict[str, Json] = {"when_gate": _TEXT, **_way_back(), "feedback": _FLAG, "reason": _ANY_TEXT}
    bounce["feedback_from"] = {"const": "gate_verdicts"}
    return {
        "pre_gates": {"type": "array", "items": _ref("gate")},
        "post_gates": {"type": "array", "items": _ref("gate")},
        "gate_composition": parts.closed({"pre": composition, "post": composition}),
        "on_gate_fail": {
            "type": "array",
            "items": parts.closed(bounce, needs=("when_gate", "route_to", "max_bounces")),
        },
        "when": _cel("true or false; sees inputs and run"),
        "foreach": parts.closed(
            {"items": _cel("a list; sees inputs and run"), "as": _TEXT, "concurrency": _POSITIVE}, needs=("items",)
        ),
        "retry": _ref("retry"),
        "timeout_ms": _POSITIVE,
        "effect": {"enum": ["pure", "idempotent", "once"]},
        "repeatable": _FLAG,
        "cache": _FLAG,
        "estimate": parts.closed({"tokens": _WHOLE, "cost_usd": _AMOUNT, "duration_sec": _AMOUNT}),
        "strict_output": {"const": True},
    }


def _config(name: str, rules: JsonObject) -> JsonObject:
    named: JsonObject = {"properties": {"handler": {"const": name}}, "required": ["handler"]}
    return {"if": named, "then": {"properties": {"config": {"anyOf": [{"type": "null"}, rules]}}}}


def _asking() -> JsonObject:
    return {"required": ["approval"], "properties": {"approval": {"type": "object", "required": ["prompt"]}}}


def _when_mode(mode: str, then: JsonObject) -> JsonObject:
    return {"if": {"properties": {"mode": {"const": mode}}, "required": ["mode"]}, "then": then}


def _cel(description: str) -> JsonObject:
    return parts.told(f"CEL: {description}.", _TEXT)


def _reference() -> JsonObject:
    return {"type": "string", "pattern": r"^\s*[^.\s]+\.\S+\s*$"}


def _ref(name: str) -> JsonObject:
    return {"$ref": f"#/$defs/{name}"}


_GATE_PARAMS: Mapping[str, JsonObject] = {
    "port": _TEXT,
    "left": _TEXT,
    "right": _TEXT,
    "schema": _FREE,
    "expression": _cel("true or false; sees inputs, outputs, run, and the item of a foreach"),
    "pattern": parts.told("A regular expression (RE2).", _TEXT),
    "negate": _FLAG,
    "min": _WHOLE,
    "max": _WHOLE,
    "mode": {"enum": ["equal", "not_equal"]},
    "argv": {"type": "array", "minItems": 1, "items": _ANY_TEXT},
    "timeout_ms": _POSITIVE,
    "expect_exit": {**_WHOLE, "maximum": 255},
    "url": {"type": "string", "pattern": "^https?://"},
    "method": {"enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]},
    "expect_status": {"type": "integer", "minimum": 100, "maximum": 599},
    "max_usd": _AMOUNT,
    "max_ms": _WHOLE,
    "criteria": {"type": "array", "minItems": 1, "items": _TEXT},
    "expert": _TEXT,
    "threshold": {**_AMOUNT, "maximum": 1},
}


if __name__ == "__main__":
    sys.stdout.write(text())
