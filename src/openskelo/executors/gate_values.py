"""Gates that only look at values: schema, expression, pattern, emptiness, length, words, difference, cost and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openskelo import errors
from openskelo.executors import look
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical, expression, pattern, schema

_NANO = 1_000_000_000


def json_schema(params: JsonObject, around: look.Look) -> look.Finding:
    """The port (or all values of this side) keeps a schema."""
    port = params.get("port")
    side: Json = around.inputs if around.outputs is None else around.outputs
    value = around.port(port) if isinstance(port, str) else side
    wanted = params.get("schema", {})
    if not isinstance(wanted, Mapping):
        raise errors.InvalidInput("the gate's schema is not an object", code="SCHEMA_INVALID")
    violations = schema.compile(wanted).check(value)
    if not violations:
        return look.Finding(passed=True)
    said: list[Json] = [f"{found.path or '/'}: {found.message}" for found in violations]
    return look.Finding(passed=False, reason="; ".join(str(one) for one in said), evidence={"violations": said})


def expr(params: JsonObject, around: look.Look) -> look.Finding:
    """A CEL expression is true. An expression that cannot be evaluated, or gives no boolean, is not true."""
    text = look.text(params, "expression")
    seen: dict[str, JsonObject | None] = {"inputs": {"type": "object"}, "outputs": {"type": "object"}, "run": None}
    names = around.names()
    for name in names:
        seen.setdefault(name, None)
    result = expression.compile(text, seen).evaluate(names)
    if result is True:
        return look.Finding(passed=True)
    reason = f"`{text}` is false" if result is False else f"`{text}` gives neither true nor false"
    return look.Finding(passed=False, reason=reason)


def regex(params: JsonObject, around: look.Look) -> look.Finding:
    """The port's text matches the pattern somewhere (with `negate`: nowhere)."""
    port, wanted = look.text(params, "port"), look.text(params, "pattern")
    value = around.port(port)
    if not isinstance(value, str):
        return look.Finding(passed=False, reason=f"{port!r} is not text")
    negate = params.get("negate") is True
    if pattern.compile(wanted).search(value) is not negate:
        return look.Finding(passed=True)
    return look.Finding(passed=False, reason=f"{port!r} {'matches' if negate else 'does not match'} {wanted!r}")


def not_empty(params: JsonObject, around: look.Look) -> look.Finding:
    """The port holds something: no null, no blank text, no empty list or object."""
    port = look.text(params, "port")
    value = around.port(port)
    blank = value is None or (isinstance(value, str) and not value.strip())
    if blank or (isinstance(value, Sequence | Mapping) and not value):
        return look.Finding(passed=False, reason=f"{port!r} is empty")
    return look.Finding(passed=True)


def length(params: JsonObject, around: look.Look) -> look.Finding:
    """The port's text, list or object has a length within bounds."""
    port = look.text(params, "port")
    value = around.port(port)
    if not isinstance(value, str | Sequence | Mapping):
        return look.Finding(passed=False, reason=f"{port!r} has no length")
    unit = "characters" if isinstance(value, str) else "entries"
    return _within(len(value), params, f"{port!r} has {len(value)} {unit}", "length")


def word_count(params: JsonObject, around: look.Look) -> look.Finding:
    """The port's text has a number of words within bounds."""
    port = look.text(params, "port")
    value = around.port(port)
    if not isinstance(value, str):
        return look.Finding(passed=False, reason=f"{port!r} is not text")
    words = len(value.split())
    return _within(words, params, f"{port!r} has {words} words", "words")


def diff(params: JsonObject, around: look.Look) -> look.Finding:
    """Two ports hold equal values (`mode: equal`, the default) or different ones."""
    left, right = look.text(params, "left"), look.text(params, "right")
    equal = canonical.dumps(around.port(left)) == canonical.dumps(around.port(right))
    if equal is (look.text(params, "mode", "equal") == "equal"):
        return look.Finding(passed=True)
    return look.Finding(passed=False, reason=f"{left!r} and {right!r} are {'equal' if equal else 'different'}")


def cost(params: JsonObject, around: look.Look) -> look.Finding:
    """What the attempt has cost so far is at most `max_usd`."""
    spent, limit = around.job.spent.cost_nanousd, look.number(params, "max_usd", 0)
    evidence: dict[str, Json] = {"cost_nanousd": spent, "max_usd": limit}
    if spent <= limit * _NANO:
        return look.Finding(passed=True, evidence=evidence)
    return look.Finding(passed=False, reason=f"it cost more than {limit} USD", evidence=evidence)


def latency(params: JsonObject, around: look.Look) -> look.Finding:
    """The work took at most `max_ms`."""
    limit = look.number(params, "max_ms", 0)
    if around.wall_ms <= limit:
        return look.Finding(passed=True, took_ms=around.wall_ms)
    return look.Finding(passed=False, reason=f"it took more than {limit} ms", took_ms=around.wall_ms)


def _within(found: int, params: JsonObject, said: str, key: str) -> look.Finding:
    low, high = look.number(params, "min", 0), params.get("max")
    evidence: dict[str, Json] = {key: found}
    if found < low:
        return look.Finding(passed=False, reason=f"{said}, fewer than {low}", evidence=evidence)
    if isinstance(high, int | float) and found > high:
        return look.Finding(passed=False, reason=f"{said}, more than {high}", evidence=evidence)
    return look.Finding(passed=True, evidence=evidence)
