"""Twenty schemas whose every value is small: what constrained decoding must keep at the first try."""

from __future__ import annotations

from openskelo.kernel.json import Json, JsonObject


def _object(required: bool = True, **properties: Json) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required else [],
        "additionalProperties": False,
    }


def _text(most: int, least: int = 0) -> JsonObject:
    return {"type": "string", "minLength": least, "maxLength": most}


def _list(items: Json, least: int, most: int) -> JsonObject:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _integer(low: int, high: int) -> JsonObject:
    return {"type": "integer", "minimum": low, "maximum": high}


def _number(low: float, high: float) -> JsonObject:
    return {"type": "number", "minimum": low, "maximum": high}


_MOOD: JsonObject = {"enum": ["calm", "angry", "glad"]}

SCHEMAS: dict[str, JsonObject] = {
    "text": _object(title=_text(20)),
    "text of some length": _object(title=_text(16, least=8)),
    "choice": _object(mood=_MOOD),
    "choice among types": _object(value={"enum": ["x", 1, None, True, 2.5]}),
    "constant": _object(kind={"const": "bee"}, legs={"const": 6}),
    "flags": _object(urgent={"type": "boolean"}, spam={"type": "boolean"}),
    "integer": _object(score=_integer(3, 17)),
    "negative integer": _object(shift=_integer(-250, -7)),
    "fraction": _object(confidence=_number(0, 1)),
    "fraction across zero": _object(warmth=_number(-2.5, 37.25)),
    "open bounds": _object(
        share={"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        count={"type": "integer", "exclusiveMinimum": 4, "exclusiveMaximum": 9},
    ),
    "multiple": _object(minutes={"type": "integer", "minimum": 5, "maximum": 60, "multipleOf": 5}),
    "list of texts": _object(tags=_list(_text(8), 1, 3)),
    "list of numbers": _object(marks=_list(_integer(1, 6), 2, 4)),
    "nested": _object(author=_object(name=_text(12), age=_integer(0, 120)), mood=_MOOD),
    "list of objects": _object(steps=_list(_object(name=_text(8), done={"type": "boolean"}), 1, 2)),
    "pattern": _object(code={"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$"}),
    "date": _object(day={"type": "string", "format": "date"}),
    "alternatives": _object(
        answer={"anyOf": [_object(yes=_text(8)), _object(no=_integer(1, 3)), {"type": "null"}]},
    ),
    "optional and by reference": {
        **_object(
            required=False,
            from_={"$ref": "#/$defs/place"},
            to={"$ref": "#/$defs/place"},
            by={"type": ["string", "null"], "maxLength": 6},
        ),
        "required": ["from_"],
        "$defs": {"place": _object(x=_integer(0, 9), y=_number(0.5, 1.5))},
    },
}
