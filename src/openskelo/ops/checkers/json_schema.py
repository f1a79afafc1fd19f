"""`json_schema`: the value satisfies a JSON Schema; with `parse`, the JSON text does."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import checkers
from openskelo.values import canonical
from openskelo.values.schema import validator


async def _check(ctx: checkers.CheckContext) -> JsonObject:
    """Pass if the value keeps `schema`; with `parse`, if the value is a JSON text whose content keeps it."""
    value = ctx.value
    if ctx.flag("parse"):
        if not isinstance(value, str):
            return checkers.failed("it is not a text that could be JSON")
        try:
            value = canonical.loads(value)
        except errors.InvalidInput as error:
            return checkers.failed(error.message)
    rules = ctx.args.get("schema")
    schema = validator.compile(rules if isinstance(rules, Mapping | bool) else True)
    violations = schema.check(value)
    if not violations:
        return {"ok": True}
    problems: list[Json] = [
        f"{violation.path or '/'}: {violation.message}" for violation in violations[: checkers.MOST_LISTED]
    ]
    return checkers.failed("it does not keep the schema", problems=problems)


def _compile(schema: Json) -> None:
    if isinstance(schema, Mapping):
        validator.compile(schema)


CHECKER = checkers.Checker(
    name="json_schema",
    summary="the value matches the schema; with `parse`, the JSON in the text does; gives `problems`",
    args=checkers.args_schema({"schema": {"type": "object"}, "parse": checkers.FLAG}, required=["schema"]),
    check=_check,
    constant_args=frozenset({"schema"}),
    compiles={"schema": _compile},
)
