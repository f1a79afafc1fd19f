"""`parse_json`: parses JSON text, alone or in one fence."""

from __future__ import annotations

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import transforms
from openskelo.ops.transforms import unfence
from openskelo.values import canonical


def _apply(args: JsonObject, written: JsonObject) -> Json:  # noqa: ARG001
    """Return the value of a JSON text, which is alone or in one fence."""
    text = transforms.text(args.get("from_ref"))
    try:
        return canonical.loads(unfence.inside(text))
    except errors.InvalidInput as error:
        raise transforms.failure(f"it is not JSON: {error.message}") from error


TRANSFORM = transforms.Transform(
    name="parse_json",
    summary="the value of a JSON text, alone or in a fence",
    args=transforms.args_schema({"from_ref": {}}, required=["from_ref"]),
    apply=_apply,
)
