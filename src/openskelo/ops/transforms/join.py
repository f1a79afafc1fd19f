"""`join`: joins values to one text."""

from __future__ import annotations

from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import transforms
from openskelo.values import template


def _apply(args: JsonObject, written: JsonObject) -> Json:  # noqa: ARG001
    """Return the texts of `refs` (other values as JSON), with `separator` between them."""
    separator = args.get("separator", "\n\n")
    return str(separator).join(template.as_text(value) for value in transforms.items(args.get("refs")))


TRANSFORM = transforms.Transform(
    name="join",
    summary="one text, with `separator` (by default a blank line) between; other values as JSON",
    args=transforms.args_schema({"refs": {"type": "array"}, "separator": {"type": "string"}}, required=["refs"]),
    apply=_apply,
    constant_args=frozenset({"separator"}),
)
