"""`unfence`: returns what is inside the first fence of a text."""

from __future__ import annotations

import re

from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import transforms

_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n`]*\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)


def _apply(args: JsonObject, written: JsonObject) -> Json:  # noqa: ARG001
    """Return the content of the first fence of a text, or the text itself if it has no fence."""
    return inside(transforms.text(args.get("from_ref")))


def inside(text: str) -> str:
    """Return what is inside the first fence of a text, or the text itself when it has none."""
    match = _FENCE.search(text)
    return match.group(2) if match else text


TRANSFORM = transforms.Transform(
    name="unfence",
    summary="the content of the first fence in a text, or the whole text",
    args=transforms.args_schema({"from_ref": {}}, required=["from_ref"]),
    apply=_apply,
)
