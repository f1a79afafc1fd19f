"""The `unique` gate: no two items of a list are equal; with `key`, no two objects have the same value under it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openskelo import gates
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical

#: How many repeated values the evidence lists.
_MOST_LISTED = 20


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    port, key = gates.text(parameters, "port"), gates.text(parameters, "key")
    items = ctx.port(port)
    if isinstance(items, str) or not isinstance(items, Sequence):
        return gates.failed(f"{port!r} is not a list")
    values: list[Json] = list(items)
    if key:
        without_key = next((index for index, item in enumerate(items) if not _has(item, key)), None)
        if without_key is not None:
            return gates.failed(f"{port!r}[{without_key}] is not an object with the key {key!r}")
        values = [item[key] for item in items if isinstance(item, Mapping)]
    repeated_values = _repeated(values)
    if not repeated_values:
        return gates.passed()
    by_key = f" by {key!r}" if key else ""
    reason = f"{port!r} is not unique{by_key}: {len(repeated_values)} values occur more than once"
    return gates.failed(reason, {"repeated": repeated_values[:_MOST_LISTED]})


def _has(item: Json, key: str) -> bool:
    return isinstance(item, Mapping) and key in item


def _repeated(values: Sequence[Json]) -> list[Json]:
    """Return each value that occurs more than once, in the order of its second occurrence; 1 and 1.0 are equal."""
    seen_keys: set[bytes] = set()
    repeated_values: dict[bytes, Json] = {}
    for value in values:
        data = canonical.dumps(value)
        if data in seen_keys:
            repeated_values.setdefault(data, value)
        seen_keys.add(data)
    return list(repeated_values.values())


#: More of the reference, after the table of its keys.
_DOC = """\
The evidence lists up to 20 of the values that occur more than once, under `repeated`.
"""

GATE = gates.Gate(
    name="unique",
    summary="No two items of a list are equal; with `key`, no two objects have the same value under that key.",
    parameters={
        "port": gates.port_parameter("a list"),
        "key": gates.text_parameter("compare the objects of the list by this key; each of them must have it"),
    },
    check=_check,
    doc=_DOC,
)
