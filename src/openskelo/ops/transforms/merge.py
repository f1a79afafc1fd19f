"""`merge`: merges objects; the later value counts."""

from __future__ import annotations

from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import transforms


def _apply(args: JsonObject, written: JsonObject) -> Json:  # noqa: ARG001
    """Return one object with the keys of all; of two values of the same key, the later one counts."""
    result: dict[str, Json] = {}
    for value in transforms.items(args.get("refs")):
        result.update(transforms.mapping(value))
    return result


TRANSFORM = transforms.Transform(
    name="merge",
    summary="the keys of all objects; later ones override earlier ones",
    args=transforms.args_schema({"refs": {"type": "array", "minItems": 1}}, required=["refs"]),
    apply=_apply,
)
