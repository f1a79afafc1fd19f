"""`builtin:transform`: outputs computed from the inputs by CEL (`map`) and by text templates (`template`)."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo.handlers import catalog, context, place
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import expression, template


async def transform(ctx: context.Context, where: place.Place) -> JsonObject:  # noqa: ARG001 -- the shape of a built-in
    """Every entry of `map` and `template` becomes an output; they see `inputs` and, in a foreach, the item."""
    catalog.check_config("builtin:transform", ctx.config)
    values: dict[str, Json] = {"inputs": ctx.inputs}
    seen: dict[str, JsonObject | None] = {"inputs": {"type": "object"}}
    if ctx.item_index is not None:
        for name in ("item", ctx.item_name):
            values[name], seen[name] = ctx.item, None
    outputs: dict[str, Json] = {}
    for name, text in _texts(ctx.config.get("map")):
        outputs[name] = expression.compile(text, seen).evaluate(values)
    for name, text in _texts(ctx.config.get("template")):
        outputs[name] = template.compile(text, seen).render(values)
    return outputs


def _texts(found: Json) -> list[tuple[str, str]]:
    """The entries of an already checked mapping of texts."""
    if not isinstance(found, Mapping):
        return []
    return [(name, text) for name, text in found.items() if isinstance(text, str)]
