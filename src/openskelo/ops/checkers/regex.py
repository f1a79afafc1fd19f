"""`regex`: the text matches a pattern somewhere, or with `full` as a whole; with `negate` it does not."""

from __future__ import annotations

from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import checkers
from openskelo.values import regex


async def _check(ctx: checkers.CheckContext) -> JsonObject:
    """Pass if `pattern` (RE2) matches a part of the text, with `full` all of it; with `negate`, if it does not."""
    value = ctx.value
    if not isinstance(value, str):
        return checkers.failed("it is not a text")
    pattern = regex.compile(ctx.text("pattern"))
    matches = pattern.fullmatch(value) if ctx.flag("full") else pattern.search(value)
    if matches != ctx.flag("negate"):
        return {"ok": True}
    return checkers.failed("it matches the pattern" if matches else "it does not match the pattern")


def _compile(pattern: Json) -> None:
    if isinstance(pattern, str):
        regex.compile(pattern)


CHECKER = checkers.Checker(
    name="regex",
    summary="the RE2 pattern matches a part of the text, all of it (`full`), or no part (`negate`)",
    args=checkers.args_schema(
        {"pattern": checkers.TEXT, "full": checkers.FLAG, "negate": checkers.FLAG}, required=["pattern"]
    ),
    check=_check,
    constant_args=frozenset({"pattern"}),
    compiles={"pattern": _compile},
)
