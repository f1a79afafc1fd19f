"""The JSON Schema of a plan, published: for editors, for whoever writes plans, and for models that are asked for one.

It is made of the table of ops. What ties steps to each other and to their project only the loader knows.
"""

from __future__ import annotations

import json
import sys

from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import registries
from openskelo.workflows import schema_parts as parts
from openskelo.workflows.plan import ops, read, step

ID = "urn:openskelo:schema:plan"

_TEXT: JsonObject = {"type": "string", "minLength": 1}
_NAME: JsonObject = {"pattern": "^[A-Za-z_][A-Za-z0-9_-]{0,63}$"}
_WHOLE: JsonObject = {"type": "integer", "minimum": 0}
_POSITIVE: JsonObject = {"type": "integer", "minimum": 1}
_AMOUNT: JsonObject = {"type": "number", "minimum": 0}
_REF: JsonObject = {"type": "string", "pattern": ops.REF_PATTERN}


def schema() -> JsonObject:
    """The whole schema."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "OpenSkelo plan",
        "description": "A plan: steps of eight ops, one at a time, over named values.",
        **parts.closed(_top(), needs=("plan_id", "steps")),
        "$defs": {"step": _step()},
    }


def text() -> str:
    """The schema as the file `schema/plan.schema.json` has it; a test holds the two together.

    To write it anew: `python -m openskelo.workflows.plan.schema > src/openskelo/workflows/schema/plan.schema.json`
    """
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def arguments(op: definition.Op) -> JsonObject:
    """The schema of the arguments of one op."""
    table = ops.TABLE[op]
    properties = {name: parts.told(one.about, one.schema) for name, one in table.args.items()}
    needed = [name for name, one in table.args.items() if one.required]
    found: dict[str, Json] = {"type": "object", "description": table.about, "properties": properties}
    if needed:
        found["required"] = list[Json](needed)
    if not table.open:
        found["additionalProperties"] = False
    if table.one_of:
        found["allOf"] = [{"oneOf": [{"required": [name]} for name in group]} for group in table.one_of]
    return found


def _top() -> dict[str, Json]:
    named: JsonObject = {"type": "object", "propertyNames": _NAME}
    outputs: JsonObject = {
        "type": "object",
        "patternProperties": {"_refs$": {"type": "array", "items": _REF}, "_ref$": _REF},
        "additionalProperties": False,
    }
    properties: dict[str, Json] = {
        "$schema": {"type": "string"},
        "plan_id": parts.told("What the plan is called; receipts carry it.", {**_TEXT, "maxLength": 200}),
        "mode": parts.told(
            "What the plan may reach; see `modes` of skelo.yaml.", {"enum": list[Json](registries.MODES)}
        ),
        "budgets": parts.told("What a run may take at most; 0 allows none.", parts.closed(_budgets())),
        "inputs": parts.told("What a run is started with, and the value without; null has to be given.", named),
        "variables": parts.told("First values of variables.", named),
        "steps": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/step"}},
        "outputs": parts.told("What the run gives when no emit has ended it.", outputs),
        "description": {"type": "string"},
        "version": {"type": ["string", "number"]},
        "metadata": {"type": "object"},
    }
    return parts.only(properties, read.KEYS)


def _budgets() -> dict[str, Json]:
    return {
        "max_steps": _WHOLE,
        "max_tokens": _WHOLE,
        "max_wall_ms": _WHOLE,
        "max_tool_spend_usd": _AMOUNT,
        "max_cost_usd": _AMOUNT,
    }


def _step() -> JsonObject:
    properties: dict[str, Json] = {
        "id": {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,63}$"},
        "op": {"enum": list[Json](ops.OPS)},
        "args": {"type": "object"},
        "save_as": parts.told("The variable that holds its value; refs write var:NAME.", {"type": "string", **_NAME}),
        "max_visits": parts.told("How often it may be entered: the bound of a loop.", _POSITIVE),
        "timeout_ms": parts.told("How long one try may take.", _POSITIVE),
        "description": {"type": "string"},
    }
    return {
        **parts.closed(parts.only(properties, step.KEYS), needs=("id", "op")),
        "allOf": [_when(op) for op in ops.OPS],
    }


def _when(op: definition.Op) -> JsonObject:
    needs = bool(ops.TABLE[op].one_of) or any(one.required for one in ops.TABLE[op].args.values())
    then: dict[str, Json] = {"properties": {"args": arguments(op)}}
    if needs:
        then["required"] = ["args"]
    return {"if": {"properties": {"op": {"const": op}}, "required": ["op"]}, "then": then}


if __name__ == "__main__":
    sys.stdout.write(text())
