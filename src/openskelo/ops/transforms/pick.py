"""`pick`: takes some keys of an object."""

from __future__ import annotations

from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import transforms


def _apply(args: JsonObject, written: JsonObject) -> Json:  # noqa: ARG001
    """Return the object with only its `keys`."""
    source = transforms.mapping(args.get("from_ref"))
    return {str(key): source[str(key)] for key in transforms.items(args.get("keys")) if str(key) in source}


TRANSFORM = transforms.Transform(
    name="pick",
    summary="an object with those of the keys that exist",
    args=transforms.args_schema(
        {"from_ref": {}, "keys": {"type": "array", "items": {"type": "string", "minLength": 1}}},
        required=["from_ref", "keys"],
    ),
    apply=_apply,
)
