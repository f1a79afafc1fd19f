"""Gates as earlier files wrote them: names that mean the same today, and names that have no successor."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo.kernel.json import Json
from openskelo.workflows import cursor, ports

_SAME: Mapping[str, str] = {
    "port_not_empty": "not_empty",
    "port_matches": "regex",
    "port_min_length": "length",
    "expression": "expr",
}

#: Old types that cannot be read as a new one, with what to write instead.
RETIRED: Mapping[str, str] = {
    "semantic_review": "use llm_review with criteria, or expr for keywords",
    "shell": "use command with argv; there is no shell",
    "custom": "use a deterministic block, or command",
    "contains": "use regex or expr",
    "max_value": "use expr",
    "valid_json": "outputs are JSON always; use json_schema",
    "valid_url": "use json_schema with format: uri",
}


def modern(fields: cursor.Fields) -> cursor.Fields:
    """The same gate in today's words; a gate of today comes back as it is."""
    word = fields.value.get("type")
    if not isinstance(word, str):
        return fields
    if word == "port_type":
        return _port_type(fields)
    renamed = _SAME.get(word)
    if renamed is None:
        return fields
    value: dict[str, Json] = {**fields.value, "type": renamed}
    if word == "expression" and "expr" in value and "expression" not in value:
        value["expression"] = value.pop("expr")
    return _with(fields, value)


def _port_type(fields: cursor.Fields) -> cursor.Fields:
    expected = fields.need("expected")
    word = "" if expected is None else expected.choice(tuple(ports.TYPES)) or ""
    value: dict[str, Json] = {key: part for key, part in fields.value.items() if key != "expected"}
    value["type"] = "json_schema"
    value["schema"] = ports.TYPES.get(word, {})
    return _with(fields, value)


def _with(fields: cursor.Fields, value: Mapping[str, Json]) -> cursor.Fields:
    place = fields.cursor
    return cursor.Fields(cursor.Cursor(value, place.path, place.report), value)
