"""The JSON Schema of a blocks file, for editors: keys, types and choices.

It is built from the same tables as the loader. What a schema cannot express, such as references between blocks, only
the loader checks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping

from openskelo import gates
from openskelo.handlers import builtin
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows.blocks import block, blocks_loader, ports

ID = "urn:openskelo:schema:blocks"

_TEXT: JsonObject = {"type": "string", "minLength": 1}
_ANY_TEXT: JsonObject = {"type": "string"}
_FLAG: JsonObject = {"type": "boolean"}
_OBJECT: JsonObject = {"type": "object"}
_NON_NEGATIVE: JsonObject = {"type": "integer", "minimum": 0}
_POSITIVE: JsonObject = {"type": "integer", "minimum": 1}
_AMOUNT: JsonObject = {"type": "number", "minimum": 0}
_TEXTS: JsonObject = {"type": "array", "items": _TEXT}
_TYPE_WORDS = "|".join(name for name in ports.TYPES if name not in ("file", "artifact"))
_TYPE_PATTERN = rf"^\s*((({_TYPE_WORDS})(\[\])?)|file|artifact)\??\s*$"


def schema() -> JsonObject:
    """Return the whole schema."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "OpenSkelo blocks",
        "description": "A workflow of blocks: models, code and people, joined by typed ports.",
        **closed(_top(), required=("blocks",)),
        "$defs": _definitions(),
    }


def text() -> str:
    """Return the schema as the file `schema/blocks.schema.json` has it; a test compares the two.

    To regenerate it: `python -m openskelo.workflows.blocks.editor_schema`, redirected into that file.
    """
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _top() -> dict[str, Json]:
    properties: dict[str, Json] = {
        "$schema": _ANY_TEXT,
        "name": described("The name of the workflow; the file's name by default.", {**_TEXT, "maxLength": 200}),
        "description": _ANY_TEXT,
        "version": {"type": ["string", "number"]},
        "metadata": _OBJECT,
        "inputs": described("The inputs of a run.", _ref("outputs")),
        "outputs": described(
            "The outputs of a run: a name for each block.port; by default the outputs of the last blocks.",
            {
                "type": "object",
                "additionalProperties": {"anyOf": [_reference(), closed(_output(), required=("from",))]},
            },
        ),
        "blocks": {"type": "array", "minItems": 1, "items": _ref("block")},
        "edges": {"type": "array", "items": _ref("edge")},
        "defaults": described(
            "Defaults for every block.",
            closed(
                {
                    "retry": _ref("retry"),
                    "timeout_ms": _POSITIVE,
                    "concurrency": _POSITIVE,
                    "stall_after": _NON_NEGATIVE,
                }
            ),
        ),
        "budgets": described(
            "The limits of a run; 0 allows none.",
            closed(
                {
                    "max_steps": _NON_NEGATIVE,
                    "max_tokens": _NON_NEGATIVE,
                    "max_wall_ms": _NON_NEGATIVE,
                    "max_tool_spend_usd": _AMOUNT,
                    "max_cost_usd": _AMOUNT,
                }
            ),
        ),
    }
    return exactly(properties, blocks_loader.KEYS)


def _definitions() -> dict[str, Json]:
    return {
        "inputs": _ports(_linked_port()),
        "outputs": _ports(_port()),
        "edge": {
            **closed(
                {"from": _TEXT, "output": _TEXT, "to": _TEXT, "input": _TEXT, "transform": _cel("sees `value`")},
                required=("from", "to"),
            ),
            "allOf": [_port_named("from", "output"), _port_named("to", "input")],
        },
        "retry": closed(
            {
                "max_attempts": described(
                    "The number of attempts, including the first.", {**_POSITIVE, "maximum": 100}
                ),
                "backoff": {"enum": ["none", "linear", "exponential"]},
                "delay_ms": _NON_NEGATIVE,
                "max_delay_ms": _NON_NEGATIVE,
                "stall_after": _NON_NEGATIVE,
            }
        ),
        "gate": {"anyOf": _gates()},
        "approval": closed(_approval()),
        "block": _block(),
    }


def _ports(long: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_-]{0,63}$"},
        "additionalProperties": {"anyOf": [{"type": "string", "pattern": _TYPE_PATTERN}, long]},
    }


def _port_named(block_key: str, port_key: str) -> JsonObject:
    """Return the schema for an end of an edge: two keys, or `block.port` under one key."""
    return {"anyOf": [{"required": [port_key]}, {"properties": {block_key: _reference()}}]}


def _linked_port() -> JsonObject:
    links: JsonObject = {
        "from": described("block.port, or inputs.NAME.", _reference()),
        "transform": _cel("sees `value`"),
    }
    return {**_port(links), "dependentRequired": {"transform": ["from"]}}


def _port(links: JsonObject | None = None) -> JsonObject:
    properties: dict[str, Json] = {keyword: {} for keyword in sorted(ports.SCHEMA_KEYWORDS)}
    properties["type"] = {"anyOf": [{"type": "string", "pattern": _TYPE_PATTERN}, {"type": "array", "items": _TEXT}]}
    properties["required"] = {"anyOf": [_FLAG, {"type": "array", "items": _ANY_TEXT}]}
    properties["description"] = _ANY_TEXT
    properties["kind"] = {"enum": ["json", "file", "artifact"]}
    return closed({**properties, **(links or {})})


def _output() -> dict[str, Json]:
    return {"from": _reference(), "description": _ANY_TEXT}


def _gates() -> list[Json]:
    schemas: list[Json] = []
    for name, gate in gates.GATES.items():
        properties: dict[str, Json] = {"type": {"const": name}, "name": _TEXT, "error": _ANY_TEXT}
        properties |= {key: described(parameter.doc, parameter.schema) for key, parameter in gate.parameters.items()}
        required = [key for key, parameter in gate.parameters.items() if parameter.required]
        schema = closed(properties, required=("type", *required))
        if gate.any_of:
            schema["anyOf"] = [{"required": [key]} for key in gate.any_of]
        schemas.append(schema)
    return schemas


def _approval() -> dict[str, Json]:
    return {
        "prompt": described("The question to the person; may contain {{ CEL }}.", _TEXT),
        "approvers": {"anyOf": [_TEXT, _TEXTS]},
        "approver": {"anyOf": [_TEXT, _TEXTS]},
        "timeout_sec": {"type": ["integer", "null"], "minimum": 1},
        "timeout_ms": {"type": ["integer", "null"], "minimum": 1},
        "on_timeout": {"enum": ["deny", "approve"]},
        "form": described("A JSON Schema of an object, or a map of ports.", _OBJECT),
        "on_deny": {
            "anyOf": [
                {"enum": ["end", "continue"]},
                closed(_bounce_target(), required=("route_to", "max_bounces")),
            ]
        },
        "required": {"const": True},
    }


def _bounce_target() -> dict[str, Json]:
    return {"route_to": _TEXT, "max_bounces": {**_POSITIVE, "maximum": 20}}


def _block() -> JsonObject:
    properties: dict[str, Json] = {key: {} for key in sorted(block.KEYS)}
    properties.update(_block_basics())
    properties.update(_block_rules())
    conditions: list[Json] = [
        _when_mode("deterministic", {"required": ["deterministic"]}),
        _when_mode("approval", {"anyOf": [_has_approval_prompt(), {"required": ["prompt"]}]}),
    ]
    return {**closed(exactly(properties, block.KEYS), required=("id",)), "allOf": conditions}


def _block_basics() -> dict[str, Json]:
    return {
        "id": {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,63}$", "not": {"const": "inputs"}},
        "name": _ANY_TEXT,
        "description": _ANY_TEXT,
        "mode": described("A model (default), code, or a person does the work.", {"enum": list(block.MODES)}),
        "inputs": _ref("inputs"),
        "outputs": _ref("outputs"),
        "deterministic": {
            **closed({"handler": _TEXT, "config": {"type": ["object", "null"]}}, required=("handler",)),
            "allOf": [_config(name, handler.config) for name, handler in builtin.HANDLERS.items()],
        },
        "prompt": described(
            "The prompt of the model, or the question to the person; may contain {{ CEL }}.", _ANY_TEXT
        ),
        "approval": _ref("approval"),
        "uses": described("Another file of blocks, relative to this one.", _TEXT),
        "after": described("Blocks that must complete first.", {"anyOf": [_TEXT, _TEXTS]}),
        "metadata": _OBJECT,
        **_block_model(),
    }


def _block_model() -> dict[str, Json]:
    return {
        "expert": described("The expert in skelo.yaml that answers.", _TEXT),
        "provider": described("A provider to use instead of the expert's.", _TEXT),
        "model": _TEXT,
        "system": described("The system prompt of the block, after the expert's.", _TEXT),
        "temperature": {**_AMOUNT, "maximum": 2},
        "top_p": {**_AMOUNT, "maximum": 1},
        "seed": _NON_NEGATIVE,
        "stop": {"anyOf": [_TEXT, _TEXTS]},
        "model_params": described("Other parameters of the provider.", _OBJECT),
        "block_dir": described("A folder with role.md, rules.md, task.md and context/*.md.", _TEXT),
        "max_tokens": {**_POSITIVE, "maximum": 10_000_000},
        "contract_repair_attempts": described(
            "How many times the model may repair an answer that breaks the contract (default 1).",
            {**_NON_NEGATIVE, "maximum": 3},
        ),
    }


def _block_rules() -> dict[str, Json]:
    composition: JsonObject = {"enum": ["all", "any"]}
    bounce: dict[str, Json] = {"when_gate": _TEXT, **_bounce_target(), "feedback": _FLAG, "reason": _ANY_TEXT}
    return {
        "pre_gates": {"type": "array", "items": _ref("gate")},
        "post_gates": {"type": "array", "items": _ref("gate")},
        "gate_composition": closed({"pre": composition, "post": composition}),
        "on_gate_fail": {
            "type": "array",
            "items": closed(bounce, required=("when_gate", "route_to", "max_bounces")),
        },
        "when": _cel("true or false; sees inputs and run"),
        "foreach": closed(
            {
                "items": _cel("a list; sees inputs and run"),
                "as": _TEXT,
                "concurrency": _POSITIVE,
                "on_fail": {"enum": ["stop", "keep"]},
            },
            required=("items",),
        ),
        "retry": _ref("retry"),
        "timeout_ms": _POSITIVE,
        "effect": {"enum": ["pure", "idempotent", "once"]},
        "repeatable": _FLAG,
        "cache": _FLAG,
        "estimate": closed({"tokens": _NON_NEGATIVE, "cost_usd": _AMOUNT, "duration_sec": _AMOUNT}),
    }


def _config(name: str, rules: JsonObject) -> JsonObject:
    condition: JsonObject = {"properties": {"handler": {"const": name}}, "required": ["handler"]}
    return {"if": condition, "then": {"properties": {"config": {"anyOf": [{"type": "null"}, rules]}}}}


def _has_approval_prompt() -> JsonObject:
    return {"required": ["approval"], "properties": {"approval": {"type": "object", "required": ["prompt"]}}}


def _when_mode(mode: str, then: JsonObject) -> JsonObject:
    return {"if": {"properties": {"mode": {"const": mode}}, "required": ["mode"]}, "then": then}


def _cel(description: str) -> JsonObject:
    return described(f"CEL: {description}.", _TEXT)


def _reference() -> JsonObject:
    return {"type": "string", "pattern": r"^\s*[^.\s]+\.\S+\s*$"}


def _ref(name: str) -> JsonObject:
    return {"$ref": f"#/$defs/{name}"}


# -- helpers, also for the schema of plans ----------------------------------------------------------------------------


def closed(properties: Mapping[str, Json], *, required: Iterable[str] = ()) -> dict[str, Json]:
    """Return the schema of an object with these properties and no others."""
    schema: dict[str, Json] = {"type": "object", "properties": properties, "additionalProperties": False}
    names: list[Json] = list(required)
    return {**schema, "required": names} if names else schema


def exactly(properties: dict[str, Json], loader_keys: frozenset[str]) -> dict[str, Json]:
    """Return the properties. Raise LookupError if they are not exactly the keys that the loader accepts."""
    if properties.keys() != loader_keys:
        raise LookupError(f"the schema differs from the loader: {sorted(properties.keys() ^ loader_keys)}")
    return properties


def described(description: str, schema: Mapping[str, Json]) -> JsonObject:
    """Return the schema with a description, or as it is if the description is empty."""
    if description:
        return {"description": description, **schema}
    return schema


if __name__ == "__main__":
    sys.stdout.write(text())
