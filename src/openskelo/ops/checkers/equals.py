"""`equals`: the value is the expected one, compared as canonical JSON."""

from __future__ import annotations

from openskelo.kernel.json import JsonObject
from openskelo.ops import checkers
from openskelo.values import canonical


async def _check(ctx: checkers.CheckContext) -> JsonObject:
    """Pass if the value is `expected`, as JSON: 1 and 1.0 are equal, `1` and `"1"` are not, and keys have no order."""
    if canonical.digest(ctx.value) == canonical.digest(ctx.args.get("expected")):
        return {"ok": True}
    return checkers.failed("it is not what was expected")


CHECKER = checkers.Checker(
    name="equals",
    summary='the value is the same JSON: 1 and 1.0 are, `1` and `"1"` are not',
    args=checkers.args_schema({"expected": {}}, required=["expected"]),
    check=_check,
)
