"""Checks that need nothing but the value: `json_schema`, `regex` and `equals`."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import errors
from openskelo.executors.checkers import asked
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical, pattern, schema


async def json_schema(of: asked.Asked) -> JsonObject:
    """The value keeps `schema`; with `parse`, the value is the JSON text of what has to keep it."""
    value = of.value
    if of.flag("parse"):
        if not isinstance(value, str):
            return asked.no("it is not a text that could be JSON")
        try:
            value = canonical.loads(value)
        except errors.InvalidInput as error:
            return asked.no(error.message)
    rules = of.args.get("schema")
    compiled = schema.compile(rules if isinstance(rules, Mapping | bool) else True)
    found = compiled.check(value)
    if not found:
        return {"ok": True}
    problems: list[Json] = [f"{one.path or '/'}: {one.message}" for one in found[: asked.MOST]]
    return asked.no("it does not keep the schema", problems=problems)


async def regex(of: asked.Asked) -> JsonObject:
    """The text has `pattern` (RE2) in it, or with `full` is all of it; with `negate` it must not."""
    value = of.value
    if not isinstance(value, str):
        return asked.no("it is not a text")
    compiled = pattern.compile(of.text("pattern"))
    matches = compiled.fullmatch(value) if of.flag("full") else compiled.search(value)
    if matches != of.flag("negate"):
        return {"ok": True}
    return asked.no("it matches the pattern" if matches else "it does not match the pattern")


async def equals(of: asked.Asked) -> JsonObject:
    """The value is `expected`, as JSON: 1 and 1.0 are the same, `1` and `"1"` are not, and keys have no order."""
    if canonical.digest(of.value) == canonical.digest(of.args.get("expected")):
        return {"ok": True}
    return asked.no("it is not what was expected")
