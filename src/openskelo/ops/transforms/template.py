"""`template`: fills a text template."""

from __future__ import annotations

from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import transforms
from openskelo.values import template


def _apply(args: JsonObject, written: JsonObject) -> Json:  # noqa: ARG001
    """Return `template` with every `{{ CEL }}` in it replaced; the expressions see `values`."""
    values = transforms.mapping(args.get("values") or {})
    return template.compile(template.as_text(args.get("template")), {"values": None}).render({"values": values})


def _compile(text: Json) -> None:
    if isinstance(text, str):
        template.compile(text, {"values": None})


TRANSFORM = transforms.Transform(
    name="template",
    summary="the text with every `{{ CEL }}` in it replaced; it sees `values`",
    args=transforms.args_schema({"template": {"type": "string"}, "values": {"type": "object"}}, required=["template"]),
    apply=_apply,
    constant_args=frozenset({"template"}),
    compiles={"template": _compile},
)
