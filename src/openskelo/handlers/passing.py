"""`builtin:pass`: the outputs are the inputs."""

from __future__ import annotations

from openskelo.handlers import context, place
from openskelo.kernel.json import JsonObject


async def passing(ctx: context.Context, where: place.Place) -> JsonObject:  # noqa: ARG001 -- the shape of a built-in
    """Hand every input on."""
    return ctx.inputs
