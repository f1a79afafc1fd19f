"""Parts that the published JSON Schemas (of blocks files and of plans) are put together from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from openskelo.kernel.json import Json, JsonObject


def closed(properties: Mapping[str, Json], *, needs: Iterable[str] = ()) -> dict[str, Json]:
    """An object with these properties and no others."""
    found: dict[str, Json] = {"type": "object", "properties": properties, "additionalProperties": False}
    required: list[Json] = list(needs)
    return {**found, "required": required} if required else found


def only(properties: dict[str, Json], known: frozenset[str]) -> dict[str, Json]:
    """The properties, which must be exactly the keys the loader knows: a difference is a mistake in the schema."""
    if properties.keys() != known:
        raise LookupError(f"the schema differs from the loader: {sorted(properties.keys() ^ known)}")
    return properties


def told(description: str, own: Mapping[str, Json]) -> JsonObject:
    """The schema with its description, if there is one."""
    return {"description": description, **own} if description else own
